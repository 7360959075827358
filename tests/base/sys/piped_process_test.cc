#include "base/sys/piped_process.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sys/clock.h"
#include "pagoda/status.h"

namespace pagoda::sys {
namespace {

std::vector<std::string> Shell(std::string script) { return {"sh", "-c", std::move(script)}; }

std::string WhyNot(const std::string& script, double timeout_s = 30) {
  PipedProcess process(Shell(script));
  const LineAnswer answer = process.Ask("x", timeout_s);
  return answer.line ? "answered " + *answer.line : answer.why_not;
}

TEST(PipedProcess, AnswersLineByLine) {
  PipedProcess process(Shell("while read -r line; do echo \"<$line>\"; done"));
  for (const std::string line : {"a", "", "b c"}) EXPECT_EQ(process.Ask(line, 30).line, "<" + line + ">");
}

TEST(PipedProcess, LongLinesGoThroughBothPipes) {
  PipedProcess process({"cat"});
  const std::string line(PipedProcess::kMostLine - 1, 'x');
  EXPECT_EQ(process.Ask(line, 30).line, line);
  // More than a pipe holds, to one that takes its time.
  PipedProcess slow(Shell("sleep 0.1; head -c 300001 | wc -c"));
  EXPECT_EQ(slow.Ask(std::string(300000, 'x'), 30).line, "300001");
}

TEST(PipedProcess, SaysWhyThereIsNoAnswer) {
  EXPECT_EQ(WhyNot("read x; exit 3"), "ended with exit code 3");
  EXPECT_EQ(WhyNot("read x; echo a >&2; echo 'b c' >&2; exit 1"),
            "ended with exit code 1; its last words: b c");
  EXPECT_EQ(WhyNot("kill -ABRT $$"), "was killed by signal 6 (Aborted)");
  EXPECT_EQ(WhyNot("read x; exec 1>&-; sleep 1000"), "closed its standard output");
  EXPECT_EQ(WhyNot("sleep 1000", 0.1), "did not answer within 0.1 s");
  EXPECT_EQ(WhyNot("read x; printf half; sleep 1000", 0.1), "did not answer within 0.1 s");
  EXPECT_EQ(WhyNot("read x; head -c 70000 /dev/zero; sleep 1000"),
            "answered with a line of more than 65536 bytes");
  EXPECT_EQ(WhyNot("read x; yes | tr -d '\\n'"), "answered with a line of more than 65536 bytes");
  EXPECT_THROW(PipedProcess({"/nowhere/at/all"}), Error);
}

TEST(PipedProcess, OneThatEndsWhileAnotherHoldsItsPipesIsNoticed) {
  EXPECT_EQ(WhyNot("read x; sleep 3 & exit 4"), "ended with exit code 4");
}

TEST(PipedProcess, MuchOnStandardErrorDoesNotBlockIt) {
  EXPECT_EQ(WhyNot("read x; head -c 1000000 /dev/zero >&2; echo done"), "answered done");
}

TEST(PipedProcess, WhatItWritesUnaskedIsNoAnswer) {
  PipedProcess process(Shell("read x; echo 1; echo 2; read x; echo 3"));
  EXPECT_EQ(process.Ask("a", 30).line, "1");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const LineAnswer second = process.Ask("b", 30);
  EXPECT_FALSE(second.line.has_value());
  EXPECT_EQ(second.why_not, "wrote to standard output without being asked");
  EXPECT_EQ(process.Ask("c", 30).why_not, "is not running any more");
}

TEST(PipedProcess, EndsWithItsInputOrIsKilled) {
  const int64_t begin = NowNs();
  {
    PipedProcess process(Shell("while read -r line; do :; done"));
  }
  {
    PipedProcess process(Shell("sleep 1000"));
  }
  EXPECT_LT(NowNs() - begin, int64_t{60} * 1'000'000'000);
}

TEST(PipedProcess, TellsWhetherItRuns) {
  PipedProcess process(Shell("read x; echo; read x; echo; while :; do :; done"));
  process.Ask("a", 30);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(process.AnyThreadRuns()) << "it waits for a line";
  process.Ask("b", 30);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(process.AnyThreadRuns());
  process.Kill();
  EXPECT_FALSE(process.AnyThreadRuns());
}

}  // namespace
}  // namespace pagoda::sys

#include "judge/bench/process_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::HasSubstr;

class Runner : public testing::Test {
 protected:
  // The shell sees the mark file's path as $0.
  ChildOutcome Run(const std::string& script, double timeout_s = 10) {
    ProcessRunner runner({"/bin/sh", "-c", script}, mark_, [this] { return stop_; });
    return runner.Run("the plan", timeout_s);
  }

  // One per test: ctest runs several at a time.
  std::filesystem::path mark_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("process_runner_") + testing::UnitTest::GetInstance()->current_test_info()->name());
  bool stop_ = false;
};

TEST_F(Runner, ThePlanGoesInAndTheLinesComeOut) {
  const ChildOutcome outcome = Run("cat; echo problem >&2");
  EXPECT_EQ(outcome.end, ChildEnd::kExited);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "the plan");
  EXPECT_EQ(outcome.err, "problem\n");
  EXPECT_EQ(outcome.mark, "");
}

TEST_F(Runner, ExitCodesAndSignalsAreToldApart) {
  ChildOutcome outcome = Run("exit 6");
  EXPECT_EQ(outcome.end, ChildEnd::kExited);
  EXPECT_EQ(outcome.code, 6);
  outcome = Run("kill -SEGV $$");
  EXPECT_EQ(outcome.end, ChildEnd::kSignalled);
  EXPECT_EQ(outcome.code, SIGSEGV);
  EXPECT_THAT(Describe(outcome), HasSubstr("signal 11"));
}

TEST_F(Runner, TheWatchdogKillsAndTheMarkTellsWhom) {
  const ChildOutcome outcome = Run("printf gather > $0; while true; do sleep 1; done", 0.3);
  EXPECT_EQ(outcome.end, ChildEnd::kTimedOut);
  EXPECT_EQ(outcome.mark, "gather");
}

TEST_F(Runner, TheUserMayStopIt) {
  stop_ = true;
  EXPECT_EQ(Run("sleep 30").end, ChildEnd::kStopped);
}

TEST_F(Runner, AnOldMarkIsNotBelievedAndNoneIsLeft) {
  std::ofstream(mark_) << "stale";
  EXPECT_EQ(Run("true").mark, "");
  Run("printf x > $0");
  EXPECT_FALSE(std::filesystem::exists(mark_));
}

TEST_F(Runner, AProgramThatIsNotThereIsAnError) {
  ProcessRunner runner({"/nonexistent/program"}, mark_, [] { return false; });
  EXPECT_THROW(runner.Run("", 1), Error);
}

TEST(MarkFile, HoldsTheLastName) {
  const auto path = std::filesystem::path(testing::TempDir()) / "mark_file_test";
  MarkFile mark(path);
  EXPECT_EQ(MarkFile::Read(path), "");
  mark.Write("paged_attention_unroll_4dims");
  EXPECT_EQ(MarkFile::Read(path), "paged_attention_unroll_4dims");
  mark.Write("gather");
  EXPECT_EQ(MarkFile::Read(path), "gather");
  mark.Write(std::string(1000, 'x'));
  EXPECT_EQ(MarkFile::Read(path), std::string(128, 'x'));
  std::filesystem::remove(path);
  EXPECT_EQ(MarkFile::Read(path), "");
  EXPECT_THROW(MarkFile("/nonexistent/mark"), Error);
}

TEST(Describe, EndsWithTheLastWords) {
  ChildOutcome outcome;
  outcome.code = 6;
  EXPECT_EQ(Describe(outcome), "ended with exit code 6 and without a result");
  outcome.err = "one\ntwo\n\n";
  EXPECT_THAT(Describe(outcome), HasSubstr("; its last words: two"));
  outcome.end = ChildEnd::kTimedOut;
  outcome.elapsed_s = 61.2;
  EXPECT_THAT(Describe(outcome), HasSubstr("watchdog after 61 s"));
}

}  // namespace
}  // namespace pagoda::judge

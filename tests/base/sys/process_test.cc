#include "base/sys/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/sys/small_file.h"
#include "pagoda/status.h"

namespace pagoda::sys {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ProcessSpec Shell(std::string script) { return {.argv = {"sh", "-c", std::move(script)}}; }

TEST(Process, GivesBothStreamsAndTheExitCode) {
  const ProcessResult r = RunProcess(Shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(r.out, "out\n");
  EXPECT_EQ(r.err, "err\n");
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_EQ(r.signal, 0);
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.Describe(), "ended with exit code 3");
  EXPECT_TRUE(RunProcess({.argv = {"true"}}).ok());
}

TEST(Process, PassesArgumentsWithoutAShell) {
  const ProcessResult r = RunProcess({.argv = {"printf", "%s|", "a b", "$HOME", ""}});
  EXPECT_EQ(r.out, "a b|$HOME||");
}

TEST(Process, FeedsMoreThanAPipeHoldsWhileReading) {
  std::string text;
  for (int i = 0; i < 300000; ++i) text += static_cast<char>('a' + i % 26);
  ProcessSpec spec{.argv = {"cat"}, .stdin_text = text};
  EXPECT_EQ(RunProcess(spec).out, text);
}

TEST(Process, AChildThatDoesNotReadIsNoError) {
  ProcessSpec spec{.argv = {"true"}, .stdin_text = std::string(1 << 20, 'x')};
  EXPECT_TRUE(RunProcess(spec).ok());
  EXPECT_EQ(RunProcess(Shell("cat; echo end")).out, "end\n") << "an empty input ends at once";
}

TEST(Process, SaysWhichSignalKilledTheChild) {
  const ProcessResult r = RunProcess(Shell("kill -SEGV $$"));
  EXPECT_EQ(r.signal, SIGSEGV);
  EXPECT_THAT(r.Describe(), HasSubstr("killed by signal 11"));
}

TEST(Process, BoundsTheOutput) {
  ProcessSpec spec = Shell("head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2; echo end >&2; exit 4");
  spec.max_stdout = 1000;
  spec.max_stderr = 10;
  const ProcessResult r = RunProcess(spec);
  EXPECT_EQ(r.out.size(), 1000U);
  EXPECT_EQ(r.err.size(), 10U);
  EXPECT_TRUE(r.truncated);
  EXPECT_EQ(r.exit_code, 4);
  EXPECT_FALSE(RunProcess(Shell("echo x")).truncated);
}

TEST(Process, HandsOutStdoutAsItComes) {
  std::string got;
  ProcessSpec spec = Shell("echo one; echo two");
  spec.on_stdout = [&](std::string_view piece) { got += piece; };
  EXPECT_EQ(RunProcess(spec).out, "");
  EXPECT_EQ(got, "one\ntwo\n");
  spec.argv = {"sleep", "60"};
  spec.argv = {"sh", "-c", "echo x; sleep 60"};
  spec.on_stdout = [](std::string_view) { throw std::runtime_error("stop"); };
  EXPECT_THROW(RunProcess(spec), std::runtime_error);
}

// Whether the process runs, waiting up to two seconds for its end. One that is dead and not yet reaped by
// whoever inherited it does not run.
bool StillRuns(const std::string& pid) {
  for (int i = 0; i < 200; ++i) {
    const std::string stat = ReadSmallFile("/proc/" + pid.substr(0, pid.find('\n')) + "/stat").value_or("");
    if (stat.empty() || stat.find(") Z ") != std::string::npos) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

TEST(Process, TimeoutKillsTheWholeGroup) {
  ProcessSpec spec = Shell("sleep 60 & echo $!; wait");
  spec.timeout_s = 0.3;
  const ProcessResult r = RunProcess(spec);
  EXPECT_TRUE(r.timed_out);
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.signal, SIGKILL);
  EXPECT_GE(r.wall_s, 0.3);
  EXPECT_LT(r.wall_s, 30);
  EXPECT_THAT(r.Describe(), HasSubstr("did not end within"));
  EXPECT_FALSE(StillRuns(r.out));
}

TEST(Process, TimeoutHoldsAgainstEndlessOutputAndClosedStreams) {
  ProcessSpec spec{.argv = {"yes"}, .timeout_s = 0.2};
  EXPECT_TRUE(RunProcess(spec).timed_out);
  spec = Shell("exec >&- 2>&-; sleep 60");
  spec.timeout_s = 0.2;
  EXPECT_TRUE(RunProcess(spec).timed_out);
}

TEST(Process, WhatTheChildLeavesBehindIsKilledAndNotWaitedFor) {
  const ProcessResult r = RunProcess(Shell("sleep 60 & echo $!"));
  EXPECT_TRUE(r.ok());
  EXPECT_LT(r.wall_s, 30);
  EXPECT_FALSE(StillRuns(r.out));
}

TEST(Process, CanBeCancelled) {
  ProcessSpec spec{.argv = {"sleep", "60"}};
  int asked = 0;
  spec.cancelled = [&] { return ++asked > 2; };
  const ProcessResult r = RunProcess(spec);
  EXPECT_TRUE(r.cancelled);
  EXPECT_EQ(r.Describe(), "was stopped");
  EXPECT_LT(r.wall_s, 30);
}

TEST(Process, AddsToTheEnvironmentAndReplacesInIt) {
  setenv("PAGODA_TEST_KEPT", "kept", 1);
  setenv("PAGODA_TEST_REPLACED", "old", 1);
  ProcessSpec spec = Shell("echo $PAGODA_TEST_KEPT $PAGODA_TEST_REPLACED $PAGODA_TEST_NEW");
  spec.environment = {{"PAGODA_TEST_REPLACED", "new"}, {"PAGODA_TEST_NEW", "a=b"}};
  EXPECT_EQ(RunProcess(spec).out, "kept new a=b\n");
}

TEST(Process, AMissingProgramIsNamed) {
  for (const char* program : {"/no/such/program", "no-such-program-in-path", "/"}) {
    try {
      RunProcess({.argv = {program}});
      FAIL() << program;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kIo);
      EXPECT_THAT(e.what(), AllOf(HasSubstr(program), HasSubstr("can't be started")));
    }
  }
  EXPECT_THROW(RunProcess({}), Error);
}

TEST(Process, LeavesNoDescriptorsBehind) {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const auto before = open_descriptors();
  for (int i = 0; i < 5; ++i) RunProcess({.argv = {"true"}});
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Process, FindsTheFileThatAWordRuns) {
  EXPECT_EQ(FindProgram("sh").filename(), "sh");
  EXPECT_TRUE(FindProgram("sh").is_absolute());
  EXPECT_EQ(FindProgram(OwnProgram()), OwnProgram());
  EXPECT_EQ(FindProgram("no-such-program"), "");
  EXPECT_EQ(FindProgram("/"), "");
}

TEST(Process, KnowsItsOwnProgram) { EXPECT_THAT(OwnProgram(), testing::EndsWith("process_test")); }

}  // namespace
}  // namespace pagoda::sys

// The built program where what it writes to, or who started it, goes away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/sys/process.h"

namespace pagoda::app {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::Not;

class Streams : public testing::Test {
 protected:
  Streams() : folder_(fs::path(testing::TempDir()) / ("pagoda_streams_" + std::to_string(sys::OwnPid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "tiny.toml") << R"(
name = "tiny"
variants = ["gather", "spmd_paged_attention"]
epoch_ms = 0.1
[[case]]
heads = "4/2"
head_dim = 64
cache = "warm"
context = [40, 80]
)";
  }
  ~Streams() override { fs::remove_all(folder_); }

  // A script of sh in which `pagoda` is the program and `bench` a short run into the folder `run`.
  sys::ProcessResult Run(const std::string& script) const {
    const std::string functions = std::string("pagoda() { " PAGODA_TEST_PROGRAM R"( "$@"; }
      bench() { exec )" PAGODA_TEST_PROGRAM R"( bench tiny.toml --threads 1 --wait 0 --out run "$@"; }
      cd )") + folder_.string() + '\n';
    return sys::RunProcess({.argv = {"/bin/sh", "-c", functions + script},
                            .timeout_s = 120,
                            .environment = {{"PAGODA_LOCK", (folder_ / "lock").string()}}});
  }
  bool Left(const std::string& file) const { return fs::exists(folder_ / file); }

 private:
  fs::path folder_;
};

TEST_F(Streams, AMessageThatCantBeWrittenIsLostAndTheExitCodeStays) {
  for (const std::string errors : {"2>/dev/full", "2>&-", "2>&- >&- <&-"}) {
    SCOPED_TRACE(errors);
    EXPECT_EQ(Run("pagoda gate nosuch " + errors).exit_code, 2);
    EXPECT_EQ(Run("pagoda bench nosuch.safetensors " + errors).exit_code, 2);
    EXPECT_EQ(Run("pagoda list suites >/dev/full " + errors).exit_code, 6);
  }
}

TEST_F(Streams, AClosedStreamIsNoFileOpenedLater) {
  // The first warning and the report would otherwise end up in the records or in the lock.
  const sys::ProcessResult r = Run("(bench --launches 2 >&- 2>&- <&-)");
  EXPECT_EQ(r.exit_code, 6) << "the report on standard output is lost";
  EXPECT_EQ(Run("pagoda report run --json").exit_code, 0);
  EXPECT_THAT(Run("cat run/* lock").out, Not(HasSubstr("pagoda: ")));
}

TEST_F(Streams, AFullLogDoesNotEndABench) {
  const sys::ProcessResult r = Run("(bench --launches 2 2>/dev/full)");
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_TRUE(Left("run/report.html"));
}

TEST_F(Streams, ABenchBeyondTheLimitOnFilesSaysHowToGoOn) {
  const sys::ProcessResult r = Run("(ulimit -f 32; bench --launches 20)");
  EXPECT_EQ(r.exit_code, 6) << r.err;
  EXPECT_THAT(r.err, HasSubstr("File too large; raise the limit (ulimit -f)"));
  EXPECT_THAT(r.err, HasSubstr("Go on with: "));
  EXPECT_TRUE(Left("run/records.jsonl"));
  EXPECT_FALSE(Left("run/launch.mark"));
}

TEST_F(Streams, AHangUpEndsABenchAsCtrlCDoes) {
  const sys::ProcessResult r = Run(R"((bench --launches 1000) & pid=$!
    while [ ! -s run/records.jsonl ]; do sleep 0.05; done
    kill -HUP $pid; wait $pid)");
  EXPECT_EQ(r.exit_code, 130) << r.err;
  EXPECT_THAT(r.err, HasSubstr("interrupted; what was measured is kept. Go on with: "));
  EXPECT_FALSE(Left("run/launch.mark"));
}

TEST_F(Streams, NohupOutlivesAHangUp) {
  const sys::ProcessResult r = Run(R"((trap '' HUP; bench --launches 2) & pid=$!
    while [ ! -s run/records.jsonl ]; do sleep 0.05; done
    kill -HUP $pid; wait $pid)");
  EXPECT_EQ(r.exit_code, 0) << r.err;
}

TEST_F(Streams, AReaderWhoHasGoneEndsNoBench) {
  // Standard error is a pipe that nobody reads any more.
  const sys::ProcessResult r = Run("{ (bench --launches 2); echo $? >code; } 2>&1 >out | true; cat code");
  EXPECT_EQ(r.out, "0\n");
  EXPECT_TRUE(Left("run/report.html"));
}

TEST_F(Streams, NoControlCharacterOfAFileReachesTheTerminal) {
  const sys::ProcessResult r = Run(R"sh(
    printf 'name = "a"\n"\\u001b[31mred" = 1\n' >hostile.toml
    pagoda gate hostile.toml; pagoda gate "$(printf 'smo\033[31mke\n')"; pagoda "$(printf '\033[31m')")sh");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(r.err, HasSubstr("[31mred"));
}

}  // namespace
}  // namespace pagoda::app

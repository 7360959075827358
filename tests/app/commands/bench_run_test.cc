// Whole benches of the built program: what one run may hold, and what it says of itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/sys/process.h"
#include "judge/record/jsonl.h"

namespace pagoda::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class BenchRun : public testing::Test {
 protected:
  BenchRun() {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("bench_run_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    WriteSuite("");
  }
  ~BenchRun() override { fs::remove_all(folder_); }

  void WriteSuite(const std::string& more) const {
    std::ofstream(folder_ / "suite.toml", std::ios::trunc)
        << "name = \"tiny\"\nepoch_ms = 0.1\n[[case]]\nname = \"mine\"\ncontext = 40\nheads = \"4/2\"\n"
           "head_dim = 64\ncache = \"warm\"\n"
        << more << '\n';
  }

  using Environment = std::vector<std::pair<std::string, std::string>>;
  // `meanwhile` is called every now and then.
  sys::ProcessResult Bench(const std::vector<std::string>& more, Environment environment = {},
                           const std::function<void()>& meanwhile = {}) const {
    return BenchOf(folder_ / "suite.toml", more, std::move(environment), meanwhile);
  }
  sys::ProcessResult BenchOf(const fs::path& suite, const std::vector<std::string>& more,
                             Environment environment = {},
                             const std::function<void()>& meanwhile = {}) const {
    std::vector<std::string> argv = {
        PAGODA_TEST_PROGRAM, "bench", suite.string(), "--threads", "1", "--wait", "0"};
    argv.insert(argv.end(), more.begin(), more.end());
    // A lock of its own: no time counts here.
    environment.emplace_back("PAGODA_LOCK", (folder_ / "lock").string());
    return sys::RunProcess(
        {.argv = argv, .timeout_s = 280, .environment = std::move(environment), .cancelled = [&] {
           if (meanwhile) meanwhile();
           return false;
         }});
  }
  std::string Out() const { return (folder_ / "run").string(); }

  fs::path folder_;
};

TEST_F(BenchRun, GoesOnWithNothingButTheSameRun) {
  const std::vector<std::string> first = {
      "--variants", "gather,spmd_paged_attention", "--launches", "1", "--out", Out()};
  const sys::ProcessResult r = Bench(first, {{"PAGODA_ISA", "scalar"}});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("· scalar"));
  EXPECT_THAT(r.out, HasSubstr("Again: PAGODA_ISA=scalar "));
  EXPECT_THAT(r.err, HasSubstr("--launches 1 can't decide anything: to answer 1 question"));

  std::vector<std::string> again = first;
  again.emplace_back("--resume");
  const sys::ProcessResult same = Bench(again, {{"PAGODA_ISA", "scalar"}});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  WriteSuite("softcap = 30");
  const sys::ProcessResult other = Bench(again, {{"PAGODA_ISA", "scalar"}});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("mine: softcap was 0, now 30"));
  WriteSuite("");
  again.insert(again.end(), {"--budget", "5m"});
  EXPECT_THAT(Bench(again, {{"PAGODA_ISA", "scalar"}}).err,
              HasSubstr("budget was none, now 5 m 0 s with --launches 1"));
}

TEST_F(BenchRun, OfAnHstuCaseFileIsOfItsContents) {
  const fs::path file = folder_ / "problem.safetensors";
  fs::copy_file(fs::path(PAGODA_TEST_CASES) / "hstu_interval_paged.safetensors", file);
  std::vector<std::string> arguments = {
      "--warm", "--variants", "hstu_fused,hstu_gather_serial", "--launches", "1", "--out", Out()};
  const sys::ProcessResult r = BenchOf(file, arguments);
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const judge::Manifest manifest = judge::ReadManifest(folder_ / "run" / "manifest.json");
  ASSERT_EQ(manifest.cases.size(), 1u);
  EXPECT_EQ(manifest.cases[0].name, "problem.safetensors_warm");
  const judge::Records records = judge::ReadRecords(folder_ / "run" / "records.jsonl");
  ASSERT_EQ(records.launches.size(), 1u);
  EXPECT_EQ(records.launches[0].status, judge::LaunchStatus::kOk) << records.launches[0].reason;
  EXPECT_EQ(records.gates.size(), 2u * 3u);

  arguments.emplace_back("--resume");
  EXPECT_EQ(BenchOf(file, arguments).exit_code, 0);
  fs::remove(file);
  fs::copy_file(fs::path(PAGODA_TEST_CASES) / "hstu_dense_weights.safetensors", file);
  const sys::ProcessResult other = BenchOf(file, arguments);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("problem.safetensors_warm: case file was "));
}

TEST_F(BenchRun, WarmsUpAndTimesAsOftenAsTheSuiteAsks) {
  std::ofstream(folder_ / "suite.toml", std::ios::trunc)
      << "name = \"tiny\"\nepoch_ms = 0.1\nwarmups = 16\nsamples = 51\n[[case]]\nname = \"mine\"\n"
         "context = 40\nheads = \"4/2\"\nhead_dim = 64\ncache = \"warm\"\n";
  const sys::ProcessResult r =
      Bench({"--variants", "gather,spmd_paged_attention", "--launches", "1", "--out", Out()});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const judge::Records records = judge::ReadRecords(folder_ / "run" / "records.jsonl");
  // On a busy machine the only launch is run again, or left out.
  ASSERT_FALSE(records.launches.empty());
  for (const judge::LaunchRecord& launch : records.launches) EXPECT_EQ(launch.blocks, 26);  // twice each
  const bool used = records.launches.back().status == judge::LaunchStatus::kOk;
  std::ifstream file(folder_ / "run" / "report.md");
  const std::string report(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(report,
              HasSubstr("- warm-up: until the medians settle, and at least 16 calls of each variant\n"));
  EXPECT_THAT(report, HasSubstr(fmt::format(
                          "- timings: at least 51 of each variant and case over all launches asked for; {} "
                          "taken\n",
                          used ? 52 : 0)));
}

TEST_F(BenchRun, OfAnotherInstructionSetIsAnotherRun) {
  std::vector<std::string> arguments = {"--variants", "gather", "--launches", "1", "--out", Out()};
  ASSERT_EQ(Bench(arguments).exit_code, 0);
  const std::string isa = judge::ReadManifest(folder_ / "run" / "manifest.json").environment.isa;
  if (isa == "scalar") GTEST_SKIP() << "this machine has one instruction set";
  arguments.emplace_back("--resume");
  const sys::ProcessResult r = Bench(arguments, {{"PAGODA_ISA", "scalar"}});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("instruction set was " + isa + ", now scalar"));
}

TEST_F(BenchRun, StopsWhereAPlugInIsReplacedAndSaysWhich) {
  const fs::path plugin = folder_ / "mine.so";
  fs::copy_file(PAGODA_TEST_EXAMPLE, plugin);
  WriteSuite("dtype = \"f32\"");
  const std::vector<std::string> arguments = {
      "--variants", "gather," + plugin.string(), "--launches", "200", "--out", Out()};
  const fs::path records = fs::path(Out()) / "records.jsonl";
  bool replaced = false;
  const sys::ProcessResult r = Bench(arguments, {}, [&] {
    std::ifstream file(records);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (replaced || text.find("\"launch\"") == std::string::npos) return;
    replaced = true;
    fs::copy_file(PAGODA_TEST_OTHER, folder_ / "new.so");
    fs::rename(folder_ / "new.so", plugin);
  });
  EXPECT_TRUE(replaced);
  EXPECT_EQ(r.exit_code, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr(plugin.string() + " was replaced while the run measured it"));
  for (const judge::LaunchRecord& launch : judge::ReadRecords(records).launches) {
    EXPECT_NE(launch.status, judge::LaunchStatus::kCrashed);
  }
  std::vector<std::string> again = arguments;
  again.emplace_back("--resume");
  const sys::ProcessResult resumed = Bench(again);
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_THAT(resumed.err, HasSubstr(plugin.string() + " (hash) was "));
  EXPECT_THAT(resumed.err, Not(HasSubstr("program (hash)")));
}

}  // namespace
}  // namespace pagoda::app

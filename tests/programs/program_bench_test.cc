// A whole bench of programs: the right ones are judged, the broken ones named, and the report says how they
// ran.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/io/json.h"
#include "base/sys/process.h"
#include "base/sys/small_file.h"
#include "judge/record/jsonl.h"
#include "programs/programs.h"

namespace pagoda::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(ProgramBench, JudgesTheRightOnesAndNamesTheOthers) {
  const fs::path folder = fs::path(testing::TempDir()) / "program_bench";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::set<std::string> broken = {"Crashes", "Boasts"};
  std::vector<std::string> argv = {PAGODA_TEST_PROGRAM,
                                   "bench",
                                   WriteSmallSuite((folder / "suite.toml").string()),
                                   "--variants",
                                   "gather",
                                   "--baseline",
                                   "cc",
                                   "--launches",
                                   "2",
                                   "--wait",
                                   "0",
                                   "--out",
                                   (folder / "run").string(),
                                   "--program",
                                   std::string("cc=") + PAGODA_TEST_EXAMPLE};
  for (const std::string& name : broken)
    argv.insert(argv.end(), {"--program", name + "=" + BrokenProgram(name)});

  // A lock of its own: another bench on the machine is nothing to wait for here, since no time counts.
  const auto run = [&] {
    return sys::RunProcess(
        {.argv = argv, .timeout_s = 280, .environment = {{"PAGODA_LOCK", (folder / "lock").string()}}});
  };
  const sys::ProcessResult r = run();
  EXPECT_EQ(r.exit_code, 3) << r.err;

  const judge::Manifest manifest = judge::ReadManifest(folder / "run" / "manifest.json");
  ASSERT_EQ(manifest.programs.size(), 3u);
  EXPECT_EQ(manifest.programs[0].command, PAGODA_TEST_EXAMPLE);
  EXPECT_EQ(manifest.programs[0].about, "plain C++");
  const nlohmann::json report =
      io::ParseJson(sys::ReadSmallFile(folder / "run" / "report.json").value_or(""), "report");
  EXPECT_EQ(report.at("programs").at(0).at("variant"), "cc");
  const std::string not_measured = report.at("not_measured").dump();
  EXPECT_THAT(not_measured, HasSubstr("cc within the process of the others"));
  EXPECT_THAT(not_measured, HasSubstr("paired with them in time"));
  EXPECT_THAT(not_measured, HasSubstr("all variants read them from shared memory"));
  EXPECT_THAT(not_measured, HasSubstr("the null arm of cc is a second process of the same command"));

  const judge::Records records = judge::ReadRecords(folder / "run" / "records.jsonl");
  EXPECT_EQ(records.gates.size(), 3 * 4u) << "each gate run has its record";
  std::set<std::string> culprits;
  int whole = 0;
  for (const judge::LaunchRecord& launch : records.launches) {
    if (!launch.culprit.empty()) culprits.insert(launch.culprit);
    if (launch.status == judge::LaunchStatus::kOk || launch.status == judge::LaunchStatus::kContaminated) {
      EXPECT_EQ(launch.arms.size(), 3u) << "both right variants and the null arm";
      ++whole;
    }
  }
  EXPECT_EQ(culprits, std::set<std::string>{"Boasts"}) << "the gate found the other";
  EXPECT_GE(whole, 2);

  argv.back() += " other";
  argv.emplace_back("--resume");
  const sys::ProcessResult resumed = run();
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_THAT(resumed.err, HasSubstr("external programs was"));
  fs::remove_all(folder);
}

// A program may be the baseline of operators that no variant of Pagoda has together.
TEST(ProgramBench, JudgesBothOperatorsOfASuite) {
  const fs::path folder = fs::path(testing::TempDir()) / "mixed_bench";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const sys::ProcessResult r = sys::RunProcess(
      {.argv = {PAGODA_TEST_PROGRAM, "bench", WriteMixedSuite((folder / "suite.toml").string()), "--variants",
                "gather,hstu_fused", "--baseline", "both", "--launches", "1", "--wait", "0", "--out",
                (folder / "run").string(), "--program", "both=" + HstuExample()},
       .timeout_s = 280,
       .environment = {{"PAGODA_LOCK", (folder / "lock").string()}}});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  std::map<std::string, std::set<std::string>> timed;
  const judge::Records records = judge::ReadRecords(folder / "run" / "records.jsonl");
  for (const judge::LaunchRecord& launch : records.launches) {
    for (const judge::ArmSamples& arm : launch.arms) timed[launch.case_name].insert(arm.variant);
  }
  EXPECT_EQ(timed, (std::map<std::string, std::set<std::string>>{
                       {"b2_h4_kv2_s20-9_bs8_hd8_f32_decode_warm", {"both", "gather"}},
                       {"hstu_b2_h4_kv2_s20-9_bs8_hd8_f32_q3_t2_warm", {"both", "hstu_fused"}}}));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace pagoda::app

// A whole bench in which most variants are broken: the run ends, names each, and decides between the others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/sys/process.h"
#include "judge/record/jsonl.h"

namespace pagoda::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(BrokenPlugins, CostTheOthersOfABenchNothing) {
  const fs::path folder = fs::path(testing::TempDir()) / "broken_bench";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string suite = (folder / "suite.toml").string();
  std::ofstream(suite) << "name = \"s\"\n[[case]]\nheads = \"4/2\"\nhead_dim = 64\ncontexts = [70, 33]\n"
                          "cache = \"warm\"\n";
  std::string variants = "gather,spmd_paged_attention";
  std::set<std::string> broken;
  for (const char* name : {"stale", "off_by_a_page", "past_the_end", "mutates", "hangs", "crashes",
                           "wrong_later", "nan", "crashes_when_asked", "hangs_when_asked"}) {
    broken.insert(fmt::format("{}:{}", PAGODA_TEST_BROKEN, name));
  }
  for (const std::string& variant : broken) variants += fmt::format(",{}", variant);
  const std::string ends_the_bench = fmt::format("{}:ends_the_bench", PAGODA_TEST_BROKEN);
  variants += "," + ends_the_bench;

  // A lock of its own: another bench on the machine is nothing to wait for here, since no time counts.
  const sys::ProcessResult r =
      sys::RunProcess({.argv = {PAGODA_TEST_PROGRAM, "bench", suite, "--variants", variants, "--launches",
                                "2", "--wait", "0", "--out", (folder / "run").string()},
                       .timeout_s = 280,
                       .environment = {{"PAGODA_LOCK", (folder / "lock").string()}}});
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(r.out, HasSubstr("failed"));
  const judge::Records records = judge::ReadRecords(folder / "run" / "records.jsonl");
  std::set<std::string> failed;
  for (const judge::GateRecord& gate : records.gates) {
    if (!gate.passed) failed.insert(gate.variant);
  }
  EXPECT_EQ(failed, broken);
  EXPECT_EQ(records.gates.size(), 3 * (3 + broken.size())) << "each gate run has its record";
  EXPECT_EQ(records.launches.size(), 3u) << "one ended, and both were run without its culprit";
  for (const judge::LaunchRecord& launch : records.launches) {
    if (launch.status == judge::LaunchStatus::kCrashed) {
      EXPECT_EQ(launch.culprit, ends_the_bench);
      EXPECT_EQ(launch.reason, "ended with exit code 0 and without a result");
      continue;
    }
    ASSERT_EQ(launch.arms.size(), 3u) << "both right variants and the null arm";
    for (const judge::ArmCheck& check : launch.checks) EXPECT_TRUE(check.passed) << check.fault;
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace pagoda::app

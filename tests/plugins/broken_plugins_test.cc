// Variants that are each wrong in one way are named for it, and cost the others nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "app/subjects/outside.h"
#include "base/io/json.h"
#include "base/sys/process.h"
#include "judge/bench/case_name.h"
#include "judge/bench/launch_plan.h"
#include "judge/bench/process_runner.h"
#include "judge/record/jsonl.h"

namespace pagoda::app {
namespace {

using testing::HasSubstr;

const std::map<std::string, std::string> kFaults = {
    {"stale", "other queries: stale: the output is still that of the call before"},
    {"nothing", "call 1: o[0][0][0] was never written"},
    {"off_by_a_page", "elements are outside the tolerance"},
    {"past_the_end", "out-of-bounds write at the output: byte 0 past the end"},
    {"mutates", "call 1: an input was written to"},
    {"mutates_in_turns", "call 1: an input was written to"},
    {"mutates_in_turns_later", "an input was written to"},
    {"mutates_and_is_wrong", "call 1: an input was written to"},
    {"mutates_lengths", "call 1: an input was written to: kv_len"},
    {"mutates_pages", "call 1: an input was written to: page_ids"},
    {"crashes", "was killed by signal 6"},
    {"wrong_later", "call 10: 1 of 520 elements"},
    {"nan", "= NaN, expected"},
    {"fails", "run failed: no more memory"},
    {"fails_at_length", "run failed: no more memory?!!!"},
    {"crashes_when_asked", "was killed by signal 6"},
    {"ends_when_asked", "ended with exit code 0 and without a result"},
    {"ends_at_once", "ended with exit code 0 and without a result"},
    {"crashes_at_once", "was killed by signal 6"},
};

std::string Broken(const std::string& name) {
  if (name == "ends_at_once") return PAGODA_TEST_ENDS_AT_ONCE;
  if (name == "crashes_at_once") return PAGODA_TEST_CRASHES_AT_ONCE;
  return std::string(PAGODA_TEST_BROKEN) + ":" + name;
}

std::string SmallSuite() {
  const std::string suite = testing::TempDir() + "broken_suite.toml";
  std::ofstream(suite) << "name = \"s\"\n[[case]]\nheads = \"4/2\"\nhead_dim = 64\ncontexts = [70, 33]\n"
                          "cache = \"warm\"\n";
  return suite;
}

TEST(BrokenPlugins, AreNamedByTheGateForWhatTheyAre) {
  std::string variants = fmt::format("gather,{},{}", Broken("right"), Broken("talks"));
  for (const auto& [name, fault] : kFaults) variants += fmt::format(",{}", Broken(name));
  const sys::ProcessResult r =
      sys::RunProcess({.argv = {PAGODA_TEST_PROGRAM, "gate", SmallSuite(), "--json", "--variants", variants},
                       .timeout_s = 300});
  EXPECT_EQ(r.exit_code, 3) << r.err;
  const nlohmann::json report = io::ParseJson(r.out, "gate");
  EXPECT_EQ(report.at("total"), 3 * (3 + kFaults.size()));
  std::map<std::string, std::string> faults;
  for (const nlohmann::json& run : report.at("runs")) {
    const std::string variant = run.at("variant");
    if (!run.at("passed")) faults[variant] += run.at("fault").get<std::string>() + "\n";
  }
  EXPECT_LT(r.out.size(), 100000u) << "a plug-in fills the terminal";
  for (const auto& [name, fault] : kFaults) EXPECT_THAT(faults[Broken(name)], HasSubstr(fault)) << name;
  for (const std::string& right : {std::string("gather"), Broken("right"), Broken("talks")}) {
    EXPECT_EQ(faults.count(right), 0u) << right << ": " << faults[right];
  }
}

TEST(BrokenPlugins, AReasonIsOneLineOfASensibleLength) {
  const sys::ProcessResult r =
      sys::RunProcess({.argv = {PAGODA_TEST_PROGRAM, "gate", SmallSuite(), "--variants",
                                "gather," + Broken("supports_nothing")},
                       .timeout_s = 60});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(":supports_nothing: only on?Tuesdays"));
  EXPECT_LT(r.out.size(), 10000u);
}

// The gate has a watchdog of its own, so whoever asks needn't wait long.
TEST(BrokenPlugins, OneThatHangsWhenAskedIsLeftToTheGate) {
  const OutsideAnswer answer =
      AskOutside({PAGODA_TEST_PROGRAM, "launch", "--ask"},
                 judge::ParseCaseName("b1_h4_kv2_s40_bs16_hd64_bf16_decode"), Broken("hangs_when_asked"), 1);
  EXPECT_TRUE(answer.hung);
  EXPECT_EQ(answer.why_not, std::nullopt);
}

TEST(BrokenPlugins, OneThatHangsIsKilledAndNamed) {
  judge::ProcessRunner runner({PAGODA_TEST_PROGRAM, "launch", "--mark"}, testing::TempDir() + "hang.mark",
                              [] { return false; });
  const judge::GatePlan plan{.run_id = "r",
                             .spec = judge::ParseCaseName("b1_h4_kv2_s40_bs16_hd64_bf16_decode"),
                             .runs = {{Broken("right"), 2026}, {Broken("hangs"), 2026}},
                             .threads = 2};
  const judge::ChildOutcome outcome = runner.Run(judge::ToJson(plan), 5);
  EXPECT_EQ(outcome.end, judge::ChildEnd::kTimedOut);
  EXPECT_EQ(outcome.mark, Broken("hangs"));
  EXPECT_EQ(judge::ParseRecords(outcome.out, "gate").gates.size(), 1u) << "what was right is kept";
}

}  // namespace
}  // namespace pagoda::app

// The bench's child processes, run as the bench runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/io/json.h"
#include "base/sys/process.h"
#include "judge/bench/case_name.h"
#include "judge/bench/launch_plan.h"
#include "judge/bench/process_runner.h"
#include "judge/record/jsonl.h"

namespace pagoda::app {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class Launch : public testing::Test {
 protected:
  judge::ChildOutcome Run(const std::string& plan, double timeout_s = 100) {
    judge::ProcessRunner runner(
        {PAGODA_TEST_PROGRAM, "launch", "--mark"},
        std::filesystem::path(testing::TempDir()) /
            (std::string("launch_") + testing::UnitTest::GetInstance()->current_test_info()->name()),
        [] { return false; });
    return runner.Run(plan, timeout_s);
  }
  judge::LaunchPlan Plan() const {
    judge::LaunchPlan plan;
    plan.run_id = "r";
    plan.spec = judge::ParseCaseName("b2_h4_kv2_s40_bs16_hd64_bf16_decode_warm");
    plan.seed = 2026;
    plan.arms = {{"gather", 0}, {"spmd_paged_attention", 0}, {"gather", 1}};
    plan.slot_order = {2, 1, 0};
    plan.protocol.epoch_ns = 1;
    plan.protocol.blocks = plan.protocol.least_blocks = 2;
    return plan;
  }
};

TEST_F(Launch, TimesArmsOverSharedPages) {
  judge::LaunchPlan plan = Plan();
  plan.spec = judge::ParseCaseName("b2_h4_kv2_s600-520_bs64_hd64_bf16_decode_warm");
  plan.spec.blocks = {{0, 1}, {0, 2}};
  const judge::ChildOutcome outcome = Run(judge::ToJson(plan));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const judge::Records records = judge::ParseRecords(outcome.out, "launch");
  ASSERT_THAT(records.launches, SizeIs(1));
  ASSERT_THAT(records.launches[0].checks, SizeIs(3));
  for (const judge::ArmCheck& check : records.launches[0].checks) EXPECT_TRUE(check.passed) << check.fault;
}

TEST_F(Launch, TimesAllArmsAndChecksTheirOutputs) {
  const judge::ChildOutcome outcome = Run(judge::ToJson(Plan()));
  ASSERT_EQ(outcome.end, judge::ChildEnd::kExited) << outcome.err;
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const judge::Records records = judge::ParseRecords(outcome.out, "launch");
  ASSERT_THAT(records.launches, SizeIs(1));
  const judge::LaunchRecord& record = records.launches[0];
  EXPECT_EQ(record.status, judge::LaunchStatus::kOk) << record.reason;
  ASSERT_THAT(record.arms, SizeIs(3));
  EXPECT_EQ(record.arms[2].variant, "gather");
  EXPECT_EQ(record.arms[2].link, 1);
  EXPECT_THAT(record.arms[0].device_ns, SizeIs(4));
  ASSERT_THAT(record.checks, SizeIs(3));
  for (const judge::ArmCheck& check : record.checks) EXPECT_TRUE(check.passed) << check.fault;
  EXPECT_GT(record.clock_resolution_ns, 0);
  // The last check is of the last slot, which holds arm 0.
  EXPECT_EQ(outcome.mark, "gather");
}

TEST_F(Launch, RunsAPartOfTheGate) {
  const judge::GatePlan plan{"r", Plan().spec, {{"spmd_paged_attention", 2026}}, 1};
  const judge::ChildOutcome outcome = Run(judge::ToJson(plan));
  const judge::Records records = judge::ParseRecords(outcome.out, "gate");
  ASSERT_THAT(records.gates, SizeIs(1)) << outcome.err;
  EXPECT_EQ(records.gates[0].variant, "spmd_paged_attention");
  EXPECT_TRUE(records.gates[0].passed) << records.gates[0].fault;
}

TEST_F(Launch, AVariantThatIsNotThereIsARecordOfACrash) {
  judge::LaunchPlan plan = Plan();
  plan.arms[1].variant = "gone";
  const judge::ChildOutcome outcome = Run(judge::ToJson(plan));
  const judge::Records records = judge::ParseRecords(outcome.out, "launch");
  ASSERT_THAT(records.launches, SizeIs(1)) << outcome.err;
  EXPECT_EQ(records.launches[0].status, judge::LaunchStatus::kCrashed);
  EXPECT_THAT(records.launches[0].reason, HasSubstr("gone"));
}

TEST_F(Launch, NoPlanIsBadInput) {
  const judge::ChildOutcome outcome = Run("{}");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("plan"));
  EXPECT_EQ(outcome.out, "");
}

// Whatever is refused is refused before anything is measured, with the option and the mend.
TEST(BenchCommand, RefusesBadUsage) {
  const auto refusal = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {PAGODA_TEST_PROGRAM, "bench"});
    const sys::ProcessResult result = sys::RunProcess({.argv = arguments,
                                                       .stdin_text = "",
                                                       .timeout_s = 100,
                                                       .environment = {},
                                                       .cancelled = {},
                                                       .on_stdout = {}});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  };
  EXPECT_THAT(refusal({}), HasSubstr("SUITE is required"));
  EXPECT_THAT(refusal({"smoek"}), HasSubstr("did you mean \"smoke\"?"));
  EXPECT_THAT(refusal({"smoke", "--variants", "gather,gathr"}), HasSubstr("did you mean \"gather\"?"));
  EXPECT_THAT(refusal({"smoke", "--baseline", "none"}), HasSubstr("--baseline"));
  EXPECT_THAT(refusal({"smoke", "--only", "s512"}), HasSubstr("--only"));
  EXPECT_THAT(refusal({"smoke", "--budget", "5 minutes"}), HasSubstr("--budget"));
  EXPECT_THAT(refusal({"smoke", "--delta", "2"}), HasSubstr("--delta"));
  EXPECT_THAT(refusal({"smoke", "--launches", "0"}), HasSubstr("--launches"));
  EXPECT_THAT(refusal({"smoke", "--fail-on", "tie"}), HasSubstr("--fail-on"));
  EXPECT_THAT(refusal({"smoke", "--lock", "steal"}), HasSubstr("--lock"));
  EXPECT_THAT(refusal({"smoke", "--seed", "-1"}), HasSubstr("--seed: -1 is not a whole number from 0 to "));
  EXPECT_THAT(refusal({"smoke", "--wait", "long"}), HasSubstr("--wait: long is not a duration"));
  EXPECT_THAT(refusal({"smoke", "--resume"}), HasSubstr("--out DIR"));
  EXPECT_THAT(refusal({"smoke", "--resume", "--out", "/nowhere"}),
              HasSubstr("--resume finds no manifest.json"));
}

TEST(BenchCommand, ADryRunShowsCasesAndATime) {
  const sys::ProcessResult result =
      sys::RunProcess({.argv = {PAGODA_TEST_PROGRAM, "bench", "llm", "--dry-run"},
                       .stdin_text = "",
                       .timeout_s = 100,
                       .environment = {},
                       .cancelled = {},
                       .on_stdout = {}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("b8_h32_kv4_s16384_bs64_hd128_bf16_decode"));
  EXPECT_THAT(result.out, HasSubstr("6 variants, baseline gather; 16 launches of each case"));
}

TEST(BenchCommand, ADryRunKeepsToTheBudget) {
  const auto dry_run = [](const std::string& budget) {
    return sys::RunProcess({.argv = {PAGODA_TEST_PROGRAM, "bench", "seed-paged-attention", "--dry-run",
                                     "--json", "--budget", budget},
                            .stdin_text = "",
                            .timeout_s = 100,
                            .environment = {},
                            .cancelled = {},
                            .on_stdout = {}})
        .out;
  };
  const nlohmann::json fits = io::ParseJson(dry_run("6m"), "dry run");
  EXPECT_EQ(fits.at("fits_budget"), true);
  EXPECT_LE(fits.at("predicted_s").get<double>(), 360);
  const nlohmann::json wide = io::ParseJson(dry_run("10h"), "dry run");
  EXPECT_GT(wide.at("predicted_s").get<double>(), 360) << "else the budget cut nothing";
  EXPECT_EQ(io::ParseJson(dry_run("1s"), "dry run").at("fits_budget"), false);
}

}  // namespace
}  // namespace pagoda::app

#include "judge/bench/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "judge/bench/fakes.h"
#include "judge/record/jsonl.h"

namespace pagoda::judge {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_fakes::FakeRunner;
using testing_fakes::FakeSubject;
using testing_fakes::SmallCase;

class Child : public testing::Test {
 protected:
  LaunchPlan Plan() const {
    LaunchPlan plan;
    plan.run_id = "r";
    plan.spec = SmallCase(64);
    plan.launch = 3;
    plan.seed = 77;
    plan.threads = 2;
    plan.arms = {{"a", 0}, {"b", 0}, {"a", 1}};
    plan.slot_order = {1, 2, 0};
    return plan;
  }
  LaunchRecord Launched(const LaunchPlan& plan) {
    const Records records = ParseRecords(runner_.Run(ToJson(plan), 1).out, "out");
    EXPECT_THAT(records.launches, SizeIs(1));
    return records.launches.at(0);
  }

  FakeSubject subject_;
  FakeRunner runner_{subject_};
};

TEST_F(Child, ALaunchRecordHoldsTheArmsInTheirOrderWhateverTheSlots) {
  subject_.call_ns = {{"a", 5e3}, {"b", 7e3}};
  runner_.before.load = 0.25;
  runner_.after.steal = 0.01;
  const LaunchRecord record = Launched(Plan());
  EXPECT_EQ(record.status, LaunchStatus::kOk);
  EXPECT_EQ(record.run_id, "r");
  EXPECT_EQ(record.launch, 3);
  EXPECT_EQ(record.seed, 77U);
  EXPECT_EQ(record.threads, 2);
  EXPECT_EQ(record.cache, "cold");
  EXPECT_EQ(record.clock_resolution_ns, 20);
  EXPECT_EQ(record.before.load, 0.25);
  EXPECT_EQ(record.after.steal, 0.01);
  EXPECT_THAT(record.slot_order, ElementsAre(1, 2, 0));
  ASSERT_THAT(record.arms, SizeIs(3));
  EXPECT_EQ(record.arms[0].variant, "a");
  EXPECT_EQ(record.arms[0].link, 0);
  EXPECT_EQ(record.arms[1].variant, "b");
  EXPECT_EQ(record.arms[2].link, 1);
  for (const ArmSamples& arm : record.arms) {
    const double ns = arm.variant == "a" ? 5e3 : 7e3;
    EXPECT_THAT(arm.host_ns, SizeIs(2 * record.blocks));
    EXPECT_THAT(arm.host_ns, Each(ns));
    EXPECT_THAT(arm.device_ns, Each(ns / 2));
  }
  ASSERT_THAT(subject_.prepared, SizeIs(1));
  EXPECT_THAT(subject_.prepared[0].arms, ElementsAre(ArmId{"b", 0}, ArmId{"a", 1}, ArmId{"a", 0}));
  EXPECT_EQ(subject_.prepared[0].seed, 77U);
}

TEST_F(Child, AWrongTimedOutputFailsTheLaunchAndKeepsTheSamples) {
  subject_.wrong_after_timing["b"] = "out[3] = nan";
  const LaunchRecord record = Launched(Plan());
  EXPECT_EQ(record.status, LaunchStatus::kGateFailed);
  EXPECT_EQ(record.culprit, "b");
  EXPECT_EQ(record.reason, "a check after the last timed call failed: out[3] = nan");
  ASSERT_THAT(record.checks, SizeIs(3));
  EXPECT_TRUE(record.checks[0].passed);
  EXPECT_FALSE(record.checks[1].passed);
  EXPECT_THAT(record.arms, SizeIs(3));
}

TEST_F(Child, AnErrorOfAnArmBecomesACrashThatNamesIt) {
  subject_.throws_in_run = "b";
  const LaunchRecord record = Launched(Plan());
  EXPECT_EQ(record.status, LaunchStatus::kCrashed);
  EXPECT_EQ(record.culprit, "b");
  EXPECT_THAT(record.reason, HasSubstr("bad page"));
  EXPECT_THAT(record.arms, IsEmpty());
}

TEST_F(Child, AnErrorWhileAnArmIsPreparedNamesItToo) {
  subject_.throws_in_prepare = "b";
  const LaunchRecord record = Launched(Plan());
  EXPECT_EQ(record.status, LaunchStatus::kCrashed);
  EXPECT_EQ(record.culprit, "b");
  EXPECT_THAT(record.reason, HasSubstr("no file"));
}

TEST_F(Child, APilotGivesTimesInTheOrderOfTheArms) {
  subject_.call_ns = {{"a", 4e6}, {"b", 9e6}};
  LaunchPlan plan = Plan();
  plan.protocol.pilot = true;
  const PilotResult pilot = ParsePilotResult(runner_.Run(ToJson(plan), 1).out, "out");
  EXPECT_EQ(pilot.calls, 1);
  EXPECT_THAT(pilot.host_ns, ElementsAre(4e6, 9e6, 4e6));
}

TEST_F(Child, AGateWritesOneRecordForEachRunInTheirOrder) {
  subject_.gate_faults[{"b", 2029}] = "off by one";
  subject_.throws_in_gate = "c";
  GatePlan plan{"r", SmallCase(64), {{"b", 2026}, {"c", 2026}, {"a", 2029}, {"b", 2029}, {"c", 2029}}, 1};
  const auto gates = ParseRecords(runner_.Run(ToJson(plan), 1).out, "out").gates;
  std::vector<std::string> got;
  for (const GateRecord& g : gates)
    got.push_back(fmt::format("{} {} {}", g.variant, g.seed, g.passed ? "ok" : g.fault));
  EXPECT_THAT(got, ElementsAre("b 2026 ok", "c 2026 stopped with an error: no memory", "a 2029 ok",
                               "b 2029 off by one", "c 2029 stopped with an error: no memory"));
  EXPECT_TRUE(gates[0].bitwise_repeatable);
  EXPECT_EQ(gates[0].max_abs_error, 1e-4);
  EXPECT_TRUE(std::isinf(gates[1].max_abs_error)) << "it left no output";
}

}  // namespace
}  // namespace pagoda::judge

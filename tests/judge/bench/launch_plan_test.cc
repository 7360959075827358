#include "judge/bench/launch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "judge/bench/case_name.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

LaunchPlan SomeLaunch() {
  LaunchPlan plan;
  plan.run_id = "2026-\"x\"";
  plan.spec = ParseCaseName("b2_h4_kv2_s7-9_bs16_hd64_f32_decode_hnd_warm");
  plan.spec.name = "mine";
  plan.spec.rtol = 1e-9;
  plan.spec.weight = 3;
  plan.launch = 11;
  plan.attempt = 2;
  plan.seed = std::numeric_limits<uint64_t>::max();
  plan.threads = 2;
  plan.arms = {{"a", 0}, {"b", 0}, {"a", 1}};
  plan.slot_order = {2, 0, 1};
  plan.protocol.seed = 5;
  plan.protocol.blocks = 17;
  plan.protocol.pilot = true;
  plan.protocol.cap_ns = 1.25e8;
  plan.protocol.least_warmups = 16;
  return plan;
}

std::string RefusalOf(std::string_view text) {
  try {
    ParseChildPlan(text, "plan");
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(LaunchPlan, ComesBackFromItsJson) {
  const LaunchPlan plan = SomeLaunch();
  const auto back = std::get<LaunchPlan>(ParseChildPlan(ToJson(plan), "plan"));
  EXPECT_EQ(back.run_id, plan.run_id);
  EXPECT_EQ(back.spec.name, "mine");
  EXPECT_EQ(CaseName(back.spec), CaseName(plan.spec));
  EXPECT_EQ(back.spec.rtol, 1e-9);
  EXPECT_EQ(back.spec.weight, 3);
  EXPECT_EQ(back.launch, 11);
  EXPECT_EQ(back.attempt, 2);
  EXPECT_EQ(back.seed, plan.seed);
  EXPECT_EQ(back.arms, plan.arms);
  EXPECT_EQ(back.slot_order, plan.slot_order);
  EXPECT_EQ(back.protocol.blocks, 17);
  EXPECT_EQ(back.protocol.cap_ns, 1.25e8);
  EXPECT_TRUE(back.protocol.pilot);
  EXPECT_EQ(ToJson(back), ToJson(plan));
}

TEST(LaunchPlan, BringsTheBlocksThatSequencesShare) {
  LaunchPlan plan = SomeLaunch();
  plan.spec.blocks = {{7}, {7}};
  const std::string json = ToJson(plan);
  EXPECT_EQ(std::get<LaunchPlan>(ParseChildPlan(json, "plan")).spec.blocks, plan.spec.blocks);
  EXPECT_THAT(RefusalOf(Replaced(json, "[[7],[7]]", "[[7],[7,8]]")), HasSubstr("blocks[1] has 2 ids"));
  EXPECT_THAT(RefusalOf(Replaced(json, "[[7],[7]]", "[[7],7]")),
              HasSubstr("launch.case.blocks[1] = 7 is not an array"));
}

TEST(GatePlan, ComesBackFromItsJson) {
  GatePlan plan{"r", ParseCaseName("b1_h4_kv2_s7_bs16_hd64_f32_decode"), {{"a", 2026}, {"b", 2029}}, 2};
  const auto back = std::get<GatePlan>(ParseChildPlan(ToJson(plan), "plan"));
  EXPECT_EQ(back.runs, plan.runs);
  EXPECT_EQ(back.threads, 2);
  EXPECT_EQ(ToJson(back), ToJson(plan));
}

TEST(PilotResult, ComesBackFromItsJson) {
  const PilotResult pilot{12, {1.5, 2.5e6}, 0.25, 0.5, 0.125};
  const PilotResult back = ParsePilotResult(ToJson(pilot), "pilot");
  EXPECT_EQ(back.calls, 12);
  EXPECT_EQ(back.host_ns, pilot.host_ns);
  EXPECT_EQ(back.setup_s, 0.25);
  EXPECT_EQ(back.warmup_s, 0.5);
  EXPECT_EQ(back.checks_s, 0.125);
}

TEST(ParseChildPlan, RefusesWhatIsNoPlan) {
  const std::string good = ToJson(SomeLaunch());
  ASSERT_EQ(RefusalOf(good), "accepted");
  for (size_t length = 0; length < good.size(); length += 7) {
    EXPECT_NE(RefusalOf(std::string_view(good).substr(0, length)), "accepted") << length;
  }
  EXPECT_THAT(RefusalOf("[]"), StartsWith("plan"));
  EXPECT_THAT(RefusalOf("{}"), HasSubstr("launch"));
  EXPECT_THAT(RefusalOf("{\"launch\":1}"), HasSubstr("launch"));
  EXPECT_THAT(RefusalOf(Replaced(good, "\"threads\":2", "\"threads\":0")), HasSubstr("launch.threads"));
  EXPECT_THAT(RefusalOf(Replaced(good, "\"threads\":2", "\"threads\":99999999999")),
              HasSubstr("launch.threads"));
  EXPECT_THAT(RefusalOf(Replaced(good, "\"threads\":2", "\"threads\":\"2\"")), HasSubstr("launch.threads"));
  EXPECT_THAT(RefusalOf(Replaced(good, "\"threads\":2", "\"thread\":2")), HasSubstr("thread"));
  EXPECT_THAT(RefusalOf(Replaced(good, "[2,0,1]", "[2,0,2]")),
              HasSubstr("launch.slot_order is not a permutation"));
  EXPECT_THAT(RefusalOf(Replaced(good, "[2,0,1]", "[2,0]")), HasSubstr("launch.slot_order"));
  EXPECT_THAT(RefusalOf(Replaced(good, "\"link\":1", "\"link\":-1")), HasSubstr("link"));
  EXPECT_THAT(RefusalOf(Replaced(good, "_hd64_", "_hd0_")), HasSubstr("case name"));
  EXPECT_THAT(RefusalOf(Replaced(good, "\"blocks\":17", "\"blocks\":1e9")), HasSubstr("blocks"));
}

}  // namespace
}  // namespace pagoda::judge

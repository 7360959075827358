#include "judge/bench/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<LaunchCost> kCases = {{.fixed_s = 1, .block_s = 0.25, .slow = false},
                                        {.fixed_s = 2, .block_s = 0.5, .slow = true}};

TEST(Budget, ARunTakesTheSumOverCasesAndLaunches) {
  const ProtocolOptions o;  // 24 blocks, 6 in a slow case
  EXPECT_DOUBLE_EQ(LaunchSeconds(kCases[0], o), 7);
  EXPECT_DOUBLE_EQ(LaunchSeconds(kCases[1], o), 5);
  EXPECT_DOUBLE_EQ(RunSeconds(kCases, 12, o), 144);
}

TEST(Budget, WhatFitsIsLeftAlone) {
  const ProtocolOptions o;
  for (const double budget : {0.0, 144.0, 1000.0}) {
    const Schedule s = FitBudget(kCases, 12, 11, o, budget);
    EXPECT_EQ(s.launches, 12);
    EXPECT_EQ(s.protocol.blocks, o.blocks);
    EXPECT_TRUE(s.fits);
    EXPECT_THAT(s.note, IsEmpty());
  }
}

TEST(Budget, BlocksGoFirst) {
  const Schedule s = FitBudget(kCases, 12, 8, {}, 120);
  EXPECT_EQ(s.launches, 12);
  EXPECT_LT(s.protocol.blocks, 24);
  EXPECT_GE(s.protocol.blocks, 16);
  EXPECT_GE(s.protocol.slow_blocks, 3);
  EXPECT_LE(s.predicted_s, 120);
  EXPECT_DOUBLE_EQ(s.predicted_s, RunSeconds(kCases, 12, s.protocol));
  EXPECT_THAT(s.note, HasSubstr("instead of 24"));
  // No more than needed: one block more would not fit.
  ProtocolOptions more = s.protocol;
  more.blocks += 1;
  EXPECT_GT(RunSeconds(kCases, 12, more), 120);
}

TEST(Budget, LaunchesGoNext) {
  // At 16 and 3 blocks a launch of both takes 8.5 s.
  const Schedule s = FitBudget(kCases, 12, 8, {}, 80);
  EXPECT_EQ(s.protocol.blocks, 16);
  EXPECT_EQ(s.protocol.slow_blocks, 3);
  EXPECT_EQ(s.launches, 9);
  EXPECT_TRUE(s.fits);
  EXPECT_DOUBLE_EQ(s.predicted_s, 76.5);
  EXPECT_THAT(s.note, HasSubstr("9 launches instead of 12"));
}

TEST(Budget, WhatCannotFitKeepsTheMinimumAndSaysSo) {
  const Schedule s = FitBudget(kCases, 12, 11, {}, 10);
  EXPECT_EQ(s.launches, 11);
  EXPECT_EQ(s.protocol.blocks, 16);
  EXPECT_FALSE(s.fits);
  EXPECT_DOUBLE_EQ(s.predicted_s, 93.5);
  EXPECT_THAT(s.note, AllOf(HasSubstr("its launches alone take about "), HasSubstr("--only")));
}

TEST(Budget, FewerLaunchesThanTheMinimumStayAsAsked) {
  EXPECT_EQ(FitBudget(kCases, 3, 11, {}, 1).launches, 3);
}

TEST(Budget, APilotGivesTheCostOfALaunch) {
  const PilotResult pilot{
      .calls = 10, .host_ns = {1e6, 3e6}, .setup_s = 0.5, .warmup_s = 0.25, .checks_s = 0.125};
  LaunchCost cost = CostOf(pilot, 0.1, {});
  EXPECT_DOUBLE_EQ(cost.fixed_s, 0.875);
  EXPECT_DOUBLE_EQ(cost.block_s, 0.08);
  EXPECT_FALSE(cost.slow);
  // What the process took beside counts too.
  EXPECT_DOUBLE_EQ(CostOf(pilot, 1.5, {}).fixed_s, 1.5);
  EXPECT_TRUE(
      CostOf({.calls = 1, .host_ns = {1e6, 21e6}, .setup_s = 0, .warmup_s = 0, .checks_s = 0}, 0, {}).slow);
}

TEST(Budget, TheRooflineEstimateGrowsWithTheCase) {
  const ProtocolOptions o;
  const LaunchCost small = RooflineCost({1e6, 1e6, 1}, 6, {}, o);
  const LaunchCost large = RooflineCost({1e9, 1e6, 1}, 6, {}, o);
  EXPECT_FALSE(small.slow);
  EXPECT_TRUE(large.slow);  // 0.1 s at the bound
  EXPECT_GT(large.block_s, small.block_s);
  // An epoch of the fastest arm is at least 2 ms, so no block is shorter than 2 * arms * 2 ms.
  EXPECT_GE(small.block_s, 2 * 6 * 2e-3);
  EXPECT_GT(RooflineCost({1, 1e12, 1}, 6, {}, o).block_s, 2 * 6 * 1.0);
}

TEST(Budget, TheRooflineEstimateCountsLeastWarmUps) {
  ProtocolOptions o;
  const CaseFacts large{1e9, 1e6, 1};  // 0.1 s a call at the bound, 0.4 s of one of six arms
  const double settling_s = RooflineCost(large, 6, {}, o).fixed_s;
  o.least_warmups = 16;
  const LaunchCost cost = RooflineCost(large, 6, {}, o);
  EXPECT_DOUBLE_EQ(cost.fixed_s, 0.5 + 16 * 6 * 0.4);
  EXPECT_LT(settling_s, cost.fixed_s);
}

TEST(ParseDuration, ReadsWhatPeopleWrite) {
  EXPECT_EQ(ParseDuration("300", "--budget"), 300);
  EXPECT_EQ(ParseDuration("90s", "--budget"), 90);
  EXPECT_EQ(ParseDuration("5m", "--budget"), 300);
  EXPECT_EQ(ParseDuration("1.5h", "--budget"), 5400);
  EXPECT_EQ(ParseDuration("1h30m", "--budget"), 5400);
  EXPECT_EQ(ParseDuration("1h1m1s", "--budget"), 3661);
}

TEST(ParseDuration, RefusesTheRest) {
  for (const char* text :
       {"", "m", "5x", "-5m", "5m5", "5m1h", "1h30", "nan", "inf", "0", "5 m", "1e9", "99999999h"}) {
    EXPECT_THROW(ParseDuration(text, "--budget"), Error) << text;
  }
}

TEST(ParseShare, ReadsSharesAndPercent) {
  EXPECT_DOUBLE_EQ(ParseShare("1%", "--delta"), 0.01);
  EXPECT_DOUBLE_EQ(ParseShare("0.5%", "--delta"), 0.005);
  EXPECT_DOUBLE_EQ(ParseShare("0.02", "--delta"), 0.02);
  for (const char* text : {"", "%", "0", "1", "100%", "-1%", "1 %", "1%%", "nan", "x"}) {
    EXPECT_THROW(ParseShare(text, "--delta"), Error) << text;
  }
}

TEST(DurationText, IsShort) {
  EXPECT_EQ(DurationText(41.4), "41 s");
  EXPECT_EQ(DurationText(221), "3 m 41 s");
  EXPECT_EQ(DurationText(7500), "2 h 5 m");
  EXPECT_EQ(DurationText(-3), "0 s");
}

}  // namespace
}  // namespace pagoda::judge

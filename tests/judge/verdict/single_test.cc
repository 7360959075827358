#include "judge/verdict/single.h"

#include <gtest/gtest.h>

#include "judge/verdict/overall.h"
#include "judge/verdict/run_builder.h"

namespace pagoda::judge {
namespace {

// The run that was never asked anything else gives the same numbers, and no adjustment.
TEST(OnlyContrast, IsTheRunOfTheseTwoAlone) {
  RunBuilder builder({"base", "same", "slow"}, 2);
  builder.Effect("slow", 0.02);
  builder.manifest().sweeps = {{"s*", "context", {{"c0", 1}, {"c1", 2}}}};
  const Records records = builder.Build();
  const RunVerdict whole = Judge(builder.manifest(), records);
  const SingleRun single = OnlyContrast(builder.manifest(), records, "c1", "slow");
  EXPECT_EQ(single.manifest.variants, (std::vector<std::string>{"base", "slow"}));
  ASSERT_EQ(single.manifest.cases.size(), 1U);
  const RunVerdict alone = Judge(single.manifest, single.records);
  ASSERT_EQ(alone.contrasts.size(), 1U);
  const Outcome& outcome = alone.contrasts[0].cases.at(0).device;
  const Outcome& among_others = whole.contrasts.at(1).cases.at(1).device;
  EXPECT_EQ(outcome.theta_typical.value, among_others.theta_typical.value);
  EXPECT_EQ(outcome.launches_used, builder.manifest().launches);
  EXPECT_EQ(outcome.p_adjusted, outcome.p);
  EXPECT_EQ(outcome.verdict, Verdict::kLoss);
}

TEST(OnlyContrast, WhatOthersDidWrongIsNotInIt) {
  RunBuilder builder({"base", "good", "bad"}, 1);
  Records records = builder.Build();
  LaunchRecord& wrong = records.launches[0];
  wrong.status = LaunchStatus::kGateFailed;
  wrong.culprit = "bad";
  wrong.reason = "wrong";
  wrong.checks[2].passed = false;
  LaunchRecord crashed = records.launches[1];
  crashed.attempt = 1;
  crashed.arms.clear();
  crashed.checks.clear();
  crashed.status = LaunchStatus::kCrashed;
  crashed.culprit = "bad";
  records.launches.push_back(crashed);
  const SingleRun good = OnlyContrast(builder.manifest(), records, "c0", "good");
  EXPECT_EQ(good.records.launches.size(), static_cast<size_t>(builder.manifest().launches));
  EXPECT_EQ(Judge(good.manifest, good.records).contrasts.at(0).cases.at(0).device.verdict, Verdict::kTie);
  const SingleRun bad = OnlyContrast(builder.manifest(), records, "c0", "bad");
  EXPECT_EQ(Judge(bad.manifest, bad.records).contrasts.at(0).cases.at(0).device.verdict, Verdict::kInvalid);
}

}  // namespace
}  // namespace pagoda::judge

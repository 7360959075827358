#include "judge/verdict/contrast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "judge/stats/holm.h"
#include "judge/stats/power.h"
#include "judge/verdict/run_builder.h"

namespace pagoda::judge {
namespace {

using testing::HasSubstr;

struct JudgedRun {
  JudgedRun(const Manifest& m, Records r)
      : manifest(m), records(std::move(r)), sorted(SortRecords(manifest, records)) {}
  Contrast Build(const std::string& variant, const std::string& baseline) const {
    return PairTable(manifest, sorted, Statistic::kTypical).Build(variant, baseline);
  }
  Manifest manifest;
  Records records;
  std::vector<CaseRecords> sorted;
};

Contrast BOverA(RunBuilder& builder) {
  return JudgedRun(builder.manifest(), builder.Build()).Build("b", "a");
}

TEST(Contrast, CountsTheVerdictsOfEachClock) {
  RunBuilder builder({"a", "b"}, 4);
  builder.Effect("b", -0.05, 0).Effect("b", 0.05, 1).HostEffect("b", 0, 0);
  const Contrast contrast = BOverA(builder);
  EXPECT_EQ(contrast.cases[0].device.verdict, Verdict::kWin);
  EXPECT_EQ(contrast.cases[1].device.verdict, Verdict::kLoss);
  EXPECT_EQ(contrast.cases[2].device.verdict, Verdict::kTie);
  EXPECT_EQ(contrast.counts.win, 1);
  EXPECT_EQ(contrast.counts.loss, 1);
  EXPECT_EQ(contrast.counts.tie, 2);
  EXPECT_EQ(contrast.counts_host.win, 0);
  EXPECT_EQ(contrast.counts_host.tie, 3);
  EXPECT_TRUE(contrast.cases[0].host_differs);
  EXPECT_FALSE(contrast.cases[1].host_differs);
}

TEST(Contrast, OverallIsTheWeightedGeometricMeanWithItsInterval) {
  RunBuilder builder({"a", "b"}, 2);
  builder.manifest().cases[0].weight = 3;
  const Contrast contrast = BOverA(builder.Effect("b", -0.08, 0).Effect("b", -0.04, 1));
  EXPECT_NEAR(contrast.overall.theta.value, -0.07, 0.003);
  EXPECT_EQ(contrast.overall.verdict, Verdict::kWin);
  EXPECT_LT(contrast.overall.speedup.low, std::exp(0.07));
  EXPECT_GT(contrast.overall.speedup.high, std::exp(0.07));
  // Two cases' noise averages out.
  EXPECT_LT(contrast.overall.sigma, contrast.cases[0].device.sigma);
}

TEST(Contrast, LossAnywhereTurnsAWinIntoMixed) {
  RunBuilder builder({"a", "b"}, 3);
  const Contrast contrast = BOverA(builder.Effect("b", -0.2).Effect("b", 0.05, 1));
  EXPECT_EQ(contrast.overall.verdict, Verdict::kMixed);
  EXPECT_THAT(contrast.overall.why, HasSubstr("LOSS on c1"));
  EXPECT_LT(contrast.overall.theta.high, 0);
}

TEST(Contrast, WinAnywhereTurnsALossIntoMixed) {
  RunBuilder builder({"a", "b"}, 3);
  EXPECT_EQ(BOverA(builder.Effect("b", 0.2).Effect("b", -0.05, 1)).overall.verdict, Verdict::kMixed);
}

TEST(Contrast, TieThatHidesAWinAndALossIsMixed) {
  RunBuilder builder({"a", "b"}, 2);
  builder.Spread(0.001).Effect("b", -0.2, 0).Effect("b", 0.2, 1);
  const Contrast contrast = BOverA(builder);
  EXPECT_LT(std::abs(contrast.overall.theta.value), 0.01);
  EXPECT_EQ(contrast.overall.verdict, Verdict::kMixed);
}

TEST(Contrast, WinOfSomeCasesAndTiesElsewhereStaysAWin) {
  RunBuilder builder({"a", "b"}, 3);
  EXPECT_EQ(BOverA(builder.Effect("b", -0.2, 0)).overall.verdict, Verdict::kWin);
}

TEST(Contrast, InvalidCaseLeavesNothingBetterThanInconclusive) {
  RunBuilder builder({"a", "b"}, 3);
  Records records = builder.Effect("b", -0.2).Build();
  records.gates[1].passed = false;  // b on c0
  records.gates[1].fault = "row 7 is off by 0.3";
  const Contrast contrast = JudgedRun(builder.manifest(), records).Build("b", "a");
  EXPECT_EQ(contrast.cases[0].device.verdict, Verdict::kInvalid);
  EXPECT_EQ(contrast.cases[0].host.verdict, Verdict::kInvalid);
  EXPECT_EQ(contrast.cases[0].device.reason, Reason::kGateFailed);
  EXPECT_THAT(contrast.cases[0].device.why, HasSubstr("row 7"));
  EXPECT_EQ(contrast.cases[1].device.verdict, Verdict::kWin);
  EXPECT_EQ(contrast.counts.invalid, 1);
  EXPECT_EQ(contrast.overall.verdict, Verdict::kInconclusive);
  EXPECT_EQ(contrast.overall.reason, Reason::kInvalidCase);
  // The others' numbers are still there.
  EXPECT_NEAR(contrast.overall.theta.value, -0.2, 0.01);
}

TEST(Contrast, AllCasesInvalidIsInvalid) {
  RunBuilder builder({"a", "b"}, 2);
  Records records = builder.Build();
  records.gates[1].passed = records.gates[3].passed = false;
  EXPECT_EQ(JudgedRun(builder.manifest(), records).Build("b", "a").overall.verdict, Verdict::kInvalid);
}

TEST(Contrast, SkippedCaseIsListedAndLeavesNothingBetterThanInconclusive) {
  RunBuilder builder({"a", "b"}, 2);
  builder.manifest().unsupported = {{"c1", "b", "head_dim 100 is not a multiple of 8"}};
  const Contrast contrast = BOverA(builder.Effect("b", -0.2));
  ASSERT_EQ(contrast.cases.size(), 2u);
  EXPECT_EQ(contrast.cases[1].device.reason, Reason::kUnsupported);
  EXPECT_EQ(contrast.counts.missing, 1);
  EXPECT_EQ(contrast.counts.inconclusive, 1);
  EXPECT_EQ(contrast.overall.verdict, Verdict::kInconclusive);
  EXPECT_EQ(contrast.overall.reason, Reason::kMissingCase);
  EXPECT_THAT(contrast.overall.why, HasSubstr("c1"));
}

TEST(Contrast, CaseWithoutLaunchesIsMissing) {
  RunBuilder builder({"a", "b"}, 2);
  Records records = builder.Effect("b", -0.2).Build();
  records.launches.erase(records.launches.begin(), records.launches.begin() + 12);
  const Contrast contrast = JudgedRun(builder.manifest(), records).Build("b", "a");
  EXPECT_EQ(contrast.cases[0].device.reason, Reason::kMissing);
  EXPECT_EQ(contrast.overall.reason, Reason::kMissingCase);
}

TEST(Contrast, NothingIsJudgedThatWasNeverProvenRight) {
  RunBuilder builder({"a", "b"}, 1);
  Records records = builder.Effect("b", -0.2).Build();
  records.gates.clear();
  EXPECT_EQ(JudgedRun(builder.manifest(), records).Build("b", "a").cases[0].device.verdict, Verdict::kWin)
      << "the checks of timed outputs are proof";
  for (LaunchRecord& launch : records.launches) launch.checks.clear();
  EXPECT_EQ(JudgedRun(builder.manifest(), records).Build("b", "a").cases[0].device.reason, Reason::kNotGated);
}

TEST(Contrast, HangOfAThirdVariantLeavesTheOthersTheirVerdict) {
  RunBuilder builder({"a", "b", "c"}, 1);
  Records records = builder.Effect("b", -0.2).Build();
  records.launches[2].status = LaunchStatus::kHung;
  records.launches[2].culprit = "c";
  records.launches[2].arms.clear();
  const JudgedRun run(builder.manifest(), records);
  EXPECT_EQ(run.Build("b", "a").cases[0].device.verdict, Verdict::kWin);
  EXPECT_EQ(run.Build("b", "a").cases[0].device.launches_used, 11);
  EXPECT_EQ(run.Build("c", "a").cases[0].device.verdict, Verdict::kInvalid);
  EXPECT_EQ(run.Build("c", "b").cases[0].device.reason, Reason::kHung);
}

TEST(Contrast, PIsHolmAdjustedOverCasesTimesContrasts) {
  RunBuilder builder({"a", "b", "c"}, 3);
  builder.Spread(0.01).Effect("b", -0.008).Effect("c", -0.004);
  const JudgedRun run(builder.manifest(), builder.Build());
  const Contrast b = run.Build("b", "a");
  const Contrast c = run.Build("c", "a");
  std::vector<double> p;
  std::vector<double> adjusted;
  for (const Contrast* contrast : {&b, &c}) {
    for (const CaseVerdict& verdict : contrast->cases) {
      p.push_back(verdict.device.p);
      adjusted.push_back(verdict.device.p_adjusted);
    }
  }
  EXPECT_EQ(adjusted, HolmAdjust(p, 6));
  EXPECT_EQ(b.overall.p_adjusted, HolmAdjust(std::vector<double>{b.overall.p, c.overall.p}, 2)[0]);
  // Its own family of one pair and three cases.
  const Contrast pair = run.Build("b", "c");
  std::vector<double> pair_p;
  for (const CaseVerdict& verdict : pair.cases) pair_p.push_back(verdict.device.p);
  EXPECT_EQ(pair.cases[0].device.p_adjusted, HolmAdjust(pair_p, 3)[0]);
}

TEST(Contrast, SkippedCasesStillCountInTheFamily) {
  RunBuilder builder({"a", "b"}, 4);
  builder.manifest().unsupported = {{"c1", "b", "why"}, {"c2", "b", "why"}, {"c3", "b", "why"}};
  const Contrast contrast = BOverA(builder.Effect("b", -0.2));
  EXPECT_DOUBLE_EQ(contrast.cases[0].device.p_adjusted, 4 * contrast.cases[0].device.p);
}

TEST(Contrast, SmallestVisibleEffectIsThatOfItsFamily) {
  RunBuilder builder({"a", "b", "c", "d", "e"}, 2);
  builder.Spread(0.02);
  const JudgedRun run(builder.manifest(), builder.Build());
  const auto expect = [](const Outcome& outcome, int pairs) {
    const double effect =
        MinimumDetectableEffect(outcome.sigma, 12, outcome.delta_star, AdjustedAlpha(2, pairs));
    EXPECT_NEAR(outcome.mde, std::expm1(effect), 1e-12);
  };
  expect(run.Build("b", "a").cases[0].device, 4);  // contrasts with the baseline
  expect(run.Build("b", "c").cases[0].device, 6);  // pairs of the other four
}

TEST(Contrast, PValuesOfInvalidCasesTakeNoPlaceInTheFamily) {
  RunBuilder builder({"a", "b"}, 2);
  Records records = builder.Spread(0.01).Effect("b", -0.2, 0).Effect("b", -0.004, 1).Build();
  records.gates[1].passed = false;  // b on c0
  const Contrast contrast = JudgedRun(builder.manifest(), records).Build("b", "a");
  ASSERT_LT(contrast.cases[0].device.p, contrast.cases[1].device.p);
  EXPECT_DOUBLE_EQ(contrast.cases[1].device.p_adjusted, std::min(1.0, 2 * contrast.cases[1].device.p));
}

TEST(Contrast, SwappedLabelsGiveTheMirroredVerdict) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    RunBuilder builder({"a", "b"}, 3);
    builder.Seed(seed).Spread(0.002 + 0.02 * random.Uniform());
    for (int c = 0; c < 3; ++c) builder.Effect("b", 0.06 * (random.Uniform() - 0.5), c);
    const JudgedRun run(builder.manifest(), builder.Build());
    const Contrast there = run.Build("b", "a");
    const Contrast back = run.Build("a", "b");
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(back.cases[c].device.verdict, Mirrored(there.cases[c].device.verdict));
      EXPECT_EQ(back.cases[c].device.reason, there.cases[c].device.reason);
      EXPECT_EQ(back.cases[c].device.strong, there.cases[c].device.strong);
      EXPECT_EQ(back.cases[c].device.theta.value, -there.cases[c].device.theta.value);
    }
    EXPECT_EQ(back.overall.verdict, Mirrored(there.overall.verdict));
    EXPECT_EQ(back.overall.theta.low, -there.overall.theta.high);
    EXPECT_EQ(back.counts.win, there.counts.loss);
  }
}

TEST(ChooseStatistic, TakesTheOneWhoseNullArmSpreadsLess) {
  RunBuilder builder({"a", "b"}, 2);
  Records records = builder.Spread(0.004).Effect("b", -0.05).Build();
  // One pass in ten of the null arm is fast by a different amount in each launch: that moves the floor alone.
  Records noisy_floor = records;
  for (LaunchRecord& launch : noisy_floor.launches) {
    for (size_t pass = 0; pass < 2; ++pass) launch.arms.back().device_ns[pass] *= 0.5 + 0.03 * launch.launch;
  }
  const StatisticChoice typical =
      ChooseStatistic(builder.manifest(), SortRecords(builder.manifest(), noisy_floor));
  EXPECT_EQ(typical.statistic, Statistic::kTypical);
  EXPECT_LT(typical.spread_typical, typical.spread_floor);
  // Most passes slow by a different amount in each launch: that moves the median alone.
  Records noisy_median = records;
  for (LaunchRecord& launch : noisy_median.launches) {
    for (size_t pass = 2; pass < 8; ++pass) launch.arms.back().device_ns[pass] *= 1.1 + 0.03 * launch.launch;
  }
  const StatisticChoice floor =
      ChooseStatistic(builder.manifest(), SortRecords(builder.manifest(), noisy_median));
  EXPECT_EQ(floor.statistic, Statistic::kFloor);
}

TEST(ChooseStatistic, LooksAtNoContrast) {
  RunBuilder builder({"a", "b"}, 2);
  Records records = builder.Build();
  const StatisticChoice before =
      ChooseStatistic(builder.manifest(), SortRecords(builder.manifest(), records));
  for (LaunchRecord& launch : records.launches) {
    for (double& x : launch.arms[1].device_ns) x *= 1 + launch.launch;
  }
  const StatisticChoice after = ChooseStatistic(builder.manifest(), SortRecords(builder.manifest(), records));
  EXPECT_EQ(before.spread_typical, after.spread_typical);
  EXPECT_EQ(before.spread_floor, after.spread_floor);
}

TEST(ChooseStatistic, IsTypicalWithoutANullArm) {
  RunBuilder builder({"a", "b"}, 1);
  EXPECT_EQ(ChooseStatistic(builder.manifest(), SortRecords(builder.manifest(), {})).statistic,
            Statistic::kTypical);
}

}  // namespace
}  // namespace pagoda::judge

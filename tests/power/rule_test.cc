// The shipped rule, Measure and Decide, on simulated launch values: how often it is wrong, and what it can
// see. A spread is the standard deviation of a contrast's launch values; the null arm has the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "judge/stats/power.h"
#include "judge/verdict/case.h"
#include "power/noise.h"

namespace pagoda::judge {
namespace {

constexpr int kRuns = 10000;
constexpr uint64_t kSeed = 2026;

struct Point {
  Noise noise = Noise::kNormal;
  double spread = 0.01;
  int launches = 12;
  double slowdown = 0;  // of the variant: theta = ln(1 + slowdown)
  int family = 1;  // contrasts that share the level; the others see nothing, which is the worst for this one
};

struct Rates {
  double win = 0, loss = 0, tie = 0, bimodal = 0;
};

ContrastSample Simulate(const Point& point, Random& random) {
  ContrastSample sample;
  const double theta = std::log1p(point.slowdown);
  for (int i = 0; i < point.launches; ++i) {
    sample.typical.push_back(theta + point.spread * Draw(point.noise, random));
    sample.floor.push_back(theta + point.spread * Draw(point.noise, random));
    sample.null_typical.push_back(point.spread * Draw(point.noise, random));
    sample.null_floor.push_back(point.spread * Draw(point.noise, random));
  }
  return sample;
}

Rates RatesAt(const Point& point) {
  Random random(kSeed);
  RuleInput input;
  input.planned = point.launches;
  input.alpha = AdjustedAlpha(point.family, 1);
  Rates rates;
  for (int run = 0; run < kRuns; ++run) {
    Outcome outcome = Measure(Simulate(point, random), input);
    outcome.p_adjusted = std::min(1.0, outcome.p * point.family);
    Decide(outcome, input);
    rates.win += outcome.verdict == Verdict::kWin ? 1.0 / kRuns : 0;
    rates.loss += outcome.verdict == Verdict::kLoss ? 1.0 / kRuns : 0;
    rates.tie += outcome.verdict == Verdict::kTie ? 1.0 / kRuns : 0;
    rates.bimodal += outcome.reason == Reason::kBimodal ? 1.0 / kRuns : 0;
  }
  return rates;
}

testing::Message Show(const Point& point, const Rates& rates) {
  return testing::Message() << NameOf(point.noise) << ", spread " << point.spread << ", " << point.launches
                            << " launches, slowdown " << point.slowdown << ", family of " << point.family
                            << ": WIN " << rates.win << ", LOSS " << rates.loss << ", TIE " << rates.tie
                            << ", bimodal " << rates.bimodal << " (seed " << kSeed << ")";
}

class RuleUnder : public testing::TestWithParam<Noise> {};

TEST_P(RuleUnder, CallsIdenticalCodeDifferentInAtMostTwoPercent) {
  double worst = 0;
  for (const double spread : {0.002, 0.008, 0.02, 0.05}) {
    for (const int launches : {10, 12, 16, 24}) {
      const Point point{.noise = GetParam(), .spread = spread, .launches = launches};
      const Rates rates = RatesAt(point);
      EXPECT_LE(rates.win + rates.loss, 0.02) << Show(point, rates);
      worst = std::max(worst, rates.win + rates.loss);
    }
  }
  RecordProperty("worst_false_rate", std::to_string(worst));
}

TEST_P(RuleUnder, SeesTwiceDeltaAtThePlannedLaunches) {
  for (const double spread : {0.002, 0.005, 0.008, 0.01}) {
    for (const double slowdown : {0.02, -0.02}) {
      const Point point{.noise = GetParam(),
                        .spread = spread,
                        .launches = LaunchesFor(spread, std::log(1.02), std::log(1.01), AdjustedAlpha(1, 1)),
                        .slowdown = slowdown};
      const Rates rates = RatesAt(point);
      EXPECT_GE(slowdown > 0 ? rates.loss : rates.win, 0.95) << Show(point, rates);
      EXPECT_EQ(slowdown > 0 ? rates.win : rates.loss, 0) << Show(point, rates);
    }
  }
}

// Even where the noise is far larger than the effect.
TEST_P(RuleUnder, NeverHasTheWrongSign) {
  for (const double spread : {0.01, 0.02, 0.05}) {
    for (const int launches : {10, 24}) {
      const Point point{.noise = GetParam(), .spread = spread, .launches = launches, .slowdown = 0.02};
      const Rates rates = RatesAt(point);
      // "Never" up to what the tail of the noise itself allows: at 5% the effect is a tenth of a launch's
      // scatter in the mean of ten, and one run in a thousand scatters past it.
      EXPECT_LE(rates.win, spread > 0.02 ? 0.002 : 0.0002) << Show(point, rates);
    }
  }
}

TEST_P(RuleUnder, CallsIdenticalCodeATieAtTheDefaultLaunches) {
  const Point point{.noise = GetParam(), .spread = 0.008, .launches = 12};
  const Rates rates = RatesAt(point);
  EXPECT_GE(rates.tie, 0.94) << Show(point, rates);
}

INSTANTIATE_TEST_SUITE_P(AnyNoise, RuleUnder,
                         testing::Values(Noise::kNormal, Noise::kHeavyTails, Noise::kTwoModes,
                                         Noise::kTwoBlurs),
                         [](const auto& info) { return NameOf(info.param); });

TEST(Rule, SeesTwoPercentAtASpreadOfTwoPercentOnlyWithTwentyFourLaunches) {
  Point point{.spread = 0.02, .launches = 24, .slowdown = -0.02};
  Rates rates = RatesAt(point);
  EXPECT_NEAR(rates.win, 0.93, 0.02) << Show(point, rates);
  point.launches = 12;
  rates = RatesAt(point);
  EXPECT_LT(rates.win, 0.7) << Show(point, rates);
  EXPECT_EQ(rates.loss, 0) << Show(point, rates);
}

TEST(Rule, LaunchesInTwoModesThatDisagreeAreCalledSo) {
  const Point point{.noise = Noise::kTwoModes, .spread = 0.02, .launches = 24};
  const Rates rates = RatesAt(point);
  EXPECT_GE(rates.bimodal, 0.9) << Show(point, rates);
}

// The level is shared, so the launches must grow with the family; in the worst case only one contrast has an
// effect.
TEST(Rule, SeesTwiceDeltaInLargeFamiliesAtThePlannedLaunches) {
  for (const int family : {10, 40, 100, 500}) {
    const Point point{.spread = 0.01,
                      .launches = PlannedLaunches(AdjustedAlpha(family, 1)),
                      .slowdown = -0.02,
                      .family = family};
    const Rates rates = RatesAt(point);
    EXPECT_GE(rates.win, 0.95) << Show(point, rates);
  }
}

}  // namespace
}  // namespace pagoda::judge

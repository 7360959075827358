// Two runs of the same code through CompareRuns, and of code that changed: how often the verdicts are wrong,
// and what they see (docs/decisions/0008).
#include "judge/verdict/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>

#include "judge/verdict/run_builder.h"
#include "power/noise.h"

namespace pagoda::judge {
namespace {

constexpr int kPairs = 2000;
constexpr uint64_t kSeed = 2026;

struct Point {
  Noise noise = Noise::kNormal;
  double spread = 0.008, later_spread = 0.008;  // of the launch values in either run
  int launches = 12, later_launches = 12;
  double slowdown = 0;  // of the variant in the later run
};

struct Rates {
  double win = 0, loss = 0, tie = 0;
  double false_by_larger_null = 0;  // WIN or LOSS were nu only the larger of both runs' null arms
};

ContrastSample Simulate(Noise noise, double spread, int launches, double theta, Random& random) {
  ContrastSample sample;
  for (int i = 0; i < launches; ++i) {
    sample.typical.push_back(theta + spread * Draw(noise, random));
    sample.floor.push_back(theta + spread * Draw(noise, random));
    sample.null_typical.push_back(spread * Draw(noise, random));
    sample.null_floor.push_back(spread * Draw(noise, random));
  }
  return sample;
}

bool IsDecided(const Outcome& outcome) {
  return outcome.verdict == Verdict::kWin || outcome.verdict == Verdict::kLoss;
}

// The same outcome by the rule that was not taken.
Outcome ByLargerNull(Outcome outcome, const ContrastSample& before, const ContrastSample& after,
                     const RuleInput& input) {
  outcome.nu = 0;
  for (const auto* sample : {&before, &after}) {
    const Estimate null = HodgesLehmannInterval(sample->null_typical, 0.95);
    outcome.nu = std::max({outcome.nu, std::abs(null.low), std::abs(null.high)});
  }
  outcome.delta_star = std::max(outcome.delta, outcome.nu);
  Decide(outcome, input);
  return outcome;
}

Rates RatesAt(const Point& point) {
  Random random(kSeed);
  const RuleInput input{.planned = point.launches, .two_runs = true};
  Rates rates;
  const double part = 1.0 / kPairs;
  for (int pair = 0; pair < kPairs; ++pair) {
    const ContrastSample before = Simulate(point.noise, point.spread, point.launches, 0.1, random);
    const ContrastSample after = Simulate(point.noise, point.later_spread, point.later_launches,
                                          0.1 + std::log1p(point.slowdown), random);
    Outcome outcome = MeasureChange(before, after, input);
    Decide(outcome, input);
    rates.win += outcome.verdict == Verdict::kWin ? part : 0;
    rates.loss += outcome.verdict == Verdict::kLoss ? part : 0;
    rates.tie += outcome.verdict == Verdict::kTie ? part : 0;
    rates.false_by_larger_null += IsDecided(ByLargerNull(outcome, before, after, input)) ? part : 0;
  }
  return rates;
}

testing::Message Show(const Point& point, const Rates& rates) {
  return testing::Message() << NameOf(point.noise) << ", spreads " << point.spread << " and "
                            << point.later_spread << ", launches " << point.launches << " and "
                            << point.later_launches << ", slowdown " << point.slowdown << ": WIN "
                            << rates.win << ", LOSS " << rates.loss << ", TIE " << rates.tie
                            << ", by the larger null arm " << rates.false_by_larger_null << " (seed " << kSeed
                            << ")";
}

class ChangeUnder : public testing::TestWithParam<Noise> {};

TEST_P(ChangeUnder, OfIdenticalRunsIsAVerdictInAtMostTwoPercent) {
  double worst = 0, worst_by_larger_null = 0;
  for (const double spread : {0.004, 0.02}) {
    for (const double times : {1, 3}) {
      for (const auto& [launches, later] : {std::pair{10, 10}, {12, 24}, {24, 12}}) {
        const Point point{.noise = GetParam(),
                          .spread = spread,
                          .later_spread = spread * times,
                          .launches = launches,
                          .later_launches = later};
        const Rates rates = RatesAt(point);
        EXPECT_LE(rates.win + rates.loss, 0.02) << Show(point, rates);
        worst = std::max(worst, rates.win + rates.loss);
        worst_by_larger_null = std::max(worst_by_larger_null, rates.false_by_larger_null);
      }
    }
  }
  std::cout << NameOf(GetParam()) << ": at most " << worst << " false; by the larger null arm alone "
            << worst_by_larger_null << '\n';
}

TEST_P(ChangeUnder, SeesThreePercentAndNeverTheWrongWay) {
  for (const double slowdown : {0.03, -0.03}) {
    const Point point{.noise = GetParam(), .slowdown = slowdown};
    const Rates rates = RatesAt(point);
    std::cout << Show(point, rates).GetString() << '\n';
    EXPECT_GE(slowdown > 0 ? rates.loss : rates.win, 0.95) << Show(point, rates);
    EXPECT_EQ(slowdown > 0 ? rates.win : rates.loss, 0) << Show(point, rates);
  }
}

INSTANTIATE_TEST_SUITE_P(AnyNoise, ChangeUnder,
                         testing::Values(Noise::kNormal, Noise::kHeavyTails, Noise::kTwoModes,
                                         Noise::kTwoBlurs),
                         [](const auto& info) { return NameOf(info.param); });

TEST(Change, OfTwoPercentIsSeenWithinHalfAPercentOfSpread) {
  const Point quiet{.spread = 0.005, .later_spread = 0.005, .slowdown = 0.02};
  const Rates rates = RatesAt(quiet);
  std::cout << Show(quiet, rates).GetString() << '\n';
  EXPECT_GE(rates.loss, 0.95) << Show(quiet, rates);
}

// Blocks, shared baselines, families and the overall verdict together.
TEST(Change, OfWholeIdenticalRunsIsAVerdictInAtMostTwoPercentOfThem) {
  constexpr int kRuns = 400;
  for (const double spread : {0.004, 0.02}) {
    int wrong = 0, wrong_overall = 0;
    for (uint64_t seed = 1; seed <= kRuns; ++seed) {
      RunBuilder before({"a", "b", "c"}, 4), after({"a", "b", "c"}, 4);
      before.Spread(spread).Seed(2 * seed).Effect("b", -0.1).manifest().time = "before";
      after.Spread(spread).Seed(2 * seed + 1).Effect("b", -0.1);
      const Records earlier = before.Build(), later = after.Build();
      const std::vector<ComparedRun> runs = {{"old", before.manifest(), earlier},
                                             {"new", after.manifest(), later}};
      bool any = false, any_overall = false;
      const std::vector<Comparison> comparisons = CompareRuns(runs);
      for (const Change& change : comparisons[0].changes) {
        any = any || change.change.counts.win + change.change.counts.loss > 0;
        any_overall = any_overall || IsDecided(change.change.overall);
      }
      wrong += any;
      wrong_overall += any_overall;
    }
    SCOPED_TRACE(testing::Message() << "spread " << spread << ", seeds 2.." << 2 * kRuns + 1);
    std::cout << "spread " << spread << ": " << wrong << " and overall " << wrong_overall << " of " << kRuns
              << " pairs of runs\n";
    EXPECT_LE(wrong, 0.02 * kRuns);
    EXPECT_LE(wrong_overall, 0.02 * kRuns);
  }
}

}  // namespace
}  // namespace pagoda::judge

#include "judge/verdict/case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "judge/stats/power.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

// Values at even steps, symmetric about `centre`, from centre - reach to centre + reach.
std::vector<double> Around(double centre, double reach, int launches = 12) {
  std::vector<double> values;
  for (int i = 0; i < launches; ++i) values.push_back(centre + reach * (2.0 * i / (launches - 1) - 1));
  return values;
}

struct Setting {
  double centre = 0, reach = 0.003;
  double null_centre = 0, null_reach = 0.002;
  int launches = 12;
};

ContrastSample SampleOf(const Setting& s) {
  ContrastSample sample;
  sample.typical = sample.floor = Around(s.centre, s.reach, s.launches);
  sample.null_typical = sample.null_floor = Around(s.null_centre, s.null_reach, s.launches);
  return sample;
}

RuleInput Planned(int launches = 12) {
  RuleInput input;
  input.planned = launches;
  return input;
}

Outcome Judged(const ContrastSample& sample, const RuleInput& input = Planned()) {
  Outcome outcome = Measure(sample, input);
  Decide(outcome, input);
  return outcome;
}

TEST(Measure, GivesTheNumbersOfTheSample) {
  const Outcome outcome = Measure(SampleOf({.centre = -0.05, .null_centre = 0.001}), Planned());
  EXPECT_NEAR(outcome.theta.value, -0.05, 1e-15);
  EXPECT_NEAR(outcome.speedup.value, std::exp(0.05), 1e-12);
  EXPECT_DOUBLE_EQ(outcome.speedup.low, std::exp(-outcome.theta.high));
  EXPECT_DOUBLE_EQ(outcome.speedup.high, std::exp(-outcome.theta.low));
  EXPECT_LT(outcome.theta.low, outcome.theta_tie.low);
  EXPECT_GT(outcome.theta.high, outcome.theta_tie.high);
  EXPECT_DOUBLE_EQ(outcome.p, std::ldexp(2.0, -12));
  EXPECT_NEAR(outcome.delta, std::log(1.01), 1e-15);
  EXPECT_NEAR(outcome.null.value, std::exp(-0.001), 1e-12);
  EXPECT_NEAR(outcome.nu, -std::log(outcome.null.low), 1e-15);
  EXPECT_EQ(outcome.delta_star, outcome.delta);
  EXPECT_NEAR(outcome.mde, std::expm1(MinimumDetectableEffect(outcome.sigma, 12, outcome.delta_star, 0.05)),
              1e-15);
  EXPECT_EQ(outcome.launches_used, 12);
}

TEST(Measure, TakesTheStatisticOfTheRunForBothArms) {
  ContrastSample sample = SampleOf({.centre = -0.05});
  sample.floor = Around(-0.02, 0.003);
  sample.null_floor = Around(0.03, 0.001);
  RuleInput input = Planned();
  input.statistic = Statistic::kFloor;
  const Outcome outcome = Measure(sample, input);
  EXPECT_NEAR(outcome.theta.value, -0.02, 1e-15);
  EXPECT_NEAR(outcome.null.value, std::exp(-0.03), 1e-12);
  EXPECT_NEAR(outcome.theta_typical.value, -0.05, 1e-15);
  EXPECT_NEAR(outcome.speedup_typical.value, std::exp(0.05), 1e-12);
}

TEST(Measure, RefusesVectorsThatDontFit) {
  ContrastSample sample = SampleOf({});
  sample.floor.pop_back();
  EXPECT_THROW(Measure(sample, Planned()), Error);
  sample = SampleOf({});
  sample.null_typical.pop_back();
  EXPECT_THROW(Measure(sample, Planned()), Error);
}

TEST(Rule, ClearEffectIsAStrongWin) {
  const Outcome outcome = Judged(SampleOf({.centre = -0.05}));
  EXPECT_EQ(outcome.verdict, Verdict::kWin);
  EXPECT_TRUE(outcome.strong);
  EXPECT_EQ(outcome.reason, Reason::kNone);
  EXPECT_EQ(outcome.why, "");
}

TEST(Rule, WinWhoseIntervalReachesIntoDeltaIsNotStrong) {
  const Outcome outcome = Judged(SampleOf({.centre = -0.012, .reach = 0.01}));
  EXPECT_EQ(outcome.verdict, Verdict::kWin);
  EXPECT_LT(outcome.theta.high, 0);
  EXPECT_FALSE(outcome.strong);
}

TEST(Rule, LossIsTheMirrorImage) {
  EXPECT_EQ(Judged(SampleOf({.centre = 0.05})).verdict, Verdict::kLoss);
  EXPECT_TRUE(Judged(SampleOf({.centre = 0.05})).strong);
  EXPECT_FALSE(Judged(SampleOf({.centre = 0.012, .reach = 0.01})).strong);
}

TEST(Rule, SignificantButBelowDeltaIsATie) {
  const Outcome outcome = Judged(SampleOf({.centre = -0.006, .reach = 0.004}));
  EXPECT_LT(outcome.theta.high, 0);
  EXPECT_EQ(outcome.verdict, Verdict::kTie);
}

TEST(Rule, TieIsDecidedByTheNinetyPercentInterval) {
  // The 95% interval passes delta, the 90% interval doesn't.
  Outcome outcome = Measure(SampleOf({}), Planned());
  outcome.theta = {0.004, -0.004, outcome.delta * 1.01};
  outcome.theta_tie = {0.004, -0.002, outcome.delta * 0.99};
  Decide(outcome, Planned());
  EXPECT_EQ(outcome.verdict, Verdict::kTie);
  outcome.theta_tie.high = outcome.delta;
  Decide(outcome, Planned());
  EXPECT_EQ(outcome.verdict, Verdict::kInconclusive);
}

TEST(Rule, WinNeedsTheAdjustedPBelowFivePercent) {
  Outcome outcome = Measure(SampleOf({.centre = -0.05}), Planned());
  outcome.p_adjusted = 0.05;
  Decide(outcome, Planned());
  EXPECT_EQ(outcome.verdict, Verdict::kInconclusive);
  outcome.p_adjusted = 0.0499;
  Decide(outcome, Planned());
  EXPECT_EQ(outcome.verdict, Verdict::kWin);
}

TEST(Rule, EffectNoLargerThanTheNullArmsIsNoWin) {
  const Outcome outcome = Judged(SampleOf({.centre = -0.015, .null_centre = 0.02}));
  EXPECT_GT(outcome.nu, 0.015);
  EXPECT_EQ(outcome.verdict, Verdict::kInconclusive);
  EXPECT_EQ(outcome.reason, Reason::kInsideNullBias);
  EXPECT_NE(outcome.next, "");
}

TEST(Rule, NullBiasDoesNotWidenATie) {
  EXPECT_NE(Judged(SampleOf({.centre = 0.015, .null_centre = 0.03})).verdict, Verdict::kTie);
}

TEST(Rule, NoiseIsUnderpoweredAndSaysHowManyLaunchesItTakes) {
  const Outcome outcome = Judged(SampleOf({.centre = -0.015, .reach = 0.05}));
  EXPECT_EQ(outcome.verdict, Verdict::kInconclusive);
  EXPECT_EQ(outcome.reason, Reason::kUnderpowered);
  EXPECT_GT(outcome.launches_needed, 12);
  EXPECT_THAT(outcome.next, HasSubstr(std::to_string(outcome.launches_needed)));
  EXPECT_LE(MinimumDetectableEffect(outcome.sigma, outcome.launches_needed, 0, 0.05), 0.015);
}

TEST(Rule, NoisyTieIsUnderpoweredUntilTheIntervalFitsIntoDelta) {
  const Outcome outcome = Judged(SampleOf({.centre = 0.001, .reach = 0.03}));
  EXPECT_EQ(outcome.reason, Reason::kUnderpowered);
  EXPECT_GT(outcome.launches_needed, 12);
  EXPECT_LT(outcome.launches_needed, 200);
}

TEST(Rule, EffectAtTheEdgeOfDeltaAsksForAnotherDelta) {
  const Outcome outcome = Judged(SampleOf({.centre = std::log(1.01) - 1e-5, .reach = 0.003}));
  EXPECT_EQ(outcome.reason, Reason::kUnderpowered);
  EXPECT_EQ(outcome.launches_needed, 0);
  EXPECT_THAT(outcome.next, HasSubstr("--delta"));
}

TEST(Rule, TooFewLaunchesForTheFamilySayHowManyItTakes) {
  RuleInput input = Planned(6);
  input.alpha = AdjustedAlpha(10, 4);
  Outcome outcome = Measure(SampleOf({.centre = -0.2, .launches = 6}), input);
  outcome.p_adjusted = 1;
  Decide(outcome, input);
  EXPECT_EQ(outcome.reason, Reason::kTooFewLaunches);
  EXPECT_THAT(outcome.why, HasSubstr("it takes 11"));
  EXPECT_EQ(outcome.launches_needed, PlannedLaunches(input.alpha));
  EXPECT_EQ(outcome.mde, kInf);
  EXPECT_THAT(outcome.next, HasSubstr("--launches"));
}

TEST(Rule, ARunThatStoppedEarlyIsToBeFinishedNotRepeated) {
  RuleInput input = Planned(12);
  input.alpha = AdjustedAlpha(10, 4);
  Outcome outcome =
      Measure({.typical = {-0.2}, .floor = {-0.2}, .null_typical = {0}, .null_floor = {0}}, input);
  outcome.p_adjusted = 1;
  Decide(outcome, input);
  EXPECT_THAT(outcome.why, testing::StartsWith("1 launch can't"));
  EXPECT_EQ(outcome.next, "Finish the run with --resume.");
  input.planned = 8;  // too few even when it is finished
  outcome.launches_planned = 8;
  Decide(outcome, input);
  EXPECT_THAT(outcome.next, HasSubstr("--launches"));
}

TEST(Rule, FiveLaunchesHaveNoIntervalAndNoVerdict) {
  const Outcome outcome = Judged(SampleOf({.centre = -0.2, .launches = 5}), Planned(5));
  EXPECT_EQ(outcome.theta.high, kInf);
  EXPECT_EQ(outcome.speedup.low, 0);
  EXPECT_EQ(outcome.reason, Reason::kTooFewLaunches);
}

TEST(Rule, NothingMeasuredIsMissing) {
  const Outcome outcome = Judged({});
  EXPECT_EQ(outcome.verdict, Verdict::kInconclusive);
  EXPECT_EQ(outcome.reason, Reason::kMissing);
  EXPECT_TRUE(std::isnan(outcome.speedup.value));
}

TEST(Rule, WithoutANullArmThereIsNoVerdict) {
  ContrastSample sample = SampleOf({.centre = -0.2});
  sample.null_typical.clear();
  sample.null_floor.clear();
  EXPECT_EQ(Judged(sample).reason, Reason::kNoNullArm);
}

TEST(Rule, LaunchesThatDisagreeAreBimodal) {
  ContrastSample sample = SampleOf({});
  for (size_t i = 0; i < 12; ++i)
    sample.typical[i] = (i % 2 == 0 ? -0.05 : 0.0) + 1e-4 * static_cast<double>(i);
  sample.floor = sample.typical;
  const Outcome outcome = Judged(sample);
  EXPECT_EQ(outcome.verdict, Verdict::kInconclusive);
  EXPECT_EQ(outcome.reason, Reason::kBimodal);
  EXPECT_THAT(outcome.why, HasSubstr("two groups"));
}

TEST(Rule, TwoModesThatAreBothFasterStillWin) {
  ContrastSample sample = SampleOf({});
  for (size_t i = 0; i < 12; ++i)
    sample.typical[i] = (i % 2 == 0 ? -0.05 : -0.03) + 1e-4 * static_cast<double>(i);
  sample.floor = sample.typical;
  const Outcome outcome = Judged(sample);
  EXPECT_TRUE(outcome.modes.has_value());
  EXPECT_EQ(outcome.verdict, Verdict::kWin);
}

TEST(Rule, ModeThatIsFasterByLessThanDeltaContradictsNoFasterMode) {
  ContrastSample sample = SampleOf({});
  for (size_t i = 0; i < 12; ++i) {
    sample.typical[i] = (i % 2 == 0 ? -0.04 : -0.008) + 1e-4 * static_cast<double>(i);
  }
  sample.floor = sample.typical;
  EXPECT_EQ(Judged(sample).verdict, Verdict::kWin);
  for (size_t i = 1; i < 12; i += 2) sample.typical[i] += 0.004;  // now less than half of delta
  EXPECT_EQ(Judged(sample).reason, Reason::kBimodal);
}

TEST(Rule, TwoModesInsideDeltaStillTie) {
  ContrastSample sample = SampleOf({});
  for (size_t i = 0; i < 12; ++i)
    sample.typical[i] = (i % 2 == 0 ? -0.006 : 0.006) + 1e-5 * static_cast<double>(i);
  sample.floor = sample.typical;
  EXPECT_EQ(Judged(sample).verdict, Verdict::kTie);
}

TEST(Rule, CoarseClockSettlesNothing) {
  RuleInput input = Planned();
  input.coarseness = 0.0011;
  EXPECT_EQ(Judged(SampleOf({.centre = -0.05}), input).reason, Reason::kClockTooCoarse);
  input.coarseness = 0.0009;
  EXPECT_EQ(Judged(SampleOf({.centre = -0.05}), input).verdict, Verdict::kWin);
}

TEST(Rule, TypicalAndFloorOfOppositeSignContradictOnlyWhenBothAreSignificant) {
  ContrastSample sample = SampleOf({.centre = -0.05});
  sample.floor = Around(0.02, 0.003);
  EXPECT_EQ(Judged(sample).reason, Reason::kStatisticsDisagree);
  sample.floor = Around(0.001, 0.02);
  EXPECT_EQ(Judged(sample).verdict, Verdict::kWin);
}

TEST(Rule, ManyLaunchesLeftOutContaminateTheRest) {
  RuleInput input = Planned();
  input.left_out = 5;
  EXPECT_EQ(Judged(SampleOf({.centre = -0.05, .launches = 7}), input).reason, Reason::kContaminated);
  input.left_out = 4;
  EXPECT_EQ(Judged(SampleOf({.centre = -0.05, .launches = 8}), input).verdict, Verdict::kWin);
  // Few enough, but what is left can't reach significance in its family.
  input.alpha = AdjustedAlpha(10, 4);
  EXPECT_EQ(Judged(SampleOf({.centre = -0.05, .launches = 8}), input).reason, Reason::kContaminated);
}

TEST(Rule, OfTooFewLaunchesItIsSaidHowManyItTakesThoughSomeWereContaminated) {
  RuleInput input = Planned();
  input.planned = 2;
  input.left_out = 1;
  Outcome outcome =
      Judged({.typical = {-0.05}, .floor = {-0.05}, .null_typical = {0}, .null_floor = {0}}, input);
  EXPECT_EQ(outcome.reason, Reason::kContaminated);
  EXPECT_THAT(outcome.why,
              HasSubstr("1 of 2 launches were left out because the machine was busy; even so many "
                        "clean ones can't reach significance after adjustment: it takes 6"));
  EXPECT_THAT(outcome.next, HasSubstr("and run again with --launches 12."));
  EXPECT_EQ(outcome.launches_needed, 12);
  input.planned = 5;  // one of five isn't many, and more would still be too few
  outcome = Judged(SampleOf({.centre = -0.05, .launches = 4}), input);
  EXPECT_EQ(outcome.reason, Reason::kTooFewLaunches);
  EXPECT_EQ(outcome.next, "Run again with --launches 12.");
}

TEST(Rule, FirstMatchDecides) {
  // Contaminated, bimodal, coarse clock, contradicting statistics, all at once and then one less each time.
  ContrastSample sample = SampleOf({});
  for (size_t i = 0; i < 12; ++i)
    sample.typical[i] = (i % 3 == 0 ? 0.0 : -0.05) - 1e-4 * static_cast<double>(i);
  sample.floor = Around(0.02, 0.003);
  RuleInput input = Planned();
  input.left_out = 6;
  input.coarseness = 0.01;
  EXPECT_EQ(Judged(sample, input).reason, Reason::kContaminated);
  input.left_out = 0;
  EXPECT_EQ(Judged(sample, input).reason, Reason::kBimodal);
  sample.typical = Around(-0.05, 0.003);
  EXPECT_EQ(Judged(sample, input).reason, Reason::kClockTooCoarse);
  input.coarseness = 0;
  EXPECT_EQ(Judged(sample, input).reason, Reason::kStatisticsDisagree);
  sample.floor = sample.typical;
  EXPECT_EQ(Judged(sample, input).verdict, Verdict::kWin);
}

TEST(Rule, EveryInconclusiveHasOneReasonAndTheNextAction) {
  const uint64_t seed = 20262;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  for (int run = 0; run < 500; ++run) {
    const double spread = 0.001 + 0.05 * random.Uniform();
    const double centre = 0.03 * (random.Uniform() - 0.5);
    ContrastSample sample;
    for (int i = 0; i < static_cast<int>(6 + random.Below(12)); ++i) {
      sample.typical.push_back(centre + spread * random.Normal());
      sample.floor.push_back(centre + spread * random.Normal());
      sample.null_typical.push_back(spread * random.Normal());
      sample.null_floor.push_back(spread * random.Normal());
    }
    const Outcome outcome = Judged(sample);
    const bool settled = outcome.verdict != Verdict::kInconclusive;
    EXPECT_EQ(outcome.reason == Reason::kNone, settled);
    EXPECT_EQ(outcome.why.empty(), settled);
    EXPECT_EQ(outcome.next.empty(), settled);
  }
}

RC_GTEST_PROP(Rule, SwappedLabelsGiveTheMirroredVerdict, ()) {
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  Random random(seed);
  const double spread = std::exp(-7 + 5 * random.Uniform());
  const double centre = spread * 4 * (random.Uniform() - 0.5);
  ContrastSample sample;
  for (int i = 0; i < static_cast<int>(5 + random.Below(20)); ++i) {
    const double mode = random.Chance(0.5) ? spread : 0;
    sample.typical.push_back(centre + mode + 0.2 * spread * random.Normal());
    sample.floor.push_back(centre + spread * random.Normal());
    sample.null_typical.push_back(spread * random.Normal());
    sample.null_floor.push_back(spread * random.Normal());
  }
  ContrastSample mirror = sample;
  for (double& x : mirror.typical) x = -x;
  for (double& x : mirror.floor) x = -x;
  const Outcome a = Judged(sample);
  const Outcome b = Judged(mirror);
  RC_ASSERT(b.verdict == Mirrored(a.verdict));
  RC_ASSERT(b.strong == a.strong);
  RC_ASSERT(b.reason == a.reason);
  RC_ASSERT(b.launches_needed == a.launches_needed);
  RC_ASSERT(b.theta.low == -a.theta.high);
}

TEST(Names, AreThoseOfTheReports) {
  EXPECT_EQ(NameOf(Verdict::kMixed), "MIXED");
  EXPECT_EQ(NameOf(Reason::kInsideNullBias), "inside_null_bias");
  EXPECT_EQ(NameOf(Reason::kNone), "");
  EXPECT_EQ(NameOf(Clock::kHost), "host");
  EXPECT_EQ(NameOf(Statistic::kFloor), "floor");
  EXPECT_EQ(Mirrored(Verdict::kLoss), Verdict::kWin);
  EXPECT_EQ(Mirrored(Verdict::kTie), Verdict::kTie);
}

}  // namespace
}  // namespace pagoda::judge

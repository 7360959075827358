#include "judge/verdict/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "judge/stats/power.h"
#include "judge/stats/two_samples.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

constexpr double kLevel = 0.95;
constexpr double kTieLevel = 0.90;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr Estimate kNothing{kNaN, kNaN, kNaN};

// Two clock readings bound an epoch, so this keeps their error at a fifth of delta or less.
constexpr double kCoarsestPartOfDelta = 0.1;
// Above it the launches that are left are no longer a fair part of the run.
constexpr double kMostLeftOut = 1.0 / 3;

Estimate AsRatio(const Estimate& theta) {
  return {std::exp(-theta.value), std::exp(-theta.high), std::exp(-theta.low)};
}

void RequireFit(const ContrastSample& sample) {
  const size_t used = sample.typical.size();
  const bool null_fits = sample.null_typical.empty() || sample.null_typical.size() == used;
  if (sample.floor.size() != used || sample.null_floor.size() != sample.null_typical.size() || !null_fits) {
    throw Error(
        ErrorCode::kInvalidArgument, "sample",
        fmt::format("has {} typical, {} floor, {} null typical and {} null floor values: one each per launch",
                    used, sample.floor.size(), sample.null_typical.size(), sample.null_floor.size()));
  }
}

std::string Percent(double theta) { return fmt::format("{:.2g}%", 100 * std::expm1(std::abs(theta))); }

std::string Times(const Estimate& ratio) {
  return fmt::format("{:.3f}x [{:.3f}, {:.3f}]", ratio.value, ratio.low, ratio.high);
}

std::string LaunchesText(int launches) {
  return launches == 1 ? "1 launch" : fmt::format("{} launches", launches);
}

std::string RunAgain(int launches, const RuleInput& input) {
  return fmt::format("Run {}again with --launches {}.", input.two_runs ? "both " : "", launches);
}

int LeastFor(const RuleInput& input) {
  return input.two_runs ? LeastLaunchesOfTwo(input.alpha) : LeastLaunches(input.alpha);
}

void Inconclude(Outcome& outcome, Reason reason, std::string why, std::string next) {
  Settle(outcome, Verdict::kInconclusive, reason, std::move(why), std::move(next));
}

// So many launches were left out that the rest says nothing, which a run of too few wouldn't have anyway.
bool Contaminated(const RuleInput& input, int used) {
  const bool lacking = used < LeastFor(input) && input.planned >= LeastFor(input);
  return input.left_out > 0 && (input.left_out > kMostLeftOut * input.planned || lacking);
}

void ExplainContamination(Outcome& outcome, const RuleInput& input) {
  std::string why = fmt::format("{} of {} were left out because the machine was busy", input.left_out,
                                LaunchesText(input.planned));
  std::string next = "Stop what else runs on the machine (`pagoda machine` lists it)";
  if (input.planned < LeastFor(input)) {
    outcome.launches_needed = PlannedLaunches(input.alpha);
    why += fmt::format("; even so many clean ones can't reach significance after adjustment: it takes {}",
                       LeastFor(input));
    next += fmt::format(" and run {}again with --launches {}.", input.two_runs ? "both " : "",
                        outcome.launches_needed);
  } else {
    next += " and run again.";
  }
  Inconclude(outcome, Reason::kContaminated, std::move(why), std::move(next));
}

// Two groups of launches matter where they tell different stories: one is past delta_star, and the other
// isn't even half of delta to the same side. A half and not the whole, so that two groups on either side of
// delta by a hair, both of them faster, still make a WIN.
bool ModesDisagree(const Outcome& outcome) {
  if (!outcome.modes) return false;
  const auto contradict = [&outcome](double past, double other) {
    return past >= outcome.delta_star && other < 0.5 * outcome.delta;
  };
  const double low = outcome.modes->low;
  const double high = outcome.modes->high;
  return contradict(high, low) || contradict(-low, -high);
}

// On code that is the same, the two estimates have opposite signs half of the time by chance alone: only
// signs that the intervals bear out contradict each other.
bool StatisticsDisagree(const Outcome& outcome) {
  const Estimate& a = outcome.theta_typical;
  const Estimate& b = outcome.theta_floor;
  return (a.high < 0 && b.low > 0) || (a.low > 0 && b.high < 0);
}

bool SettledBeforeTheEffect(Outcome& outcome, const RuleInput& input) {
  const int used = outcome.launches_used;
  if (Contaminated(input, used)) {
    ExplainContamination(outcome, input);
  } else if (used == 0) {
    Inconclude(outcome, Reason::kMissing, "there is no usable launch", "Finish the run with --resume.");
  } else if (!(outcome.nu >= 0)) {
    Inconclude(outcome, Reason::kNoNullArm,
               "no null arm was timed, so nothing says how far two copies of the same code lie apart",
               "Run again with the null arm.");
  } else if (ModesDisagree(outcome)) {
    const Modes& modes = *outcome.modes;
    Inconclude(
        outcome, Reason::kBimodal,
        fmt::format("launches fall into two groups: {:.3f}x in {} of them, {:.3f}x in {}",
                    std::exp(-modes.low), modes.low_count, std::exp(-modes.high), modes.high_count),
        "Find what changes between launches (placement, huge pages, frequency); more launches won't tell.");
  } else if (input.coarseness > kCoarsestPartOfDelta * input.delta) {
    Inconclude(outcome, Reason::kClockTooCoarse,
               fmt::format("one tick of the clock is {:.2g}% of an epoch", 100 * input.coarseness),
               "Use longer epochs or a larger case.");
  } else if (StatisticsDisagree(outcome)) {
    Inconclude(outcome, Reason::kStatisticsDisagree,
               fmt::format("the typical time says {}, the floor says {}", Times(outcome.speedup_typical),
                           Times(outcome.speedup_floor)),
               "Look at the samples: one variant has the better best case, the other the better usual case.");
  } else {
    return false;
  }
  return true;
}

// The launches after which the question would be settled, were the estimate and the spreads to stay as they
// are; 0 when no practical number is enough.
int LaunchesToSettle(const Outcome& outcome, double alpha) {
  const int more = outcome.launches_used + 1;
  const double effect = std::abs(outcome.theta.value);
  if (effect >= outcome.delta) {
    return LaunchesFor(std::max(outcome.sigma, outcome.null_sigma), effect, 0, alpha, more);
  }
  return LaunchesFor(outcome.sigma, outcome.delta - effect, 0, 1 - kTieLevel, more);
}

void ExplainNoVerdict(Outcome& outcome, const RuleInput& input) {
  const double effect = std::abs(outcome.theta.value);
  const bool significant = outcome.p_adjusted < kAlpha && (outcome.theta.high < 0 || outcome.theta.low > 0);
  const int least = LeastFor(input);
  if (outcome.launches_used < least) {
    const bool unfinished = outcome.launches_used + outcome.launches_left_out < outcome.launches_planned;
    outcome.launches_needed = PlannedLaunches(input.alpha);
    Inconclude(outcome, Reason::kTooFewLaunches,
               fmt::format("{} can't reach significance after adjustment, whatever the effect; it takes {}",
                           LaunchesText(outcome.launches_used), least),
               unfinished && outcome.launches_planned >= least ? "Finish the run with --resume."
                                                               : RunAgain(outcome.launches_needed, input));
    return;
  }
  if (significant && effect >= outcome.delta && effect < outcome.delta_star) {
    Inconclude(outcome, Reason::kInsideNullBias,
               fmt::format("the effect of {} is no larger than what two copies of the same code show ({})",
                           Percent(effect), Percent(outcome.nu)),
               "Take it as no difference, or narrow the null arm with more launches on a quieter machine.");
    return;
  }
  outcome.launches_needed = LaunchesToSettle(outcome, input.alpha);
  std::string why =
      fmt::format("{} with a spread of {} between launches", Times(outcome.speedup), Percent(outcome.sigma));
  std::string next = RunAgain(outcome.launches_needed, input);
  if (outcome.launches_needed == 0) {
    why += fmt::format("; it lies at the edge of {}", Percent(outcome.delta));
    next = "Choose a --delta that is clearly smaller or larger than the effect; more launches won't tell.";
  }
  Inconclude(outcome, Reason::kUnderpowered, std::move(why), std::move(next));
}

// An outcome in which no number is known yet.
Outcome Unmeasured(const RuleInput& input, size_t used) {
  Outcome outcome;
  outcome.launches_planned = input.planned;
  outcome.launches_used = static_cast<int>(used);
  outcome.launches_left_out = input.left_out;
  outcome.delta = std::log1p(input.delta);
  for (Estimate* estimate :
       {&outcome.speedup, &outcome.theta, &outcome.theta_tie, &outcome.speedup_typical,
        &outcome.speedup_floor, &outcome.theta_typical, &outcome.theta_floor, &outcome.null}) {
    *estimate = kNothing;
  }
  outcome.sigma = outcome.mde = outcome.null_sigma = outcome.nu = outcome.delta_star = kNaN;
  return outcome;
}

std::span<const double> ValuesOf(const ContrastSample& sample, const RuleInput& input) {
  return input.statistic == Statistic::kTypical ? sample.typical : sample.floor;
}

std::span<const double> NullValuesOf(const ContrastSample& sample, const RuleInput& input) {
  return input.statistic == Statistic::kTypical ? sample.null_typical : sample.null_floor;
}

// The ratios of both statistics and of the one that counts.
void SetRatios(const RuleInput& input, Outcome& outcome) {
  outcome.theta = input.statistic == Statistic::kTypical ? outcome.theta_typical : outcome.theta_floor;
  outcome.speedup = AsRatio(outcome.theta);
  outcome.speedup_typical = AsRatio(outcome.theta_typical);
  outcome.speedup_floor = AsRatio(outcome.theta_floor);
}

double Reach(const Estimate& theta) { return std::max(std::abs(theta.low), std::abs(theta.high)); }

void SetNull(const Estimate& null, double sigma, double nu, const RuleInput& input, Outcome& outcome) {
  outcome.null = AsRatio(null);
  outcome.null_sigma = sigma;
  outcome.nu = nu;
  outcome.delta_star = std::max(outcome.delta, outcome.nu);
  outcome.mde = std::expm1(
      MinimumDetectableEffect(outcome.sigma, outcome.launches_used, outcome.delta_star, input.alpha));
}

// Two groups of launches in either run, as changes against the middle of the other run.
std::optional<Modes> ModesOfChange(std::span<const double> before, std::span<const double> after) {
  if (std::optional<Modes> modes = FindModes(after)) {
    const double middle = Median(before);
    modes->low -= middle;
    modes->high -= middle;
    return modes;
  }
  std::optional<Modes> modes = FindModes(before);
  if (!modes) return modes;
  const double middle = Median(after);
  *modes = Modes{.low = middle - modes->high,
                 .high = middle - modes->low,
                 .low_count = modes->high_count,
                 .high_count = modes->low_count,
                 .separation = modes->separation};
  return modes;
}

}  // namespace

Outcome Measure(const ContrastSample& sample, const RuleInput& input) {
  RequireFit(sample);
  Outcome outcome = Unmeasured(input, sample.typical.size());
  if (sample.typical.empty()) return outcome;

  const std::span<const double> values = ValuesOf(sample, input);
  outcome.theta_typical = HodgesLehmannInterval(sample.typical, kLevel);
  outcome.theta_floor = HodgesLehmannInterval(sample.floor, kLevel);
  outcome.theta_tie = HodgesLehmannInterval(values, kTieLevel);
  SetRatios(input, outcome);
  outcome.p = outcome.p_adjusted = SignedRankP(values);
  outcome.sigma = StandardDeviation(values);
  outcome.modes = FindModes(values);

  const std::span<const double> null_values = NullValuesOf(sample, input);
  if (null_values.empty()) return outcome;
  const Estimate null = HodgesLehmannInterval(null_values, kLevel);
  SetNull(null, StandardDeviation(null_values), Reach(null), input, outcome);
  return outcome;
}

Outcome MeasureChange(const ContrastSample& before, const ContrastSample& after, const RuleInput& input) {
  RequireFit(before);
  RequireFit(after);
  Outcome outcome = Unmeasured(input, std::min(before.typical.size(), after.typical.size()));
  if (outcome.launches_used == 0) return outcome;

  const std::span<const double> earlier = ValuesOf(before, input);
  const std::span<const double> later = ValuesOf(after, input);
  outcome.theta_typical = ShiftInterval(before.typical, after.typical, kLevel);
  outcome.theta_floor = ShiftInterval(before.floor, after.floor, kLevel);
  outcome.theta_tie = ShiftInterval(earlier, later, kTieLevel);
  SetRatios(input, outcome);
  outcome.p = outcome.p_adjusted = RankSumP(earlier, later);
  outcome.sigma = std::hypot(StandardDeviation(earlier), StandardDeviation(later));
  outcome.modes = ModesOfChange(earlier, later);

  const std::span<const double> null_before = NullValuesOf(before, input);
  const std::span<const double> null_after = NullValuesOf(after, input);
  if (null_before.empty() || null_after.empty()) return outcome;
  const Estimate null = ShiftInterval(null_before, null_after, kLevel);
  const double nu = std::max({Reach(null), Reach(HodgesLehmannInterval(null_before, kLevel)),
                              Reach(HodgesLehmannInterval(null_after, kLevel))});
  SetNull(null, std::hypot(StandardDeviation(null_before), StandardDeviation(null_after)), nu, input,
          outcome);
  return outcome;
}

void Settle(Outcome& outcome, Verdict verdict, Reason reason, std::string why, std::string next) {
  outcome.verdict = verdict;
  outcome.strong = false;
  outcome.reason = reason;
  outcome.why = std::move(why);
  outcome.next = std::move(next);
}

void Decide(Outcome& outcome, const RuleInput& input) {
  outcome.launches_needed = 0;
  if (SettledBeforeTheEffect(outcome, input)) return;
  const Estimate& theta = outcome.theta;
  const bool significant = outcome.p_adjusted < kAlpha;
  if (significant && theta.high < 0 && theta.value <= -outcome.delta_star) {
    Settle(outcome, Verdict::kWin, Reason::kNone, "", "");
    outcome.strong = theta.high <= -outcome.delta_star;
  } else if (significant && theta.low > 0 && theta.value >= outcome.delta_star) {
    Settle(outcome, Verdict::kLoss, Reason::kNone, "", "");
    outcome.strong = theta.low >= outcome.delta_star;
  } else if (outcome.theta_tie.low > -outcome.delta && outcome.theta_tie.high < outcome.delta) {
    Settle(outcome, Verdict::kTie, Reason::kNone, "", "");
  } else {
    ExplainNoVerdict(outcome, input);
  }
}

}  // namespace pagoda::judge

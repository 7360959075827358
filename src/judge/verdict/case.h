// The verdict over one contrast on one case: a variant against a baseline, by one clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/stats/modes.h"
#include "judge/stats/ranks.h"

namespace pagoda::judge {

enum class Verdict : uint8_t {
  kWin,   // the variant is faster than the baseline
  kLoss,  // slower
  kTie,   // the same within delta
  kInconclusive,
  kInvalid,
  kMixed,  // overall only: cases contradict each other
};
// "WIN", "LOSS", "TIE", "INCONCLUSIVE", "INVALID", "MIXED".
std::string_view NameOf(Verdict verdict);
// WIN for LOSS and back; the others stay.
Verdict Mirrored(Verdict verdict);

// Why a verdict is INVALID or INCONCLUSIVE: always exactly one.
enum class Reason : uint8_t {
  kNone,  // WIN, LOSS, TIE, and MIXED, which has its cases in `why`
  // INVALID
  kGateFailed,        // a gate run before the timing failed
  kTimedOutputWrong,  // the output of a timed call failed its check
  kHung,              // killed by the watchdog
  kCrashed,
  // INCONCLUSIVE, in the order in which they are looked for
  kUnsupported,   // skipped: the variant or the baseline doesn't compute the case
  kMissing,       // no usable launch
  kNotGated,      // nothing has proven both variants right: no gate run, no check of a timed output
  kNoNullArm,     // nothing says how far two copies of the same code lie apart
  kContaminated,  // too many launches left out because the machine was busy
  kBimodal,       // launches fall into two groups that would get different verdicts
  kClockTooCoarse,
  kStatisticsDisagree,  // typical and floor have opposite signs, each beyond its interval
  kInsideNullBias,      // the effect is past delta, but no larger than what the null arm shows
  kTooFewLaunches,      // fewer than the exact test needs after adjustment, however large the effect
  kUnderpowered,
  // Overall only
  kInvalidCase,  // a case is INVALID
  kMissingCase,  // a case is skipped or missing
  kOneVariant,   // nothing to compare with
};
// A stable identifier for JSON, such as "inside_null_bias"; "" for kNone.
std::string_view NameOf(Reason reason);

enum class Clock : uint8_t { kDevice, kHost };
std::string_view NameOf(Clock clock);  // "device", "host"

// How a launch's blocks become one value; see launch_value.h. One is chosen for the whole run.
enum class Statistic : uint8_t { kTypical, kFloor };
std::string_view NameOf(Statistic statistic);  // "typical", "floor"

// Everything about one contrast on one case (or over all cases) by one clock. theta = ln(t_variant /
// t_baseline), so below 0 is faster; ratios are exp(-theta) = t_baseline / t_variant, so above 1 is faster.
// Intervals are at 95% and unadjusted. Without a usable launch every number is NaN; with too few for the
// level an interval is [-inf, inf] in theta and [0, inf] as a ratio.
struct Outcome {
  Verdict verdict = Verdict::kInconclusive;
  bool strong = false;  // WIN or LOSS whose whole interval is past delta_star
  Reason reason = Reason::kNone;
  std::string why;   // the reason with its values, one plain sentence; empty for kNone
  std::string next;  // what to do about it; empty for kNone

  Estimate speedup;          // by the run's statistic
  Estimate theta;            // the same in ln
  Estimate theta_tie;        // the 90% interval that a TIE is decided by
  Estimate speedup_typical;  // both statistics are reported, whichever is chosen
  Estimate speedup_floor;
  Estimate theta_typical;  // the same two in ln
  Estimate theta_floor;
  double p = 1;           // exact, two-sided
  double p_adjusted = 1;  // Holm, over cases x contrasts of the family
  double sigma = 0;       // standard deviation of the launch values, in ln
  double mde = 0;         // smallest effect it could have seen, as a fraction: 0.013 is 1.3%

  Estimate null;          // null arm, as a ratio (first link / second link)
  double null_sigma = 0;  // in ln
  double nu = 0;          // the null interval's largest |endpoint|, in ln
  double delta = 0;       // in ln
  double delta_star = 0;  // max(delta, nu)

  std::optional<Modes> modes;  // two groups of launches, whether or not they matter to the verdict

  int launches_planned = 0;
  int launches_used = 0;
  int launches_left_out = 0;  // contaminated, and no clean attempt followed
  int launches_needed = 0;    // kTooFewLaunches, kUnderpowered: the J it would take; 0: no practical number
};

struct CaseVerdict {
  std::string case_name;
  double weight = 1;
  Outcome device;
  Outcome host;
  bool host_differs = false;  // the two verdicts are not the same
};

// The launch values of one contrast on one case by one clock: index i of all four is the i-th usable launch.
struct ContrastSample {
  std::vector<double> typical, floor;            // of the contrast
  std::vector<double> null_typical, null_floor;  // of the null arm; empty when there is none
};

// What the rule needs besides the sample.
struct RuleInput {
  Statistic statistic = Statistic::kTypical;
  double delta = 0.01;    // relative
  int planned = 0;        // launches
  int left_out = 0;       // contaminated
  double coarseness = 0;  // clock resolution / epoch, the largest over both arms and all launches
  double alpha = 0.05;    // the family's level over its size: for the MDE and the launches that it would take
  bool two_runs = false;  // the outcome is MeasureChange's
};

// The numbers of an outcome: all but the verdict and p_adjusted. Throws Error(sample) when the four vectors
// don't fit each other.
Outcome Measure(const ContrastSample& sample, const RuleInput& input);
// How the contrast changed from one run to another: theta is after - before, so above 0 the variant lost
// ground to the baseline. Launches of two runs aren't paired, so interval and p are those of two independent
// samples. The null arm is held to the same question: nu is the largest of its change's |endpoint| and of its
// own in either run. Sigma is that of a difference, launches_used the smaller number of the two; `planned`
// and `left_out` of `input` are of the run that lost more launches.
Outcome MeasureChange(const ContrastSample& before, const ContrastSample& after, const RuleInput& input);

// The verdict, once Holm has set p_adjusted. First match:
//   INCONCLUSIVE  no usable launch; no null arm; contaminated; launches bimodal; clock too coarse; typical
//   and floor
//                 of opposite sign, both significantly
//   WIN           upper < 0, p_adjusted < 0.05 and theta <= -delta_star; strong if upper <= -delta_star
//   LOSS          its mirror image
//   TIE           the 90% interval lies inside +-delta
//   INCONCLUSIVE  inside the null's bias; too few launches; underpowered
// INVALID comes before all of these and is set by Settle.
void Decide(Outcome& outcome, const RuleInput& input);
// Overrides whatever the numbers say.
void Settle(Outcome& outcome, Verdict verdict, Reason reason, std::string why, std::string next);

}  // namespace pagoda::judge

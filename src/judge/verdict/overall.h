// The verdict over a whole run: every variant against the baseline, the winners, and the leader's lead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/record/record.h"
#include "judge/verdict/case.h"
#include "judge/verdict/recommend.h"

namespace pagoda::judge {

struct Counts {
  int win = 0, loss = 0, tie = 0, inconclusive = 0, invalid = 0;
  int missing = 0;  // of the inconclusive ones: skipped or without a usable launch
};

// One variant against one baseline. overall.speedup is the weighted geometric mean over the cases with its
// interval; overall.verdict may be MIXED.
struct Contrast {
  std::string variant;
  std::string baseline;
  std::vector<CaseVerdict> cases;  // every case of the manifest, in its order
  Outcome overall;                 // device time
  Outcome overall_host;
  Counts counts;  // device time
  Counts counts_host;
};

// Who is ahead on one case, by device time.
struct CaseRanking {
  std::string case_name;
  std::vector<std::string> order;    // measured variants, fastest first
  std::vector<std::string> winners;  // those that no other beats, fastest first
  std::string leader;                // order[0]; empty when nothing was measured
  std::string runner_up;             // order[1]
  Outcome lead;                      // leader against runner-up
};

// Absolute figures of one variant on one case. Times are medians over launches of each launch's median, in
// microseconds of one call; NaN without a usable launch.
struct Figures {
  std::string case_name;
  std::string variant;
  double device_us = 0;
  double device_floor_us = 0;  // of each launch's Q10
  double host_us = 0;
  double gb_per_s = 0;  // least bytes / device time
  double gflop_per_s = 0;
  double bound_us = 0;  // roofline: the larger of bytes / bandwidth and FLOPs / peak; 0: no ceiling known
  double roofline_fraction = 0;  // bound / device time, 0..1; 0: no ceiling known
  bool memory_bound = true;      // which of the two is the larger
  bool suspect = false;          // faster than the bound: measured wrong, or the bound is
  double max_abs_error = 0;      // over gate runs and timed outputs
  bool bitwise = false;          // every gate run was bitwise repeatable
};

// The null arm on one case.
struct NullFigures {
  std::string case_name;
  Estimate device;  // ratio, first link / second link
  Estimate host;
  double device_sigma = 0, host_sigma = 0;  // in ln
  int launches = 0;
};

struct Difference {
  std::string case_name;  // empty: overall
  std::string variant;
  Verdict device = Verdict::kInconclusive;
  Verdict host = Verdict::kInconclusive;
};

// A case of a variant without a verdict because it was skipped, failed or never measured.
struct Unmeasured {
  std::string case_name;
  std::string variant;
  Reason reason = Reason::kMissing;
  std::string why;
};

struct LaunchCounts {
  int planned = 0;  // cases x launches
  int used = 0;
  int left_out = 0;   // contaminated without a clean attempt after
  int rerun = 0;      // contaminated attempts that a later one replaced
  int failed = 0;     // gate failed, hung or crashed
  int never_run = 0;  // no record
};

struct RunVerdict {
  // The top verdict: the leader against the runner-up, by device time. WIN, TIE, MIXED, INCONCLUSIVE or
  // INVALID.
  Verdict verdict = Verdict::kInconclusive;
  bool strong = false;
  Reason reason = Reason::kNone;
  std::string why;
  std::string next;

  std::vector<std::string> winners;  // variants that no other beats overall, fastest first
  std::string leader;
  std::string runner_up;
  Estimate lead;  // t_runner_up / t_leader over all cases
  std::optional<Contrast>
      top;  // variant: leader, baseline: runner-up; nothing with fewer than two measured variants

  std::string baseline;
  std::vector<Contrast> contrasts;  // every other variant against the baseline, in the manifest's order
  std::vector<CaseRanking> cases;   // in the manifest's order
  std::vector<Figures> figures;     // cases x variants, in the manifest's order
  std::vector<NullFigures> nulls;   // in the manifest's order

  // The null arm over all cases, as a ratio, and the smallest effect (a fraction) that the run could see
  // overall: the largest over the contrasts; of the null arm where there is no contrast.
  Estimate null;
  Estimate null_host;
  double mde = 0;

  Statistic statistic = Statistic::kTypical;  // chosen once per run, from the null arm alone
  double null_spread_typical = 0;             // geometric means over the cases, in ln
  double null_spread_floor = 0;

  int gates_passed = 0, gates_total = 0;
  bool bitwise_all = false;  // every gate run was bitwise repeatable
  LaunchCounts launches;
  std::vector<Difference> differences;  // where host and device verdicts differ
  std::vector<Unmeasured> unmeasured;
  Recommendation recommendation;
};

// The whole judgement. Pure: the same records always give the same verdict. Throws Error(manifest.…) when the
// manifest contradicts itself, and Error(records[i].…) when a record names a case that the manifest doesn't
// have.
RunVerdict Judge(const Manifest& manifest, const Records& records);

}  // namespace pagoda::judge

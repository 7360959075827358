// The verdict over a whole run: every variant against the baseline, the winners, and the leader's lead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/record/record.h"
#include "judge/verdict/case.h"
#include "judge/verdict/contrast.h"
#include "judge/verdict/figures.h"
#include "judge/verdict/medians.h"
#include "judge/verdict/ranking.h"
#include "judge/verdict/recommend.h"
#include "judge/verdict/regret.h"
#include "judge/verdict/sweep.h"

namespace pagoda::judge {

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
  std::string baseline;  // the run's, or the runner-up when the variant is the leader
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
  int failed = 0;     // hung or crashed, and no usable attempt
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

  // Variants that no other beats overall, fastest first. Only those are ranked that are right everywhere and
  // measured on the most cases.
  std::vector<std::string> winners;
  std::string leader;
  std::string runner_up;
  Estimate lead;                // t_runner_up / t_leader over all cases
  std::optional<Contrast> top;  // variant: leader, baseline: runner-up; nothing with fewer than two to rank

  std::string baseline;
  std::vector<Contrast> contrasts;   // every other variant against the baseline, in the manifest's order
  std::vector<CaseRanking> cases;    // in the manifest's order
  std::vector<SweepVerdict> sweeps;  // in the manifest's order
  std::vector<Regret> regrets;       // of the variants that choose
  std::vector<Figures> figures;      // cases x variants, in the manifest's order
  std::vector<NullFigures> nulls;    // in the manifest's order
  Medians medians;                   // the figures as reports without intervals aggregate them

  // The null arm over all cases, as a ratio, and the smallest effect (a fraction) that the run could see
  // overall: the largest over the contrasts; of the null arm where there is no contrast.
  Estimate null;
  Estimate null_host;
  double mde = 0;

  Statistic statistic = Statistic::kTypical;  // chosen once per run, from the null arm alone
  double null_spread_typical = 0;             // geometric means over the cases, in ln
  double null_spread_floor = 0;

  // Runs of the gate: of every case, every variant that supports it and every seed that the records know.
  int gates_passed = 0, gates_missing = 0, gates_total = 0;
  bool bitwise_all = false;  // every gate run was bitwise repeatable; none is missing
  LaunchCounts launches;
  std::vector<Difference> differences;  // where host and device verdicts differ
  std::vector<Unmeasured> unmeasured;
  Recommendation recommendation;
};

// The whole judgement. Pure: the same records always give the same verdict. Throws Error(manifest.FIELD) when
// the manifest contradicts itself, and Error(records.launches[i].FIELD) or Error(records.gates[i].FIELD) when
// a record does not belong to it.
RunVerdict Judge(const Manifest& manifest, const Records& records);

}  // namespace pagoda::judge

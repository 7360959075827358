// One run against another: did the contrasts change between them?
//
// Launches of two runs are not paired in time, so their times say nothing about each other that drift,
// another build's placement or another neighbour on the machine couldn't say too. Inside each launch a
// variant was paired with the baseline, so that the contrast is free of all that, and the contrasts of two
// runs are two independent samples that can be set against each other (docs/decisions/0008).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "judge/record/record.h"
#include "judge/verdict/case.h"
#include "judge/verdict/contrast.h"

namespace pagoda::judge {

// Both outlive the call.
struct ComparedRun {
  std::string name;  // for errors
  const Manifest& manifest;
  const Records& records;
};

// One variant against the common baseline, over the common cases.
struct Change {
  // Of each run by itself. Its report may say otherwise where it has other cases or chose the other
  // statistic.
  Contrast before, after;
  // WIN: the variant gained on the baseline, by more than delta and the null arms;
  // LOSS: it fell behind; TIE: its speed-up is shown to be the same. The speedup is that of the later run
  // over that of the earlier.
  Contrast change;
};

struct Comparison {
  std::string baseline;                       // the earlier run's
  Statistic statistic = Statistic::kTypical;  // whose null arm spread less over both runs
  std::vector<std::string> cases, variants;   // of both, in the earlier run's order
  std::vector<std::string> cases_only_before, cases_only_after;
  std::vector<std::string> variants_only_before, variants_only_after;
  std::vector<Change> changes;  // one for each common variant besides the baseline
};

// Each later run against the first, p-values adjusted over all of them together. Throws Error(name of the
// later run) with the reason when it can't be compared: it is the same run, has another delta, no common
// case, not the first one's baseline, or another problem under a common case's name.
std::vector<Comparison> CompareRuns(std::span<const ComparedRun> runs);

}  // namespace pagoda::judge

// What a run will cost by its formulas, before anything is measured.
#pragma once

#include <vector>

#include "judge/bench/budget.h"
#include "judge/bench/setup.h"
#include "judge/bench/subject.h"

namespace pagoda::judge {

struct Prediction {
  std::vector<LaunchCost> costs;  // of the setup's cases, on a nominal machine
  Schedule schedule;              // cut to the budget; without the gate
};

// `launches` as asked for, 0: the rule's; budget_s <= 0: no limit.
Prediction Predict(const RunSetup& setup, int launches, double budget_s);

// Where fewer blocks and launches don't make the run fit, halves the batch of the case that takes longest
// among those that allow it (CaseSpec::least_batch), until the run fits or none is left to halve. Says in
// setup.left_out what was cut.
void CutBatches(RunSetup& setup, const Subject& subject, int launches, double budget_s);

}  // namespace pagoda::judge

// What a variant that chooses among the others costs by choosing.
#pragma once

#include <string>
#include <vector>

#include "judge/stats/ranks.h"
#include "judge/verdict/ranking.h"

namespace pagoda::judge {

struct CaseRegret {
  std::string case_name;
  std::string best;  // the fastest of the others
  Estimate regret;   // t_chooser / t_best - 1 by device time; below 0 where the chooser was measured faster
};

// Over the cases that the chooser and another variant were measured on.
struct Regret {
  std::string chooser;
  std::vector<CaseRegret> cases;  // in the manifest's order
  double median = 0;
  CaseRegret worst;
};

// One for each of `choosers` that was measured beside another variant. What a chooser is held against are the
// variants that don't choose.
std::vector<Regret> RegretsOf(const std::vector<std::string>& choosers, const std::vector<CaseRanking>& cases,
                              const Duels& duels);

}  // namespace pagoda::judge

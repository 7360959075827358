#include "judge/verdict/regret.h"

#include <algorithm>
#include <cmath>

namespace pagoda::judge {
namespace {

bool IsIn(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// t_variant / t_baseline - 1, of t_baseline / t_variant.
Estimate RegretOf(const Estimate& speedup) {
  return {1 / speedup.value - 1, 1 / speedup.high - 1, 1 / speedup.low - 1};
}

}  // namespace

std::vector<Regret> RegretsOf(const std::vector<std::string>& choosers, const std::vector<CaseRanking>& cases,
                              const Duels& duels) {
  std::vector<Regret> regrets;
  for (const std::string& chooser : choosers) {
    Regret regret{.chooser = chooser, .cases = {}, .median = 0, .worst = {}};
    std::vector<double> values;
    for (size_t i = 0; i < cases.size(); ++i) {
      const std::vector<std::string>& order = cases[i].order;
      const auto best = std::find_if(order.begin(), order.end(),
                                     [&](const std::string& name) { return !IsIn(choosers, name); });
      if (best == order.end() || !IsIn(order, chooser)) continue;
      const Estimate& speedup = duels.Of(chooser, *best).cases[i].device.speedup;
      if (!std::isfinite(speedup.value)) continue;
      regret.cases.push_back({cases[i].case_name, *best, RegretOf(speedup)});
      values.push_back(regret.cases.back().regret.value);
    }
    if (values.empty()) continue;
    regret.median = Median(values);
    regret.worst = *std::max_element(
        regret.cases.begin(), regret.cases.end(),
        [](const CaseRegret& a, const CaseRegret& b) { return a.regret.value < b.regret.value; });
    regrets.push_back(std::move(regret));
  }
  return regrets;
}

}  // namespace pagoda::judge

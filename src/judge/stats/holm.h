// Several tests at once: Holm, Scand. J. Statist. 6 (1979).
#pragma once

#include <span>
#include <vector>

namespace pagoda::judge {

// Adjusted p-values in the order of `p`: reject where one is below alpha, and the chance of any false
// rejection in the family is at most alpha. `family` is the number of tests planned; those beyond p.size()
// count as p = 1. Each p must be in 0..1; throws Error(p[i]).
std::vector<double> HolmAdjust(std::span<const double> p, size_t family);

}  // namespace pagoda::judge

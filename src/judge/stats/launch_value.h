// One launch's blocks of two arms, reduced to one value.
#pragma once

#include <span>
#include <vector>

namespace pagoda::judge {

// Times of one call in any unit, two per block (forward pass, backward pass), all > 0. `arm` and `base` have
// the same even length, at least 2; throws Error(samples).

// Of each block: half the sum of ln(arm / base) of its two passes, so that a drift over the block cancels.
std::vector<double> BlockValues(std::span<const double> arm, std::span<const double> base);

struct LaunchValue {
  double typical = 0;  // the median of the block values
  double floor = 0;    // ln Q10(arm) - ln Q10(base), over all passes
};
// Exactly negated when arm and base change places.
LaunchValue ReduceLaunch(std::span<const double> arm, std::span<const double> base);

}  // namespace pagoda::judge

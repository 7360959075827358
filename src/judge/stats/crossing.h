// Where one launch's curve crosses zero.
#pragma once

#include <optional>
#include <span>

namespace pagoda::judge {

// The place on a rising axis x at which y goes from above 0 to below it; y[i] belongs to x[i] and is NaN
// where it wasn't measured. Noise changes the sign of a curve near zero more than once, so the crossing is
// between the two points that part the curve best: of all ways to call the front of the points positive and
// the rest negative, the one whose wrong points weigh least, in |y| summed; the first among equals. Between
// the two points y is taken for straight. -inf where the whole curve is called negative, inf where it is
// called positive: the crossing lies beyond the end, if anywhere. Nothing where a point beside the crossing
// wasn't measured. Throws Error(y) where y has another length than x.
std::optional<double> CrossingDown(std::span<const double> x, std::span<const double> y);

}  // namespace pagoda::judge

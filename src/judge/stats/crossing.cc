#include "judge/stats/crossing.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "pagoda/status.h"

namespace pagoda::judge {

std::optional<double> CrossingDown(std::span<const double> x, std::span<const double> y) {
  if (y.size() != x.size()) {
    throw Error(ErrorCode::kInvalidArgument, "y",
                fmt::format("has {} values for {} points of the axis", y.size(), x.size()));
  }
  // The weight of the wrong points is least where the sum over the front is largest.
  double sum = 0, largest = 0;
  size_t split = 0;  // points of the front
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(y[i])) continue;
    sum += y[i];
    if (sum > largest) {
      largest = sum;
      split = i + 1;
    }
  }
  const bool before = split > 0, after = split < y.size();
  if ((before && std::isnan(y[split - 1])) || (after && std::isnan(y[split]))) return std::nullopt;
  constexpr double kBeyond = std::numeric_limits<double>::infinity();
  if (!before) return y.empty() ? std::nullopt : std::optional(-kBeyond);
  if (!after) return kBeyond;
  const double high = y[split - 1], low = y[split];  // > 0 and <= 0, or the split were elsewhere
  return x[split - 1] + (x[split] - x[split - 1]) * (high / (high - low));
}

}  // namespace pagoda::judge

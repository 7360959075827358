#include "judge/stats/holm.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "pagoda/status.h"

namespace pagoda::judge {

std::vector<double> HolmAdjust(std::span<const double> p, size_t family) {
  for (size_t i = 0; i < p.size(); ++i) {
    if (!(p[i] >= 0 && p[i] <= 1)) {
      throw Error(ErrorCode::kInvalidArgument, fmt::format("p[{}]", i),
                  fmt::format("= {} is outside 0..1", p[i]));
    }
  }
  if (family < p.size()) {
    throw Error(ErrorCode::kInvalidArgument, "family",
                fmt::format("= {} is less than the {} tests given", family, p.size()));
  }
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(family - i) * p[order[i]]));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

}  // namespace pagoda::judge

#include "judge/stats/modes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "judge/stats/ranks.h"

namespace pagoda::judge {
namespace {

double SquaresAbout(std::span<const double> values, double mean) {
  double squares = 0;
  for (const double x : values) squares += (x - mean) * (x - mean);
  return squares;
}

}  // namespace

std::optional<Modes> FindModes(std::span<const double> sample) {
  const size_t n = sample.size();
  if (n < kLeastForModes) return std::nullopt;
  std::vector<double> sorted(sample.begin(), sample.end());
  std::sort(sorted.begin(), sorted.end());
  const std::span<const double> all = sorted;
  const size_t least = std::max<size_t>(3, (n + 4) / 5);
  size_t split = 0;
  double separation = 0;
  for (size_t k = least; k + least <= n; ++k) {
    const double low = Mean(all.first(k));
    const double high = Mean(all.subspan(k));
    if (!(high > low)) continue;
    const double within = std::sqrt((SquaresAbout(all.first(k), low) + SquaresAbout(all.subspan(k), high)) /
                                    static_cast<double>(n - 2));
    const double here = within > 0 ? (high - low) / within : std::numeric_limits<double>::infinity();
    if (here > separation) {
      separation = here;
      split = k;
    }
  }
  if (separation < kModeSeparation) return std::nullopt;
  return Modes{.low = Median(all.first(split)),
               .high = Median(all.subspan(split)),
               .low_count = static_cast<int>(split),
               .high_count = static_cast<int>(n - split),
               .separation = separation};
}

}  // namespace pagoda::judge

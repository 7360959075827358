#include "judge/stats/launch_value.h"

#include <fmt/format.h>

#include <cmath>

#include "judge/stats/ranks.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

void RequirePasses(std::span<const double> arm, std::span<const double> base) {
  if (arm.size() != base.size() || arm.size() < 2 || arm.size() % 2 != 0) {
    throw Error(ErrorCode::kInvalidArgument, "samples",
                fmt::format("have {} and {} passes: both must have the same even number, at least 2",
                            arm.size(), base.size()));
  }
  for (const std::span<const double> times : {arm, base}) {
    for (size_t i = 0; i < times.size(); ++i) {
      if (!(times[i] > 0) || std::isinf(times[i])) {
        throw Error(ErrorCode::kInvalidArgument, fmt::format("samples[{}]", i),
                    fmt::format("= {} is not a positive time", times[i]));
      }
    }
  }
}

}  // namespace

std::vector<double> BlockValues(std::span<const double> arm, std::span<const double> base) {
  RequirePasses(arm, base);
  std::vector<double> values;
  values.reserve(arm.size() / 2);
  // A difference of logarithms, unlike the logarithm of a quotient, changes only its sign when the arms swap.
  for (size_t i = 0; i < arm.size(); i += 2) {
    values.push_back(
        0.5 * ((std::log(arm[i]) - std::log(base[i])) + (std::log(arm[i + 1]) - std::log(base[i + 1]))));
  }
  return values;
}

LaunchValue ReduceLaunch(std::span<const double> arm, std::span<const double> base) {
  return {Median(BlockValues(arm, base)), std::log(Quantile(arm, 0.1)) - std::log(Quantile(base, 0.1))};
}

}  // namespace pagoda::judge

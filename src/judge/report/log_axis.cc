#include "judge/report/log_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/report/numbers.h"

namespace pagoda::judge {
namespace {

constexpr double kLeast = 1e-15, kMost = 1e15;
constexpr double kMargin = 0.04;
constexpr double kShortSpan = 4;  // up to here equal steps look equal enough
constexpr int kSteps = 5;
constexpr size_t kMostTicks = 7;  // whose labels stand side by side on a telephone

std::vector<double> EqualSteps(const LogAxis& axis) {
  const double least = (axis.high - axis.low) / kSteps;
  const double unit = std::pow(10.0, std::floor(std::log10(least)));
  double step = 10 * unit;
  for (const double times : {5, 2, 1}) {
    if (times * unit >= least) step = times * unit;
  }
  std::vector<double> ticks;
  for (double n = std::ceil(axis.low / step); n * step <= axis.high; ++n) ticks.push_back(n * step);
  return ticks;
}

using Digits = std::vector<double>;

// These digits of every `stride`-th power of ten.
std::vector<double> DigitsOfDecades(const LogAxis& axis, const Digits& digits, int stride) {
  std::vector<double> ticks;
  for (int n = static_cast<int>(std::floor(std::log10(axis.low))); std::pow(10.0, n) <= axis.high;
       n += stride) {
    for (const double digit : digits) {
      const double tick = digit * std::pow(10.0, n);
      if (axis.Holds(tick)) ticks.push_back(tick);
    }
  }
  return ticks;
}

}  // namespace

bool Drawable(double value) { return value > kLeast && value < kMost; }

double LogAxis::At(double value) const {
  return std::clamp(std::log(value / low) / std::log(high / low), 0.0, 1.0);
}

LogAxis AxisOver(const std::vector<double>& values, double least_span) {
  double low = kMost, high = kLeast;
  for (const double value : values) {
    if (!Drawable(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) low = high = 1;
  const double widen = std::max(1.0, std::sqrt(least_span / (high / low)));
  const double margin = std::pow(high / low * widen * widen, kMargin);
  return {low / widen / margin, high * widen * margin};
}

std::vector<double> TicksOf(const LogAxis& axis) {
  if (axis.high / axis.low <= kShortSpan) return EqualSteps(axis);
  for (const Digits& digits : {Digits{1, 1.5, 2, 3, 5, 7}, Digits{1, 2, 5}, Digits{1, 3}}) {
    std::vector<double> ticks = DigitsOfDecades(axis, digits, 1);
    if (ticks.size() <= kMostTicks) return ticks;
  }
  const double decades = std::log10(axis.high / axis.low);
  return DigitsOfDecades(axis, {1}, 1 + static_cast<int>(decades / static_cast<double>(kMostTicks)));
}

std::string TickText(double tick) {
  if (tick >= 1000 && tick < 1e7) return Count(std::llround(tick));
  return fmt::format("{:.6g}", tick);
}

}  // namespace pagoda::judge

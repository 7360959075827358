#include "judge/report/log_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/report/numbers.h"

namespace pagoda::judge {
namespace {

constexpr double kLeast = 1e-15, kMost = 1e15;
constexpr double kMargin = 0.04;
constexpr double kShortSpan = 4;    // up to here equal steps look equal enough
constexpr double kLeastGap = 0.14;  // of the axis: "10,000" on a telephone

using Ticks = std::vector<double>;

// Multiples of 1, 2 or 5 times a power of ten, at most `most` + 1 of them.
Ticks EqualSteps(const LogAxis& axis, int most) {
  const double least = (axis.high - axis.low) / most;
  const double unit = std::pow(10.0, std::floor(std::log10(least)));
  double step = 10 * unit;
  for (const double times : {5, 2, 1}) {
    if (times * unit >= least) step = times * unit;
  }
  Ticks ticks;
  for (double n = std::ceil(axis.low / step); n * step <= axis.high; ++n) ticks.push_back(n * step);
  return ticks;
}

// These digits of every `stride`-th power of ten.
Ticks DigitsOfDecades(const LogAxis& axis, const Ticks& digits, int stride) {
  Ticks ticks;
  for (int n = static_cast<int>(std::floor(std::log10(axis.low))); std::pow(10.0, n) <= axis.high;
       n += stride) {
    for (const double digit : digits) {
      const double tick = digit * std::pow(10.0, n);
      if (axis.Holds(tick)) ticks.push_back(tick);
    }
  }
  return ticks;
}

// No label reaches into its neighbour.
bool Apart(const LogAxis& axis, const Ticks& ticks) {
  return std::adjacent_find(ticks.begin(), ticks.end(), [&axis](double a, double b) {
           return axis.At(b) - axis.At(a) < kLeastGap;
         }) == ticks.end();
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
  if (axis.high / axis.low <= kShortSpan) {
    Ticks ticks = EqualSteps(axis, 5);
    return Apart(axis, ticks) ? ticks : EqualSteps(axis, 2);
  }
  for (const Ticks& digits : {Ticks{1, 1.5, 2, 3, 5, 7}, Ticks{1, 2, 5}, Ticks{1, 3}}) {
    Ticks ticks = DigitsOfDecades(axis, digits, 1);
    if (Apart(axis, ticks)) return ticks;
  }
  const double decades = std::log10(axis.high / axis.low);
  return DigitsOfDecades(axis, {1}, static_cast<int>(std::ceil(kLeastGap * decades)));
}

std::string TickText(double tick) {
  if (tick >= 1000 && tick < 1e7) return Count(std::llround(tick));
  return fmt::format("{:.6g}", tick);
}

}  // namespace pagoda::judge

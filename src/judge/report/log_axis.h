// A logarithmic axis of a plot: where a value stands, and which values to mark.
#pragma once

#include <string>
#include <vector>

namespace pagoda::judge {

// Whether a logarithmic axis has a place for it: finite, above 0, and of a size that a measurement can have.
bool Drawable(double value);

struct LogAxis {
  double low = 1;
  double high = 10;  // > low > 0

  // The share of the axis that lies below a drawable value: 0 at `low` or below, 1 at `high` or above.
  double At(double value) const;
  bool Holds(double value) const { return value >= low && value <= high; }
};

// Holds every drawable value with a margin of 4% at both ends, and reaches over at least a factor of
// `least_span` (> 1). 1 is its middle when there is no value.
LogAxis AxisOver(const std::vector<double>& values, double least_span);

// Round values within the axis, ascending, and so far apart that their labels stand side by side on a
// telephone: equal steps on a short axis, round digits or powers of ten on a long one.
std::vector<double> TicksOf(const LogAxis& axis);

// A tick in as few digits as it has: "0.98", "1", "20,000", "1e+09".
std::string TickText(double tick);

}  // namespace pagoda::judge

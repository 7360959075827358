// The steady clock in nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace pagoda::sys {

inline int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Least positive difference between two readings of the steady clock, and the mean cost of one reading.
struct ClockQuality {
  double resolution_ns = 0;
  double read_cost_ns = 0;
};
ClockQuality MeasureClock();

}  // namespace pagoda::sys

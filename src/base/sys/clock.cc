#include "base/sys/clock.h"

#include <algorithm>

namespace pagoda::sys {

ClockQuality MeasureClock() {
  constexpr int kReadings = 20000;
  int64_t least = INT64_MAX;
  const int64_t begin = NowNs();
  int64_t last = begin;
  for (int i = 0; i < kReadings; ++i) {
    const int64_t now = NowNs();
    if (now > last) least = std::min(least, now - last);
    last = now;
  }
  // A clock so coarse that it never moved during the loop: wait for one tick.
  while (last == begin) last = NowNs();
  if (least == INT64_MAX) least = last - begin;
  return {static_cast<double>(least), static_cast<double>(last - begin) / kReadings};
}

}  // namespace pagoda::sys

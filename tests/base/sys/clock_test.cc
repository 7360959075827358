#include "base/sys/clock.h"

#include <gtest/gtest.h>

namespace pagoda::sys {
namespace {

TEST(Clock, GoesForward) {
  int64_t last = NowNs();
  for (int i = 0; i < 1000; ++i) {
    const int64_t now = NowNs();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, QualityIsPositiveAndConsistent) {
  const ClockQuality quality = MeasureClock();
  EXPECT_GE(quality.resolution_ns, 1);
  EXPECT_GT(quality.read_cost_ns, 0);
  EXPECT_LT(quality.read_cost_ns, 1e6);
}

}  // namespace
}  // namespace pagoda::sys

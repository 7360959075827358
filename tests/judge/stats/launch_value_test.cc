#include "judge/stats/launch_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(BlockValues, AreHalfTheSumOfTheLogRatios) {
  const std::vector<double> base = {100, 200, 10, 10};
  const std::vector<double> arm = {110, 200, 20, 40};
  EXPECT_THAT(BlockValues(arm, base),
              ElementsAre(DoubleNear(0.5 * std::log(1.1), 1e-15), DoubleNear(0.5 * std::log(8.0), 1e-15)));
}

TEST(BlockValues, CancelADriftThatIsLinearInTime) {
  // ABBA on a machine that slows down by 1% of the first time with each pass: both arms are the same code.
  EXPECT_NEAR(BlockValues(std::vector<double>{101, 102}, std::vector<double>{100, 103})[0], 0, 1e-4);
}

TEST(ReduceLaunch, TakesTheMedianOfBlocksAndTheRatioOfTheFloors) {
  // Blocks of +10%, +10% and one spoilt by an interruption of the arm.
  const std::vector<double> base = {100, 100, 100, 100, 100, 100};
  const std::vector<double> arm = {110, 110, 110, 110, 900, 110};
  const LaunchValue value = ReduceLaunch(arm, base);
  EXPECT_NEAR(value.typical, std::log(1.1), 1e-12);
  EXPECT_NEAR(value.floor, std::log(1.1), 1e-12);
}

TEST(ReduceLaunch, FloorIsTheTenthPercentile) {
  std::vector<double> base;
  std::vector<double> arm;
  for (int i = 0; i <= 10; ++i) {
    base.push_back(100 + i);      // Q10 = 101
    arm.push_back(200 + 10 * i);  // Q10 = 210
  }
  base.push_back(1000);
  arm.push_back(1000);  // twelve passes: place 1.1
  EXPECT_NEAR(ReduceLaunch(arm, base).floor, std::log(211.0) - std::log(101.1), 1e-12);
}

TEST(ReduceLaunch, RefusesUnpairedOrImpossibleTimes) {
  EXPECT_THROW(ReduceLaunch(std::vector<double>{1, 2}, std::vector<double>{1}), Error);
  EXPECT_THROW(ReduceLaunch(std::vector<double>{1}, std::vector<double>{1}), Error);
  EXPECT_THROW(ReduceLaunch({}, {}), Error);
  EXPECT_THROW(ReduceLaunch(std::vector<double>{1, 0}, std::vector<double>{1, 1}), Error);
  EXPECT_THROW(ReduceLaunch(std::vector<double>{1, 1}, std::vector<double>{1, std::nan("")}), Error);
  EXPECT_THROW(ReduceLaunch(std::vector<double>{1, std::numeric_limits<double>::infinity()},
                            std::vector<double>{1, 1}),
               Error);
}

RC_GTEST_PROP(ReduceLaunch, SwappedArmsGiveTheNegatedValueExactly, ()) {
  const auto blocks = *rc::gen::inRange<size_t>(1, 20);
  const auto times = *rc::gen::container<std::vector<int>>(4 * blocks, rc::gen::inRange(1, 1000000));
  const std::vector<double> a(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(2 * blocks));
  const std::vector<double> b(times.begin() + static_cast<std::ptrdiff_t>(2 * blocks), times.end());
  RC_ASSERT(ReduceLaunch(a, b).typical == -ReduceLaunch(b, a).typical);
  RC_ASSERT(ReduceLaunch(a, b).floor == -ReduceLaunch(b, a).floor);
}

}  // namespace
}  // namespace pagoda::judge

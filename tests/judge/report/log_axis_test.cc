#include "judge/report/log_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pagoda::judge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(LogAxis, RatiosAreDistances) {
  const LogAxis axis{1, 100};
  EXPECT_DOUBLE_EQ(axis.At(1), 0);
  EXPECT_DOUBLE_EQ(axis.At(10), 0.5);
  EXPECT_DOUBLE_EQ(axis.At(100), 1);
  EXPECT_DOUBLE_EQ(axis.At(0.5), 0);
  EXPECT_DOUBLE_EQ(axis.At(200), 1);
}

TEST(LogAxis, OnlyWhatIsFiniteAndAboveZeroHasAPlace) {
  for (const double value : {1e-9, 1.0, 1e9}) EXPECT_TRUE(Drawable(value)) << value;
  for (const double value : {0.0, -1.0, kInf, -kInf, kNaN, 1e300, 1e-300}) {
    EXPECT_FALSE(Drawable(value)) << value;
  }
}

TEST(AxisOver, HoldsItsValuesAndIgnoresTheRest) {
  const LogAxis axis = AxisOver({0.5, 4, kNaN, kInf, 0}, 2);
  EXPECT_LT(axis.low, 0.5);
  EXPECT_GT(axis.low, 0.4);
  EXPECT_GT(axis.high, 4);
  EXPECT_LT(axis.high, 5);
}

TEST(AxisOver, IsNeverEmpty) {
  for (const std::vector<double>& values : {std::vector<double>{}, {3, 3}, {kNaN}}) {
    const LogAxis axis = AxisOver(values, 10);
    EXPECT_GE(axis.high / axis.low, 10);
    EXPECT_NEAR(std::sqrt(axis.high * axis.low), values.size() == 2 ? 3 : 1, 1e-9);
  }
}

TEST(TicksOf, AreRound) {
  EXPECT_THAT(TicksOf({0.97, 1.05}), testing::Pointwise(testing::DoubleEq(), {0.98, 1.0, 1.02, 1.04}));
  EXPECT_THAT(TicksOf({0.45, 3.2}), testing::Pointwise(testing::DoubleEq(), {0.5, 0.7, 1.0, 1.5, 2.0, 3.0}));
  EXPECT_THAT(TicksOf({18, 12000}),
              testing::Pointwise(testing::DoubleEq(), {30.0, 100.0, 300.0, 1e3, 3e3, 1e4}));
  EXPECT_THAT(TicksOf({0.4, 12}), testing::Pointwise(testing::DoubleEq(), {0.5, 1.0, 2.0, 5.0, 10.0}));
  EXPECT_THAT(TicksOf({0.5, 2e5}),
              testing::Pointwise(testing::DoubleEq(), {1.0, 10.0, 100.0, 1e3, 1e4, 1e5}));
}

TEST(TicksOf, AreApartOnAnyAxis) {
  for (double low = 1e-15; low < 1e15; low *= 7.3) {
    for (double span = 1.01; low * span < 1e16; span *= 1.7) {
      const std::vector<double> ticks = TicksOf({low, low * span});
      EXPECT_GE(ticks.size(), 1u) << low << " " << span;
      for (size_t i = 1; i < ticks.size(); ++i) {
        EXPECT_GE(std::log(ticks[i] / ticks[i - 1]), 0.14 * std::log(span)) << low << " " << span;
      }
    }
  }
}

TEST(TickText, IsShort) {
  EXPECT_EQ(TickText(0.98), "0.98");
  EXPECT_EQ(TickText(3 * 0.1), "0.3");
  EXPECT_EQ(TickText(1), "1");
  EXPECT_EQ(TickText(20000), "20,000");
}

}  // namespace
}  // namespace pagoda::judge

#include "judge/stats/crossing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "judge/stats/ranks.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::optional<double> Crossing(const std::vector<double>& y) {
  std::vector<double> x;
  for (size_t i = 0; i < y.size(); ++i) x.push_back(static_cast<double>(i));
  return CrossingDown(x, y);
}

TEST(CrossingDown, IsExactWithoutNoise) {
  EXPECT_EQ(Crossing({2, 1, -1, -2}), 1.5);
  EXPECT_EQ(Crossing({3, -1}), 0.75);
  EXPECT_EQ(Crossing({3, 0, -1}), 1);
  EXPECT_EQ(CrossingDown(std::vector<double>{4, 8}, std::vector<double>{1, -3}), 5);
}

TEST(CrossingDown, IsBeyondTheEndWithoutAChangeOfSign) {
  EXPECT_EQ(Crossing({1, 2, 3}), kInf);
  EXPECT_EQ(Crossing({-1, -2, -3}), -kInf);
  EXPECT_EQ(Crossing({-2, 1, -3}), -kInf) << "a front of two points would be wrong by 2, none is by 1";
}

TEST(CrossingDown, WrongSignsNearZeroDoNotMoveItFar) {
  EXPECT_EQ(Crossing({5, 3, -0.1, 0.2, -4, -5}), 3 + 0.2 / 4.2);
  EXPECT_EQ(Crossing({5, -0.1, 3, -4}), 2 + 3.0 / 7);
  EXPECT_EQ(Crossing({-0.1, 5, 3, -4, -5, 0.2}), 2 + 3.0 / 7);
}

TEST(CrossingDown, CountsOnlyWhereBothNeighboursWereMeasured) {
  EXPECT_EQ(Crossing({2, 1, kNaN, -2}), std::nullopt);
  EXPECT_EQ(Crossing({2, kNaN, -1, -2}), std::nullopt);
  EXPECT_EQ(Crossing({kNaN, 1, -1, kNaN}), 1.5);
  EXPECT_EQ(Crossing({kNaN, -1, -2}), std::nullopt) << "the crossing may be before or behind the first point";
  EXPECT_EQ(Crossing({1, 1, kNaN}), std::nullopt);
  EXPECT_EQ(Crossing({kNaN, kNaN}), std::nullopt);
  EXPECT_EQ(Crossing({}), std::nullopt);
  EXPECT_THROW(CrossingDown(std::vector<double>{1, 2}, std::vector<double>{1}), Error);
}

RC_GTEST_PROP(CrossingDown, LiesBetweenPointsOfOppositeSignAndNoSplitIsBetter, (std::vector<int> whole)) {
  const std::vector<double> y(whole.begin(), whole.end());
  const std::optional<double> found = Crossing(y);
  RC_ASSERT(found.has_value() == !y.empty());
  if (!found) return;
  const auto weight = [&](size_t split) {
    double wrong = 0;
    for (size_t i = 0; i < y.size(); ++i) wrong += std::max(0.0, i < split ? -y[i] : y[i]);
    return wrong;
  };
  const size_t split = *found == -kInf  ? 0
                       : *found == kInf ? y.size()
                                        : static_cast<size_t>(std::ceil(*found));
  for (size_t other = 0; other <= y.size(); ++other) RC_ASSERT(weight(split) <= weight(other));
  if (std::isfinite(*found)) RC_ASSERT(y[split - 1] > 0 && y[split] <= 0);
}

// Launches of noisy curves that cross once: the interval has to cover the crossing of the curve without
// noise. At 12 launches its level is 95.2%, so that of 2,000 runs less than 93.5% is a chance of 1 in 3,000.
double Coverage(double slope, double noise, double crossing, int points) {
  constexpr int kRuns = 2000, kLaunches = 12;
  std::mt19937_64 random(2026);
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<size_t>(points));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  int covered = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> crossings;
    for (int launch = 0; launch < kLaunches; ++launch) {
      std::vector<double> y;
      for (const double place : x) y.push_back(slope * (crossing - place) + noise * normal(random));
      crossings.push_back(CrossingDown(x, y).value());
    }
    const Estimate interval = OpenHodgesLehmannInterval(crossings, 0.95);
    covered += interval.low <= crossing && crossing <= interval.high ? 1 : 0;
  }
  return static_cast<double>(covered) / kRuns;
}

TEST(CrossingDown, ItsIntervalOverLaunchesCoversTheCrossing) {
  for (const double noise : {0.005, 0.02, 0.05, 0.1}) {
    for (const double crossing : {2.5, 3.2, 3.0, 0.5, 5.5}) {
      EXPECT_GE(Coverage(0.1, noise, crossing, 7), 0.935)
          << "noise " << noise << ", crossing at " << crossing;
    }
  }
}

}  // namespace
}  // namespace pagoda::judge

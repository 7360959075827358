#include "judge/stats/two_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Twice the number of pairs with x below y, ties half: an integer.
int DoubledPairs(const std::vector<double>& x, const std::vector<double>& y) {
  int pairs = 0;
  for (const double a : x) {
    for (const double b : y) pairs += a < b ? 2 : (a == b ? 1 : 0);
  }
  return pairs;
}

// The definition: over all ways to deal the values out, how often are the pairs as far from their middle?
double PByAllDeals(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> all = x;
  all.insert(all.end(), y.begin(), y.end());
  const int middle = static_cast<int>(x.size() * y.size());
  const int observed = std::abs(DoubledPairs(x, y) - middle);
  int64_t far = 0, deals = 0;
  for (uint32_t mask = 0; mask < uint32_t{1} << all.size(); ++mask) {
    if (static_cast<size_t>(std::popcount(mask)) != x.size()) continue;
    std::vector<double> first, second;
    for (size_t i = 0; i < all.size(); ++i) ((mask >> i & 1) != 0 ? first : second).push_back(all[i]);
    ++deals;
    far += std::abs(DoubledPairs(first, second) - middle) >= observed ? 1 : 0;
  }
  return static_cast<double>(far) / static_cast<double>(deals);
}

std::vector<double> Steps(double first, int count) {
  std::vector<double> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(RankSumDistribution, IsThatOfTheTables) {
  // Of three against two: 10 deals; the numbers of pairs 0..6 come up 1, 1, 2, 2, 2, 1, 1 times.
  const std::vector<double> chance = RankSumDistribution(3, 2);
  ASSERT_EQ(chance.size(), 7u);
  const std::vector<double> want = {0.1, 0.1, 0.2, 0.2, 0.2, 0.1, 0.1};
  for (size_t u = 0; u < want.size(); ++u) EXPECT_DOUBLE_EQ(chance[u], want[u]);
  // The tables of Mann and Whitney: at 8 against 8 the critical value of a two-sided 5% is 13.
  const std::vector<double> eight = RankSumDistribution(8, 8);
  EXPECT_LE(std::accumulate(eight.begin(), eight.begin() + 14, 0.0), 0.025);
  EXPECT_GT(std::accumulate(eight.begin(), eight.begin() + 15, 0.0), 0.025);
}

TEST(RankSumDistribution, StaysADistributionUpToTheLimit) {
  const std::vector<double> chance = RankSumDistribution(kMostExactRankSums / 2, kMostExactRankSums / 2);
  EXPECT_NEAR(std::accumulate(chance.begin(), chance.end(), 0.0), 1, 1e-12);
  EXPECT_DOUBLE_EQ(chance.front(), chance.back());
  EXPECT_THROW(RankSumDistribution(kMostExactRankSums, 1), Error);
  EXPECT_THROW(RankSumDistribution(0, 3), Error);
}

TEST(RankSumP, OfSamplesApartIsTheLeastPossible) {
  EXPECT_DOUBLE_EQ(RankSumP(Steps(0, 3), Steps(10, 3)), 2.0 / 20);
  EXPECT_DOUBLE_EQ(RankSumP(Steps(0, 4), Steps(10, 6)), 2.0 / 210);
}

TEST(RankSumP, IsOneForTheSameSampleTwice) {
  EXPECT_DOUBLE_EQ(RankSumP(Steps(0, 12), Steps(0, 12)), 1);
  EXPECT_DOUBLE_EQ(RankSumP(std::vector<double>(60, 1.0), std::vector<double>(60, 1.0)), 1);
}

RC_GTEST_PROP(RankSumP, IsThatOfAllDeals, ()) {
  const int n = *rc::gen::inRange(1, 6), m = *rc::gen::inRange(1, 6);
  const auto small = rc::gen::inRange(-4, 4);  // so that there are ties
  std::vector<double> x, y;
  for (int i = 0; i < n; ++i) x.push_back(*small);
  for (int i = 0; i < m; ++i) y.push_back(*small);
  RC_ASSERT(std::abs(RankSumP(x, y) - PByAllDeals(x, y)) < 1e-12);
  RC_ASSERT(std::abs(RankSumP(x, y) - RankSumP(y, x)) < 1e-12);
}

// The value that makes the second sample one too large for the exact way stands in the middle of both.
TEST(RankSumP, GoesOnSmoothlyWhereTheNormalApproximationTakesOver) {
  for (const double shift : {4.3, 8.3, 12.3, 18.3}) {
    std::vector<double> y = Steps(shift, 50);
    const double exact = RankSumP(Steps(0, 50), y);
    y.push_back(24.5 + shift / 2);
    const double normal = RankSumP(Steps(0, 50), y);
    EXPECT_GE(normal, 0.95 * exact) << shift;
    EXPECT_LE(normal, exact < 1e-3 ? 4 * exact : 1.3 * exact) << shift;
  }
}

TEST(ShiftInterval, IsTheMedianDifferenceBetweenOrderStatistics) {
  // 12 against 12: P(U <= 37) is the last at or below 2.5%, so the 38th difference from either end.
  const std::vector<double> x = Steps(0, 12);
  std::vector<double> y = Steps(100, 12);
  y[0] = 99.5;
  std::vector<double> differences;
  for (const double a : x) {
    for (const double b : y) differences.push_back(b - a);
  }
  std::sort(differences.begin(), differences.end());
  const Estimate shift = ShiftInterval(x, y, 0.95);
  EXPECT_DOUBLE_EQ(shift.value, 100);
  EXPECT_DOUBLE_EQ(shift.low, differences[37]);
  EXPECT_DOUBLE_EQ(shift.high, differences[144 - 38]);
}

TEST(ShiftInterval, IsUnboundedWhenTheSamplesAreTooSmallForTheLevel) {
  const Estimate shift = ShiftInterval(Steps(0, 3), Steps(5, 3), 0.95);
  EXPECT_EQ(shift.value, 5);
  EXPECT_EQ(shift.low, -kInf);
  EXPECT_EQ(shift.high, kInf);
}

TEST(ShiftInterval, CoversTheTruthAsOftenAsItSays) {
  Random random(2026);
  for (const auto& [n, m] : {std::pair{12, 12}, std::pair{8, 20}, std::pair{60, 60}}) {
    int covered = 0;
    constexpr int kTrials = 4000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> x, y;
      for (int i = 0; i < n; ++i) x.push_back(random.Normal());
      for (int i = 0; i < m; ++i) y.push_back(0.7 + random.Normal());
      const Estimate shift = ShiftInterval(x, y, 0.95);
      covered += shift.low <= 0.7 && 0.7 <= shift.high;
    }
    EXPECT_GE(covered, 0.94 * kTrials) << n << ", " << m << " (seed 2026)";
    EXPECT_LE(covered, 0.965 * kTrials) << n << ", " << m << " (seed 2026)";
  }
}

RC_GTEST_PROP(ShiftInterval, IsNegatedWhenTheSamplesChangePlaces, ()) {
  const auto values = rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-1000, 1000)));
  const std::vector<int> a = *values, b = *values;
  const std::vector<double> x(a.begin(), a.end()), y(b.begin(), b.end());
  const Estimate there = ShiftInterval(x, y, 0.9), back = ShiftInterval(y, x, 0.9);
  RC_ASSERT(there.value == -back.value);
  RC_ASSERT(there.low == -back.high);
  RC_ASSERT(there.high == -back.low);
}

RC_GTEST_PROP(ShiftInterval, ExcludesZeroExactlyWhenTheTestRejects, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  const int n = *rc::gen::inRange(4, 14), m = *rc::gen::inRange(4, 14);
  std::vector<double> x, y;  // without ties
  for (int i = 0; i < n; ++i) x.push_back(random.Normal());
  for (int i = 0; i < m; ++i) y.push_back(1 + random.Normal());
  const Estimate shift = ShiftInterval(x, y, 0.95);
  RC_ASSERT((shift.low > 0 || shift.high < 0) == (RankSumP(x, y) <= 0.05 * (1 + 1e-12)));
}

TEST(TwoSamples, RefuseNothingAndWhatIsNoNumber) {
  const std::vector<double> one = {1}, none, infinite = {kInf};
  for (const auto& [x, y] : {std::pair{one, none}, {none, one}, {one, infinite}}) {
    EXPECT_THROW(RankSumP(x, y), Error);
    EXPECT_THROW(ShiftInterval(x, y, 0.95), Error);
  }
  EXPECT_THROW(ShiftInterval(one, one, 1), Error);
}

}  // namespace
}  // namespace pagoda::judge

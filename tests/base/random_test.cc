#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace pagoda {
namespace {

// xoshiro256** and SplitMix64 as their authors' reference code gives them for seed 0.
TEST(Random, MatchesTheReferenceSequences) {
  uint64_t state = 0;
  EXPECT_EQ(SplitMix64(state), 0xe220a8397b1dcdafU);
  EXPECT_EQ(SplitMix64(state), 0x6e789e6aa1b965f4U);
  Random random(0);
  EXPECT_EQ(random.Bits(), 0x99ec5f36cb75f2b4U);
  EXPECT_EQ(random.Bits(), 0xbf6e1f784956452aU);
}

TEST(Random, SameSeedSameSequenceOtherSeedOther) {
  Random a(7), b(7), c(8);
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t x = a.Bits();
    EXPECT_EQ(x, b.Bits());
    equal += x == c.Bits() ? 1 : 0;
  }
  EXPECT_EQ(equal, 0);
}

TEST(Random, UniformStaysInRangeWithTheRightMoments) {
  Random random(2026);
  const int n = 200000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double u = random.Uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.005);
}

TEST(Random, BelowReachesEveryValueEvenly) {
  Random random(1);
  EXPECT_EQ(random.Below(0), 0U);
  EXPECT_EQ(random.Below(1), 0U);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts[random.Below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  // Plain remainders would fall into the lowest third of this range half of the time.
  const uint64_t huge = uint64_t{3} << 62;
  int low = 0;
  for (int i = 0; i < 10000; ++i) {
    const uint64_t x = random.Below(huge);
    ASSERT_LT(x, huge);
    low += x < huge / 3 ? 1 : 0;
  }
  EXPECT_NEAR(low, 3333, 250);
}

TEST(Random, BetweenIncludesBothEndsAndTheWholeRange) {
  Random random(3);
  bool low = false, high = false;
  for (int i = 0; i < 1000; ++i) {
    const int64_t x = random.Between(-2, 3);
    ASSERT_GE(x, -2);
    ASSERT_LE(x, 3);
    low |= x == -2;
    high |= x == 3;
  }
  EXPECT_TRUE(low && high);
  EXPECT_EQ(random.Between(5, 5), 5);
  bool negative = false, positive = false;
  for (int i = 0; i < 100; ++i) {
    const int64_t x =
        random.Between(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    negative |= x < 0;
    positive |= x > 0;
  }
  EXPECT_TRUE(negative && positive);
}

// The largest distance between the empirical and the true distribution; 1.95/sqrt(n) is passed in one run of
// 1000.
TEST(Random, NormalHasTheNormalDistribution) {
  Random random(2026);
  std::vector<double> x(200000);
  for (double& value : x) value = random.Normal();
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double distance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = 0.5 * std::erfc(-x[i] / std::sqrt(2.0));
    const auto rank = static_cast<double>(i);
    distance = std::max({distance, std::abs(p - rank / n), std::abs(p - (rank + 1) / n)});
  }
  EXPECT_LT(distance, 1.95 / std::sqrt(n));
}

TEST(Random, NormalTailsAreThereOnBothSides) {
  Random random(11);
  const int n = 2'000'000;
  int left = 0, right = 0, far = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random.Normal();
    left += x < -3.442619855899 ? 1 : 0;
    right += x > 3.442619855899 ? 1 : 0;
    far += std::abs(x) > 4 ? 1 : 0;
  }
  const double expected = n * 0.5 * std::erfc(3.442619855899 / std::sqrt(2.0));  // 576
  EXPECT_NEAR(left, expected, 5 * std::sqrt(expected));
  EXPECT_NEAR(right, expected, 5 * std::sqrt(expected));
  const double beyond_four = n * std::erfc(4 / std::sqrt(2.0));  // 127
  EXPECT_NEAR(far, beyond_four, 5 * std::sqrt(beyond_four));
}

TEST(Random, NormalBitsAreTheSameOnEveryCompiler) {
  Random random(42);
  uint64_t hash = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = random.Normal();
    hash = hash * 31 + std::bit_cast<uint64_t>(x);
  }
  EXPECT_EQ(hash, 14238121425025843685U);
}

TEST(Random, ShuffleIsAPermutationAndReachesAllOfThem) {
  Random random(5);
  std::vector<int> reached(6);
  for (int i = 0; i < 6000; ++i) {
    std::vector<int> v{0, 1, 2};
    random.Shuffle(std::span(v));
    const int code = v[0] * 2 + (v[1] > v[2] ? 1 : 0);
    ++reached[code];
    ASSERT_EQ(std::accumulate(v.begin(), v.end(), 0), 3);
  }
  for (const int count : reached) EXPECT_NEAR(count, 1000, 150);
}

TEST(Random, ForksDependOnSeedAndStreamOnly) {
  Random a(9);
  Random first = a.Fork(1);
  a.Bits();
  Random again = a.Fork(1);
  Random other = a.Fork(2);
  const uint64_t x = first.Bits();
  EXPECT_EQ(x, again.Bits());
  EXPECT_NE(x, other.Bits());
  EXPECT_NE(x, Random(9).Bits());
}

}  // namespace
}  // namespace pagoda

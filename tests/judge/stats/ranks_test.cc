#include "judge/stats/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> Negated(std::vector<double> sample) {
  for (double& x : sample) x = -x;
  return sample;
}

// Mean ranks of |x| by counting, which shares no code with the shipped ranking.
std::vector<double> MeanRanks(const std::vector<double>& sample) {
  std::vector<double> ranks;
  for (const double x : sample) {
    double below = 0;
    double equal = 0;
    for (const double y : sample) {
      below += std::abs(y) < std::abs(x) ? 1 : 0;
      equal += std::abs(y) == std::abs(x) ? 1 : 0;
    }
    ranks.push_back(below + (equal + 1) / 2);
  }
  return ranks;
}

// The definition: over all 2^n signs, how often is the rank sum as far from its centre as the observed one?
double PByAllSigns(std::vector<double> sample) {
  std::erase(sample, 0.0);
  const std::vector<double> ranks = MeanRanks(sample);
  double centre = 0;
  double observed = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    centre += ranks[i] / 2;
    if (sample[i] > 0) observed += ranks[i];
  }
  int64_t far = 0;
  const uint32_t patterns = uint32_t{1} << ranks.size();
  for (uint32_t signs = 0; signs < patterns; ++signs) {
    double sum = 0;
    for (size_t i = 0; i < ranks.size(); ++i) sum += (signs >> i & 1) != 0 ? ranks[i] : 0;
    if (std::abs(sum - centre) >= std::abs(observed - centre) - 1e-9) ++far;
  }
  return static_cast<double>(far) / patterns;
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleValues) {
  EXPECT_EQ(Median(std::vector<double>{3}), 3);
  EXPECT_EQ(Median(std::vector<double>{5, 1, 3}), 3);
  EXPECT_EQ(Median(std::vector<double>{4, 1, 3, 2}), 2.5);
}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  const std::vector<double> sample = {40, 10, 30, 20, 50};
  EXPECT_EQ(Quantile(sample, 0), 10);
  EXPECT_DOUBLE_EQ(Quantile(sample, 0.1), 14);
  EXPECT_EQ(Quantile(sample, 0.5), 30);
  EXPECT_EQ(Quantile(sample, 1), 50);
}

TEST(StandardDeviation, DividesByOneLess) {
  EXPECT_DOUBLE_EQ(StandardDeviation(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7));
  EXPECT_EQ(StandardDeviation(std::vector<double>{2}), 0);
}

TEST(Samples, RefuseNothingAndWhatIsNoNumber) {
  EXPECT_THROW(Median({}), Error);
  EXPECT_THROW(HodgesLehmann({}), Error);
  EXPECT_THROW(SignedRankP({}), Error);
  EXPECT_THROW(Quantile(std::vector<double>{1}, 1.5), Error);
  EXPECT_THROW(HodgesLehmannInterval(std::vector<double>{1}, 1), Error);
  try {
    Mean(std::vector<double>{1, kInf});
    FAIL() << "an infinite value was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "sample[1]");
  }
  EXPECT_THROW(SignedRankP(std::vector<double>(kMaxExactRanks + 1, 1.0)), Error);
}

TEST(WalshAverages, AreAllPairsWithThemselves) {
  EXPECT_THAT(WalshAverages(std::vector<double>{4, 1, 2}), ElementsAre(1, 1.5, 2, 2.5, 3, 4));
  EXPECT_EQ(HodgesLehmann(std::vector<double>{4, 1, 2}), 2.25);
}

TEST(SignedRankDistribution, IsThatOfAllSignPatterns) {
  for (int n = 0; n <= 14; ++n) {
    std::vector<double> want(static_cast<size_t>(n * (n + 1) / 2 + 1), 0.0);
    for (uint32_t signs = 0; signs < uint32_t{1} << n; ++signs) {
      size_t sum = 0;
      for (int i = 0; i < n; ++i) sum += (signs >> i & 1) != 0 ? static_cast<size_t>(i + 1) : 0;
      want[sum] += std::ldexp(1.0, -n);
    }
    EXPECT_EQ(SignedRankDistribution(n), want) << n;
  }
}

TEST(SignedRankDistribution, StaysADistributionUpToTheLimit) {
  for (const int n : {60, kMaxExactRanks}) {
    const std::vector<double> chance = SignedRankDistribution(n);
    double total = 0;
    double mean = 0;
    for (size_t w = 0; w < chance.size(); ++w) {
      total += chance[w];
      mean += chance[w] * static_cast<double>(w);
    }
    EXPECT_NEAR(total, 1, 1e-12);
    EXPECT_NEAR(mean / (n * (n + 1) / 4.0), 1, 1e-12);
    EXPECT_EQ(chance.front(), std::ldexp(1.0, -n));
  }
}

TEST(SignedRankP, IsExactOnUntiedSamples) {
  const uint64_t seed = 20260;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0.3);
  for (int n = 1; n <= 12; ++n) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<double> sample(static_cast<size_t>(n));
      for (double& x : sample) x = normal(random);
      EXPECT_NEAR(SignedRankP(sample), PByAllSigns(sample), 1e-12);
    }
  }
}

TEST(SignedRankP, IsExactWithTiesAndZeros) {
  const uint64_t seed = 20261;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> small(-3, 4);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<double> sample(10);
    for (double& x : sample) x = small(random);
    EXPECT_NEAR(SignedRankP(sample), PByAllSigns(sample), 1e-12) << testing::PrintToString(sample);
  }
  EXPECT_EQ(SignedRankP(std::vector<double>{0, 0, 0}), 1);
}

TEST(SignedRankP, OfOneSidedSamplesIsTheLeastPossible) {
  for (int n = 1; n <= 60; ++n) {
    const std::vector<double> sample(static_cast<size_t>(n), -0.5);
    EXPECT_DOUBLE_EQ(SignedRankP(sample), std::min(1.0, std::ldexp(2.0, -n)));
  }
}

// Order statistics of the Walsh averages to count in from each end at 95%, from the tables of the signed-rank
// test (Hollander, Wolfe and Chicken, table A.4: the largest c with 2 P(T <= c - 1) <= 0.05).
TEST(HodgesLehmannInterval, CountsInAsTheTablesSay) {
  struct Row {
    int n;
    size_t c;
  };
  for (const Row row : {Row{6, 1}, {7, 3}, {8, 4}, {9, 6}, {10, 9}, {12, 14}, {15, 26}, {20, 53}, {25, 90}}) {
    std::vector<double> sample;
    for (int i = 0; i < row.n; ++i) sample.push_back(std::ldexp(1.0, i));
    const std::vector<double> walsh = WalshAverages(sample);
    const Estimate got = HodgesLehmannInterval(sample, 0.95);
    EXPECT_EQ(got.low, walsh[row.c - 1]) << row.n;
    EXPECT_EQ(got.high, walsh[walsh.size() - row.c]) << row.n;
  }
}

TEST(HodgesLehmannInterval, IsUnboundedWhenTheSampleIsTooSmallForTheLevel) {
  const std::vector<double> five = {1, 2, 3, 4, 5};
  EXPECT_EQ(HodgesLehmannInterval(five, 0.95).low, -kInf);
  EXPECT_EQ(HodgesLehmannInterval(five, 0.95).high, kInf);
  EXPECT_EQ(HodgesLehmannInterval(five, 0.95).value, 3);
  EXPECT_EQ(HodgesLehmannInterval(five, 0.90).low, 1);
  // 1 - 0.9375 = 2 / 2^5 exactly: the level that five values reach with nothing to spare.
  EXPECT_EQ(HodgesLehmannInterval(five, 0.9375).high, 5);
}

RC_GTEST_PROP(HodgesLehmannInterval, ExcludesZeroExactlyWhenTheTestRejects, ()) {
  const auto n = *rc::gen::inRange(5, 16);
  const auto seed = *rc::gen::arbitrary<uint32_t>();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0.6);
  std::vector<double> sample(static_cast<size_t>(n));
  for (double& x : sample) x = normal(random);
  const Estimate interval = HodgesLehmannInterval(sample, 0.95);
  RC_ASSERT((interval.low > 0 || interval.high < 0) == (SignedRankP(sample) <= 0.05));
}

TEST(OpenHodgesLehmannInterval, OfFiniteValuesIsTheUsualOne) {
  const std::vector<double> sample = {3, -1, 4, 1, -5, 9, 2, 6};
  const Estimate open = OpenHodgesLehmannInterval(sample, 0.95), usual = HodgesLehmannInterval(sample, 0.95);
  EXPECT_EQ(open.value, usual.value);
  EXPECT_EQ(open.low, usual.low);
  EXPECT_EQ(open.high, usual.high);
}

// Values beyond the end count as such, however far: nothing changes while a finite one stays beyond the rest.
TEST(OpenHodgesLehmannInterval, HasAnOpenEndWhereAverageLaunchesAreBeyondIt) {
  const std::vector<double> one = {1, 2, 3, 4, 5, 6, 7, kInf};
  const Estimate got = OpenHodgesLehmannInterval(one, 0.95);
  std::vector<double> far = one;
  far.back() = 1e6;
  const Estimate finite = HodgesLehmannInterval(far, 0.95);
  EXPECT_EQ(got.value, finite.value);
  EXPECT_EQ(got.low, finite.low);
  EXPECT_EQ(got.high, kInf);
  EXPECT_GT(finite.high, 1e5);
  const Estimate most =
      OpenHodgesLehmannInterval(std::vector<double>{1, 2, kInf, kInf, kInf, kInf, kInf}, 0.95);
  EXPECT_EQ(most.value, kInf);
  EXPECT_EQ(most.low, 2);
  EXPECT_EQ(most.high, kInf);
}

TEST(OpenHodgesLehmannInterval, TakesOpposedValuesForTheWorstAtEitherEnd) {
  const Estimate balanced =
      OpenHodgesLehmannInterval(std::vector<double>{-kInf, -kInf, -kInf, 1, kInf, kInf, kInf}, 0.95);
  EXPECT_EQ(balanced.low, -kInf);
  EXPECT_EQ(balanced.high, kInf);
  EXPECT_TRUE(std::isnan(balanced.value)) << "it hangs on what -inf and inf average to";
  std::vector<double> sample = {-kInf, kInf};
  for (int i = 1; i <= 14; ++i) sample.push_back(i);
  const Estimate got = OpenHodgesLehmannInterval(sample, 0.95);
  EXPECT_TRUE(std::isfinite(got.low) && std::isfinite(got.high)) << got.low << " " << got.high;
  EXPECT_LE(got.low, 7.5);
  EXPECT_GE(got.high, 7.5);
  EXPECT_THROW(OpenHodgesLehmannInterval(std::vector<double>{1, std::nan("")}, 0.95), Error);
  EXPECT_THROW(HodgesLehmannInterval(std::vector<double>{1, kInf}, 0.95), Error);
}

RC_GTEST_PROP(Ranks, OfTheMirroredSampleAreMirroredExactly, (std::vector<int> whole)) {
  RC_PRE(!whole.empty());
  std::vector<double> sample;
  for (const int x : whole) sample.push_back(x / 7.0);
  const std::vector<double> mirror = Negated(sample);
  std::vector<double> open = sample;
  open.push_back(kInf);
  const Estimate c = OpenHodgesLehmannInterval(open, 0.95);
  const Estimate d = OpenHodgesLehmannInterval(Negated(open), 0.95);
  RC_ASSERT(c.low == -d.high && c.high == -d.low);
  const Estimate a = HodgesLehmannInterval(sample, 0.95);
  const Estimate b = HodgesLehmannInterval(mirror, 0.95);
  RC_ASSERT(a.value == -b.value);
  RC_ASSERT(a.low == -b.high);
  RC_ASSERT(a.high == -b.low);
  RC_ASSERT(SignedRankP(sample) == SignedRankP(mirror));
}

}  // namespace
}  // namespace pagoda::judge

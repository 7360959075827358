#include "judge/stats/rates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

double Binomial(int k, int n, double p) {
  return std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0)) * std::pow(p, k) *
         std::pow(1 - p, n - k);
}

TEST(Rates, WithoutASuccessTheUpperEndIsAPower) {
  // (1 - p)^n = 0.025
  const Estimate rate = Rate(0, 60, 0.95);
  EXPECT_EQ(rate.value, 0);
  EXPECT_EQ(rate.low, 0);
  EXPECT_NEAR(rate.high, 1 - std::pow(0.025, 1.0 / 60), 1e-12);
}

TEST(Rates, AllAndNoneMirrorEachOther) {
  for (const int n : {1, 7, 60, 1000}) {
    for (const int k : {0, 1, n / 2, n}) {
      const Estimate rate = Rate(k, n, 0.9), mirrored = Rate(n - k, n, 0.9);
      EXPECT_NEAR(rate.low, 1 - mirrored.high, 1e-10);
      EXPECT_NEAR(rate.high, 1 - mirrored.low, 1e-10);
      EXPECT_LE(rate.low, rate.value);
      EXPECT_GE(rate.high, rate.value);
    }
  }
}

// At each end a tail of exactly 2.5% is left, by sums of whole binomial coefficients.
TEST(Rates, TheEndsLeaveTheTails) {
  const Estimate three = Rate(3, 60, 0.95);
  EXPECT_NEAR(three.low, 0.0104323296, 1e-9);
  EXPECT_NEAR(three.high, 0.1392432467, 1e-9);
  const Estimate one = Rate(1, 10, 0.95);
  EXPECT_NEAR(one.low, 0.0025285785, 1e-9);
  EXPECT_NEAR(one.high, 0.4450161170, 1e-9);
}

TEST(Rates, TheIntervalCoversEveryTrueRateAtTheLevelAtLeast) {
  for (const int n : {5, 20, 60}) {
    std::vector<Estimate> of_count;
    for (int k = 0; k <= n; ++k) of_count.push_back(Rate(k, n, 0.95));
    for (double p = 0.005; p < 1; p += 0.005) {
      double covered = 0;
      for (int k = 0; k <= n; ++k) {
        if (of_count[k].low <= p && p <= of_count[k].high) covered += Binomial(k, n, p);
      }
      EXPECT_GE(covered, 0.95 - 1e-9) << "n " << n << " p " << p;
    }
  }
}

TEST(Rates, WithoutATrialNothingIsKnown) {
  const Estimate rate = Rate(0, 0, 0.95);
  EXPECT_TRUE(std::isnan(rate.value));
  EXPECT_EQ(rate.low, 0);
  EXPECT_EQ(rate.high, 1);
}

TEST(Rates, CountsThatCantBeAreRefused) {
  EXPECT_THROW(Rate(-1, 5, 0.95), Error);
  EXPECT_THROW(Rate(6, 5, 0.95), Error);
  EXPECT_THROW(Rate(1, 5, 1), Error);
  EXPECT_THROW(Rate(1, 5, 0), Error);
}

}  // namespace
}  // namespace pagoda::judge

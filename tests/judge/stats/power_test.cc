#include "judge/stats/power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

TEST(NormalQuantile, AgreesWithTheTables) {
  EXPECT_NEAR(NormalQuantile(0.95), 1.6448536269514722, 1e-12);
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(NormalQuantile(0.0001), -3.719016485455709, 1e-11);
  EXPECT_EQ(NormalQuantile(0.5), 0);
}

TEST(StudentQuantile, HasClosedFormsAtOneAndTwoDegrees) {
  for (const double p : {0.6, 0.9, 0.975, 0.9995, 0.025}) {
    EXPECT_NEAR(StudentQuantile(p, 1) / std::tan(std::numbers::pi * (p - 0.5)), 1, 1e-10);
    const double a = 2 * p - 1;
    EXPECT_NEAR(StudentQuantile(p, 2) / (a * std::sqrt(2 / (1 - a * a))), 1, 1e-10);
  }
}

TEST(StudentQuantile, AgreesWithTheTables) {
  EXPECT_NEAR(StudentQuantile(0.975, 3), 3.182446305284263, 1e-9);
  EXPECT_NEAR(StudentQuantile(0.975, 11), 2.200985160082949, 1e-9);
  EXPECT_NEAR(StudentQuantile(0.95, 23), 1.713871527747048, 1e-9);
  EXPECT_NEAR(StudentQuantile(0.9995, 10), 4.586893858702636, 1e-9);
  EXPECT_NEAR(StudentQuantile(0.975, 100), 1.983971518523552, 1e-9);
}

TEST(LeastLaunches, AreThoseWhoseLeastPReachesAlpha) {
  EXPECT_EQ(LeastLaunches(0.05), 6);  // 2 / 2^6 = 0.031
  EXPECT_EQ(LeastLaunches(AdjustedAlpha(10, 4)), 11);
  EXPECT_EQ(LeastLaunches(1.0 / 1024), 11);  // 2 / 2^11 = 1 / 1024 exactly
  for (double alpha = 0.2; alpha > 1e-6; alpha *= 0.7) {
    const int launches = LeastLaunches(alpha);
    EXPECT_LE(std::ldexp(2.0, -launches), alpha);
    EXPECT_GT(std::ldexp(2.0, -(launches - 1)), alpha);
  }
}

// 2 / C(2J, J): 0.1, 0.0286 and 0.0079 at J = 3, 4 and 5.
TEST(LeastLaunchesOfTwo, AreThoseWhoseLeastPReachesAlpha) {
  EXPECT_EQ(LeastLaunchesOfTwo(0.1 + 1e-12), 3);
  EXPECT_EQ(LeastLaunchesOfTwo(0.05), 4);
  EXPECT_EQ(LeastLaunchesOfTwo(2.0 / 70 + 1e-12), 4);
  EXPECT_EQ(LeastLaunchesOfTwo(2.0 / 70 - 1e-12), 5);
  EXPECT_EQ(LeastLaunchesOfTwo(0.05 / 40), 7);
  EXPECT_THROW(LeastLaunchesOfTwo(0), Error);
}

TEST(PlannedLaunches, AreTwelveOrThreeAboveTheFewest) {
  EXPECT_EQ(PlannedLaunches(0.05), 12);
  EXPECT_EQ(PlannedLaunches(AdjustedAlpha(10, 1)), 12);
  EXPECT_EQ(PlannedLaunches(AdjustedAlpha(10, 4)), 14);
  EXPECT_EQ(PlannedLaunches(AdjustedAlpha(60, 4)), 17);
}

TEST(MinimumDetectableEffect, IsTheFormula) {
  const double s = 0.008 / std::sqrt(0.955 * 12);
  EXPECT_NEAR(MinimumDetectableEffect(0.008, 12, 0.001, 0.05, 0.95),
              2.200985160082949 * s + 1.6448536269514722 * s, 1e-12);
  // Below delta_star nothing is a WIN, however small the noise.
  EXPECT_NEAR(MinimumDetectableEffect(0.008, 12, 0.01, 0.05, 0.95), 0.01 + 1.6448536269514722 * s, 1e-12);
  EXPECT_EQ(MinimumDetectableEffect(0, 12, 0.01, 0.05), 0.01);
}

TEST(MinimumDetectableEffect, IsInfiniteWhereTheTestCanNeverReject) {
  EXPECT_TRUE(std::isinf(MinimumDetectableEffect(0.001, 5, 0.01, 0.05)));
  EXPECT_TRUE(std::isinf(MinimumDetectableEffect(0.001, 10, 0.01, AdjustedAlpha(10, 4))));
  EXPECT_FALSE(std::isinf(MinimumDetectableEffect(0.001, 11, 0.01, AdjustedAlpha(10, 4))));
}

TEST(LaunchesFor, IsTheLeastThatSeesTheEffect) {
  EXPECT_EQ(LaunchesFor(0.002, 0.02, 0.01, 0.05), kDefaultLaunches);
  for (const double sigma : {0.015, 0.02, 0.03}) {
    const int launches = LaunchesFor(sigma, 0.02, 0.01, 0.05, 2);
    ASSERT_GT(launches, 0);
    EXPECT_LE(MinimumDetectableEffect(sigma, launches, 0.01, 0.05), 0.02);
    EXPECT_GT(MinimumDetectableEffect(sigma, launches - 1, 0.01, 0.05), 0.02);
  }
  EXPECT_EQ(LaunchesFor(0.002, 0.02, 0.01, AdjustedAlpha(60, 4)), PlannedLaunches(AdjustedAlpha(60, 4)));
}

TEST(LaunchesFor, IsZeroWhenNoPracticalNumberDoes) {
  EXPECT_EQ(LaunchesFor(0.01, 0.0099, 0.01, 0.05), 0);
  EXPECT_EQ(LaunchesFor(0.9, 0.02, 0.01, 0.05), 0);
}

TEST(Power, RefusesWhatIsOutOfRange) {
  EXPECT_THROW(NormalQuantile(1), Error);
  EXPECT_THROW(StudentQuantile(0.9, 0), Error);
  EXPECT_THROW(AdjustedAlpha(0, 1), Error);
  EXPECT_THROW(LeastLaunches(0), Error);
}

}  // namespace
}  // namespace pagoda::judge

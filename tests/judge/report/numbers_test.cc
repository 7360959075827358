#include "judge/report/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pagoda::judge {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Significant, KeepsThreeDigits) {
  EXPECT_EQ(Significant(0.012345), "0.0123");
  EXPECT_EQ(Significant(1.2345), "1.23");
  EXPECT_EQ(Significant(-12.345), "-12.3");
  EXPECT_EQ(Significant(123.45), "123");
  EXPECT_EQ(Significant(1234.5), "1,230");
  EXPECT_EQ(Significant(-1234567), "-1,230,000");
  EXPECT_EQ(Significant(0), "0");
}

TEST(Significant, RoundingMayAddADigitBeforeThePoint) {
  EXPECT_EQ(Significant(9.996), "10.0");
  EXPECT_EQ(Significant(99.96), "100");
  EXPECT_EQ(Significant(999.6), "1,000");
  EXPECT_EQ(Significant(0.09996), "0.100");
}

TEST(Significant, SmallNumbersTakeAnExponent) {
  EXPECT_EQ(Significant(0.00123), "0.00123");
  EXPECT_EQ(Significant(0.000123), "1.23e-04");
}

TEST(Significant, WhatIsNotFiniteSaysSo) {
  EXPECT_EQ(Significant(kNaN), "n/a");
  EXPECT_EQ(Significant(-kInf), "n/a");
}

TEST(Micros, TakesTheUnitThatFits) {
  EXPECT_EQ(Micros(0.85), "850 ns");
  EXPECT_EQ(Micros(12.34), "12.3 µs");
  EXPECT_EQ(Micros(1234), "1.23 ms");
  EXPECT_EQ(Micros(4.56e6), "4.56 s");
  EXPECT_EQ(Micros(0), "0 µs");
  EXPECT_EQ(Micros(kNaN), "n/a");
}

TEST(Micros, TheUnitIsChosenAfterRounding) {
  EXPECT_EQ(Micros(999.6), "1.00 ms");
  EXPECT_EQ(Micros(0.9996), "1.00 µs");
  EXPECT_EQ(Micros(999400), "999 ms");
}

TEST(Elapsed, SecondsMinutesHours) {
  EXPECT_EQ(Elapsed(4.5), "4.50 s");
  EXPECT_EQ(Elapsed(221), "3 m 41 s");
  EXPECT_EQ(Elapsed(3725), "1 h 2 m");
}

TEST(Ratio, KeepsThreeDigits) {
  EXPECT_EQ(Ratio(1.0704), "1.07×");
  EXPECT_EQ(Ratio(0.95372), "0.954×");
  EXPECT_EQ(Ratio(12.34), "12.3×");
  EXPECT_EQ(Ratio(kNaN), "n/a");
}

TEST(Ratio, TheIntervalHasTheDecimalsOfTheValue) {
  EXPECT_EQ(RatioWithInterval(1.0704, 0.9981, 1.1523), "1.07× [1.00, 1.15]");
  EXPECT_EQ(RatioWithInterval(0.9537, 0.9312, 1.0023), "0.954× [0.931, 1.002]");
}

TEST(Ratio, ANarrowIntervalGetsMoreDecimals) {
  EXPECT_EQ(RatioWithInterval(1.0704, 1.0691, 1.0722), "1.070× [1.069, 1.072]");
  EXPECT_EQ(RatioWithInterval(1.07001, 1.06996, 1.07012), "1.0700× [1.0700, 1.0701]");
  EXPECT_EQ(RatioWithInterval(2, 2, 2), "2.00× [2.00, 2.00]");
}

TEST(Ratio, AMissingBoundSaysSo) { EXPECT_EQ(RatioWithInterval(1.5, kNaN, kInf), "1.50× [n/a, ∞]"); }

TEST(Ratio, AnIntervalWithoutBoundsIsNone) {
  EXPECT_EQ(RatioWithInterval(1.5, 0, kInf), "1.50× [no interval]");
  EXPECT_EQ(FineRatioWithInterval(1.5, 0, kInf, "x"), "1.500x [no interval]");
}

TEST(Numbers, WhatIsNoNumberIsNotAvailable) {
  for (const double value : {kInf, -kInf, kNaN}) {
    EXPECT_EQ(RatioWithInterval(value, 0, kInf), "n/a");
    EXPECT_EQ(FineRatioWithInterval(value, 0, kInf, "x"), "n/a");
    EXPECT_EQ(FineRatio(value, "x"), "n/a");
    EXPECT_EQ(Percent(value), "n/a");
    EXPECT_EQ(Micros(value), "n/a");
    EXPECT_EQ(Scientific(value), "n/a");
  }
}

TEST(FineRatio, HasThreeDecimalsBelowTen) {
  EXPECT_EQ(FineRatio(1.07, "x"), "1.070x");
  EXPECT_EQ(FineRatioWithInterval(1.0004, 0.9981, 1.0022, "×"), "1.000× [0.998, 1.002]");
  EXPECT_EQ(FineRatioWithInterval(12.345, 12.01, 12.96, "x"), "12.3x [12.0, 13.0]");
}

TEST(Percent, OfAShare) {
  EXPECT_EQ(Percent(0.8731), "87.3%");
  EXPECT_EQ(Percent(1.2041), "120.4%");
  EXPECT_EQ(Percent(0.0133), "1.3%");
  EXPECT_EQ(Percent(0), "0.0%");
  EXPECT_EQ(Percent(0.0001), "<0.1%");
  EXPECT_EQ(Percent(kInf), "n/a");
  EXPECT_EQ(SetPercent(0.01), "1%");
  EXPECT_EQ(SetPercent(0.0025), "0.25%");
}

TEST(Scientific, TwoDigits) {
  EXPECT_EQ(Scientific(3.14e-5), "3.1e-05");
  EXPECT_EQ(Scientific(0), "0");
  EXPECT_EQ(Scientific(kInf), "n/a");
}

TEST(Bytes, PowersOf1024) {
  EXPECT_EQ(Bytes(512), "512 B");
  EXPECT_EQ(Bytes(1536), "1.50 KiB");
  EXPECT_EQ(Bytes(32.0 * 1024 * 1024), "32.0 MiB");
}

TEST(Count, SeparatesThousands) {
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(1234567), "1,234,567");
  EXPECT_EQ(Counted(1, "case", "cases"), "1 case");
  EXPECT_EQ(Counted(0, "case", "cases"), "0 cases");
}

}  // namespace
}  // namespace pagoda::judge

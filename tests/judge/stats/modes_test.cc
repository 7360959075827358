#include "judge/stats/modes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

namespace pagoda::judge {
namespace {

TEST(FindModes, FindsTwoGroupsAndSaysWhereTheyAre) {
  const auto modes = FindModes(std::vector<double>{5.1, 0.1, 0.2, 5.0, 0.0, 5.2, 0.1, 5.1, 0.2, 5.0});
  ASSERT_TRUE(modes.has_value());
  EXPECT_DOUBLE_EQ(modes->low, 0.1);
  EXPECT_DOUBLE_EQ(modes->high, 5.1);
  EXPECT_EQ(modes->low_count, 5);
  EXPECT_EQ(modes->high_count, 5);
  EXPECT_GT(modes->separation, 40);
}

TEST(FindModes, FindsTwoGroupsWithoutAnySpread) {
  EXPECT_TRUE(FindModes(std::vector<double>{1, 1, 1, 1, 2, 2, 2, 2}).has_value());
}

TEST(FindModes, OneOrTwoStragglersAreNoGroup) {
  EXPECT_FALSE(FindModes(std::vector<double>{0.1, 0.2, 0.15, 0.05, 0.12, 0.3, 0.18, 0.22, 0.25, 9, 9.1}));
}

TEST(FindModes, EvenlySpreadOrEqualValuesAreOneGroup) {
  std::vector<double> ramp;
  for (int i = 0; i < 24; ++i) ramp.push_back(i);
  EXPECT_FALSE(FindModes(ramp));
  EXPECT_FALSE(FindModes(std::vector<double>(12, 1.5)));
}

TEST(FindModes, SaysNothingOfTooFewValues) {
  EXPECT_FALSE(FindModes(std::vector<double>{1, 1, 1, 2, 2, 2, 2}));
  EXPECT_FALSE(FindModes({}));
}

RC_GTEST_PROP(FindModes, OfTheMirroredSampleAreTheMirroredModes, ()) {
  const auto n = *rc::gen::inRange<size_t>(8, 25);
  const auto whole = *rc::gen::container<std::vector<int>>(n, rc::gen::inRange(-3, 4));
  std::vector<double> sample;
  std::vector<double> mirror;
  for (const int x : whole) {
    sample.push_back(x * x * x);
    mirror.push_back(-sample.back());
  }
  const auto a = FindModes(sample);
  const auto b = FindModes(mirror);
  RC_ASSERT(a.has_value() == b.has_value());
  if (a) RC_ASSERT(a->separation == b->separation || std::abs(a->separation / b->separation - 1) < 1e-9);
}

}  // namespace
}  // namespace pagoda::judge

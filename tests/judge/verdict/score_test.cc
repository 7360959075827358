#include "judge/verdict/score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pagoda::judge {
namespace {

Outcome Of(Verdict verdict, double theta, double half_width) {
  Outcome outcome;
  outcome.verdict = verdict;
  outcome.theta = {theta, theta - half_width, theta + half_width};
  return outcome;
}

TEST(Score, OnTheSameCodeBothDirectionsAreWrong) {
  Score score(0);
  score.Add(Of(Verdict::kTie, 0.001, 0.002));
  score.Add(Of(Verdict::kWin, -0.02, 0.005));
  score.Add(Of(Verdict::kLoss, 0.02, 0.005));
  score.Add(Of(Verdict::kInconclusive, 0.01, 0.02));
  EXPECT_EQ(score.runs(), 4);
  EXPECT_EQ(score.Wrong().value, 0.5);
  EXPECT_EQ(score.Found().value, 0.25);
  EXPECT_EQ(score.Held().value, 0.5);
}

TEST(Score, OnSlowerCodeOnlyAWinIsWrong) {
  Score score(std::log(1.02));
  score.Add(Of(Verdict::kLoss, 0.0198, 0.001));
  score.Add(Of(Verdict::kTie, 0.005, 0.001));
  score.Add(Of(Verdict::kWin, -0.02, 0.001));
  EXPECT_DOUBLE_EQ(score.Wrong().value, 1.0 / 3);
  EXPECT_DOUBLE_EQ(score.Found().value, 1.0 / 3);
  EXPECT_DOUBLE_EQ(score.Held().value, 1.0 / 3);
  EXPECT_NEAR(score.MedianSpeedup(), std::exp(-0.005), 1e-12);
}

TEST(Score, ARunWithoutANumberCountsAsARunOnly) {
  Score score(0);
  Outcome invalid;
  invalid.verdict = Verdict::kInvalid;
  invalid.theta.value = std::numeric_limits<double>::quiet_NaN();
  score.Add(invalid);
  EXPECT_EQ(score.runs(), 1);
  EXPECT_EQ(score.Wrong().value, 0);
  EXPECT_TRUE(std::isnan(score.Held().value));
  EXPECT_TRUE(std::isnan(score.MedianSpeedup()));
}

}  // namespace
}  // namespace pagoda::judge

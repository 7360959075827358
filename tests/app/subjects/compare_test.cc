#include "app/subjects/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace pagoda::app {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const float kNaN = std::nanf("");

// One head of dim 2 over two rows.
struct Pair {
  std::vector<float> out = {1, 2, 3, 4};
  std::vector<float> lse = {0.5, 0.25};
  OracleResult want{{0, 1}, {1, 2, 3, 4}, {0.5, 0.25}, {1, 1}, false};

  Comparison Compare(const Tolerance& tolerance) {
    return app::Compare(TensorView::Dense(out.data(), DType::kF32, {2, 1, 2}),
                        TensorView::Dense(lse.data(), DType::kF32, {2, 1}), want, tolerance);
  }
};

TEST(Compare, TheBoundIsAtolPlusRtolTimesTheExpectation) {
  Pair p;
  p.out[2] = 3.25;
  EXPECT_TRUE(p.Compare({0.1, 0.05}).passed());  // 0.1 + 0.15
  EXPECT_FALSE(p.Compare({0.1, 0.049}).passed());
  EXPECT_FALSE(p.Compare({0.0999, 0.05}).passed());
}

TEST(Compare, NamesTheElementFurthestOutside) {
  Pair p;
  p.out[1] = 2.3;
  p.out[3] = 4.4;
  const Comparison c = p.Compare({0.1, 0.01});
  EXPECT_EQ(c.outside, 2);
  EXPECT_EQ(c.compared, 6);
  EXPECT_NEAR(c.max_abs_error, 0.4, 1e-6);
  EXPECT_EQ(DescribeElement(c), "o[1][0][1] = 4.4, expected 4 +- 0.14");
}

TEST(Compare, NaNNeverPasses) {
  Pair p;
  p.out[0] = kNaN;
  EXPECT_FALSE(p.Compare({1e30, 1e30}).passed());
  EXPECT_EQ(p.Compare({1e30, 1e30}).max_abs_error, kInfinity);
  p.want.out[0] = kNaN;
  EXPECT_FALSE(p.Compare({1e30, 1e30}).passed());
}

TEST(Compare, NaNInTheLseNeverPasses) {
  Pair p;
  p.lse[1] = kNaN;
  const Comparison c = p.Compare({1e30, 1e30});
  EXPECT_EQ(c.outside, 1);
  EXPECT_TRUE(c.of_lse);
  EXPECT_EQ(c.row, 1);
}

TEST(Compare, OnlyTheSameInfinityPasses) {
  Pair p;
  p.want.lse[0] = -kInfinity;
  EXPECT_FALSE(p.Compare({1e30, 1e30}).passed());
  p.lse[0] = -std::numeric_limits<float>::infinity();
  EXPECT_TRUE(p.Compare({0, 0}).passed());
  p.lse[0] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(p.Compare({1e30, 1e30}).passed());
}

TEST(Compare, ScalingByRowShrinksAtolOfSmallRowsOnly) {
  Pair p;
  p.want.out = {0.01, -0.01, 30, 40};
  p.want.magnitude = {0.01, 35};
  p.out = {0.012F, -0.01F, 30.09F, 40};
  // The first row's magnitude makes atol 0.1 to 0.001; the second's is above 1 and keeps 0.1.
  const Comparison c = p.Compare({0.1, 0, true});
  EXPECT_EQ(c.outside, 1);
  EXPECT_EQ(c.row, 0);
  EXPECT_NEAR(c.allowed, 0.001, 1e-9);
  EXPECT_TRUE(p.Compare({0.1, 0, false}).passed());
}

TEST(Compare, LooksOnlyAtRowsThatTheOracleHas) {
  Pair p;
  p.want = {{1}, {3, 4}, {0.25}, {1}, true};
  p.out[0] = kNaN;
  EXPECT_EQ(p.Compare({0, 0}).compared, 3);
  EXPECT_TRUE(p.Compare({0, 0}).passed());
}

TEST(Compare, GateTolerancesAreThoseOfTheDtype) {
  EXPECT_EQ(GateTolerance(DType::kF32).atol, 1e-5);
  EXPECT_EQ(GateTolerance(DType::kF16).rtol, 1e-3);
  EXPECT_EQ(GateTolerance(DType::kBF16).atol, 8e-3);
  EXPECT_TRUE(GateTolerance(DType::kBF16).scale_by_row);
}

}  // namespace
}  // namespace pagoda::app

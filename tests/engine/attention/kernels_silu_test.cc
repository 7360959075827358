// silu of the table against double, by samples from all of f32, on the instruction set that PAGODA_ISA names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "engine/attention/kernels/kernels.h"
#include "engine/attention/tiles.h"

namespace pagoda::testing {
namespace {

// The bounds that kernels.h states.
constexpr double kMaxUlps = 5;
constexpr double kMaxBelow = 1.5e-36;

const AttentionKernels& Kernels() { return ActiveAttentionKernels(); }

double Silu(double x) { return x / (1 + std::exp(-x)); }

// silu of x, in memory that ends with the last lane.
std::vector<float> SiluOf(const std::vector<float>& x, float scale = 1) {
  const int64_t n = Kernels().dim_pad(std::ssize(x));
  const Elements row(n, 0.0F);
  std::copy(x.begin(), x.end(), row.floats());
  Kernels().silu(row.floats(), n, scale);
  return {row.floats(), row.floats() + x.size()};
}

TEST(SiluKernel, IsWithinItsBoundsInSamplesOfAllOfF32) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1009) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isnan(value)) x.push_back(value);
  }
  // Most bit patterns are far from where SiLU bends.
  for (int i = -100'000; i <= 100'000; ++i) x.push_back(static_cast<float>(i) * 1e-3F);
  const std::vector<float> got = SiluOf(x);
  double worst_ulps = 0;
  double worst_below = 0;
  float worst_at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] < -87.0F) {
      worst_below = std::max(worst_below, std::abs(got[i] - Silu(x[i])));
    } else if (const double ulps = Ulps(got[i], Silu(x[i])); !(ulps <= worst_ulps)) {
      worst_ulps = ulps;
      worst_at = x[i];
    }
  }
  RecordProperty("worst_ulps", fmt::format("{:.3f} at {}", worst_ulps, worst_at));
  RecordProperty("worst_below", fmt::format("{:.3g}", worst_below));
  EXPECT_LE(worst_ulps, kMaxUlps) << "at " << worst_at;
  EXPECT_LE(worst_below, kMaxBelow);
}

TEST(SiluKernel, ValuesAtTheEdges) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
  const std::vector<float> got =
      SiluOf({0.0F, -0.0F, kInfinity, -kInfinity, kLargest, -kLargest, 4 * kDenormal, -4 * kDenormal, -87.0F,
              std::nextafter(-87.0F, -kInfinity)});
  EXPECT_EQ(got[0], 0.0F);
  EXPECT_EQ(got[1], 0.0F);
  EXPECT_EQ(got[2], kInfinity);
  EXPECT_EQ(got[3], 0.0F);
  EXPECT_EQ(got[4], kLargest);
  EXPECT_EQ(got[5], 0.0F);
  EXPECT_EQ(got[6], 2 * kDenormal);
  EXPECT_EQ(got[7], -2 * kDenormal);
  EXPECT_LT(got[8], 0.0F);
  EXPECT_EQ(got[9], 0.0F);
}

TEST(SiluKernel, NaNStaysNaNAndInItsLane) {
  for (const uint32_t bits : {0x7fc00000U, 0xffc00000U, 0x7f800001U, 0xffffffffU}) {
    for (int64_t lane = 0; lane < Kernels().lanes; ++lane) {
      std::vector<float> x(2 * Kernels().lanes, 1.0F);
      x[lane] = std::bit_cast<float>(bits);
      const std::vector<float> got = SiluOf(x);
      for (int64_t i = 0; i < std::ssize(x); ++i)
        ASSERT_EQ(std::isnan(got[i]), i == lane)
            << fmt::format("{:#x} in lane {}, element {}", bits, lane, i);
    }
  }
}

TEST(SiluKernel, TheScaleMultipliesTheRoundedValue) {
  std::vector<float> x;
  for (int i = -900; i <= 900; ++i) x.push_back(static_cast<float>(i) * 0.1F);
  const std::vector<float> one = SiluOf(x);
  for (const float scale : {0.0F, -1.0F, 1.0F / 3, 1e-30F, 1e30F}) {
    const std::vector<float> got = SiluOf(x, scale);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], scale * one[i]) << x[i] << " scale " << scale;
  }
}

TEST(SiluKernel, NoElementsAreNone) { Kernels().silu(nullptr, 0, 1.0F); }

}  // namespace
}  // namespace pagoda::testing

#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace pagoda {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

static_assert(F32ToF16(1.0f) == 0x3c00 && F16ToF32(0x3c00) == 1.0f, "usable in constant expressions");
static_assert(F32ToBF16(1.0f) == 0x3f80 && BF16ToF32(0x3f80) == 1.0f);

// The value of a float format from its definition: exponent bits, mantissa bits, bias.
double ByDefinition(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa == 0 ? sign * kInf : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

struct Format {
  const char* name;
  int exponent_bits, mantissa_bits;
  float (*to_f32)(uint16_t);
  uint16_t (*from_f32)(float);
  uint16_t infinity;  // bits of +inf
};

constexpr Format kF16 = {"f16", 5, 10, F16ToF32, F32ToF16, 0x7c00};
constexpr Format kBF16 = {"bf16", 8, 7, BF16ToF32, F32ToBF16, 0x7f80};

class HalfFormat : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(All, HalfFormat, testing::Values(kF16, kBF16),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(HalfFormat, EveryValueIsWhatItsBitsDefine) {
  const Format f = GetParam();
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto h = static_cast<uint16_t>(bits);
    const double want = ByDefinition(h, f.exponent_bits, f.mantissa_bits);
    const float got = f.to_f32(h);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
    } else {
      ASSERT_EQ(got, want) << bits;
    }
    ASSERT_EQ(std::signbit(got), (bits & 0x8000) != 0) << bits;
  }
}

TEST_P(HalfFormat, EveryValueComesBack) {
  const Format f = GetParam();
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto h = static_cast<uint16_t>(bits);
    const uint16_t back = f.from_f32(f.to_f32(h));
    if ((h & 0x7fff) > f.infinity) {  // NaN: still one, with sign and payload, made quiet
      const auto quiet = static_cast<uint16_t>(1 << (f.mantissa_bits - 1));
      ASSERT_EQ(back, h | quiet) << bits;
    } else {
      ASSERT_EQ(back, h) << bits;
    }
  }
}

// Between any two neighbours: just below the middle goes down, the middle to the even one, just above goes
// up. The "neighbour" of the largest finite value is 2^(max exponent + 1), which stands for infinity.
TEST_P(HalfFormat, RoundsToNearestEvenAtEveryBoundary) {
  const Format f = GetParam();
  for (uint32_t bits = 0; bits < f.infinity; ++bits) {
    const auto low = static_cast<uint16_t>(bits);
    const auto high = static_cast<uint16_t>(bits + 1);
    const double value = ByDefinition(low, f.exponent_bits, f.mantissa_bits);
    const double step = high == f.infinity ? value - ByDefinition(low - 1, f.exponent_bits, f.mantissa_bits)
                                           : ByDefinition(high, f.exponent_bits, f.mantissa_bits) - value;
    const auto middle = static_cast<float>(value + step / 2);
    ASSERT_EQ(middle, value + step / 2) << "the middle must be exact in f32";
    const uint16_t even = (low & 1) == 0 ? low : high;
    for (const float sign : {1.0f, -1.0f}) {
      const auto s = static_cast<uint16_t>(sign < 0 ? 0x8000 : 0);
      ASSERT_EQ(f.from_f32(sign * middle), even | s) << bits;
      ASSERT_EQ(f.from_f32(sign * std::nextafter(middle, 0.0f)), low | s) << bits;
      ASSERT_EQ(f.from_f32(sign * std::nextafter(middle, kInf)), high | s) << bits;
    }
  }
}

TEST_P(HalfFormat, HardCases) {
  const Format f = GetParam();
  EXPECT_EQ(f.from_f32(kInf), f.infinity);
  EXPECT_EQ(f.from_f32(-kInf), f.infinity | 0x8000);
  EXPECT_EQ(f.from_f32(std::numeric_limits<float>::max()), f.infinity);
  EXPECT_EQ(f.from_f32(0.0f), 0);
  EXPECT_EQ(f.from_f32(-0.0f), 0x8000);
  EXPECT_EQ(f.from_f32(std::numeric_limits<float>::denorm_min()), 0);
  // A NaN whose payload stands only in bits that are dropped must not become infinity.
  EXPECT_TRUE(std::isnan(f.to_f32(f.from_f32(std::bit_cast<float>(0x7f800001U)))));
  EXPECT_TRUE(std::isnan(f.to_f32(f.from_f32(std::bit_cast<float>(0xffffffffU)))));
}

TEST(Half, KnownValues) {
  EXPECT_EQ(F32ToF16(65504.0f), 0x7bff);
  EXPECT_EQ(F32ToF16(65519.0f), 0x7bff);
  EXPECT_EQ(F32ToF16(65520.0f), 0x7c00);
  EXPECT_EQ(F32ToF16(0x1p-24f), 0x0001);
  EXPECT_EQ(F32ToF16(0x1p-25f), 0x0000);
  EXPECT_EQ(F32ToF16(0x1.000002p-25f), 0x0001);
  EXPECT_EQ(F32ToBF16(3.14159265f), 0x4049);
  EXPECT_EQ(F32ToBF16(0x1p-149f), 0x0000);
}

}  // namespace
}  // namespace pagoda

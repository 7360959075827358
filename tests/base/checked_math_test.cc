#include "base/checked_math.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace pagoda {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

static_assert(CheckedAdd(1, 2) == 3);
static_assert(!CheckedMul(kMax, 2));

TEST(CheckedMath, SumsAtTheEdge) {
  EXPECT_EQ(CheckedAdd(kMax, 0), kMax);
  EXPECT_EQ(CheckedAdd(kMax, kMin), -1);
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedAdd(kMin, -1), std::nullopt);
}

TEST(CheckedMath, ProductsAtTheEdge) {
  EXPECT_EQ(CheckedMul(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(CheckedMul(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(CheckedMul(kMin, -1), std::nullopt);
  EXPECT_EQ(CheckedMul(kMin, 1), kMin);
}

TEST(CheckedMath, ProductOfAShape) {
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{}), 1);
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{2, 3, 7}), 42);
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{kMax, 2}), std::nullopt);
  // An overflow on the way to zero is none.
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{kMax, 2, 0}), 0);
}

TEST(CheckedMath, ThrowsWithTheFieldAndBothValues) {
  EXPECT_EQ(AddOrThrow(2, 3, "x"), 5);
  EXPECT_EQ(MulOrThrow(2, 3, "x"), 6);
  try {
    MulOrThrow(kMax, 4, "q.shape");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.field(), "q.shape");
    EXPECT_THAT(e.what(), testing::HasSubstr("9223372036854775807 * 4"));
  }
  EXPECT_THROW(AddOrThrow(kMin, -7, "x"), Error);
}

}  // namespace
}  // namespace pagoda

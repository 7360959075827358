#include "engine/simd/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "pagoda/status.h"

namespace pagoda::testing {
namespace {

TEST(Isa, ScalarIsAlwaysUsableAndLast) {
  ASSERT_FALSE(UsableIsas().empty());
  EXPECT_EQ(UsableIsas().back(), Isa::kScalar);
  EXPECT_EQ(std::count(UsableIsas().begin(), UsableIsas().end(), Isa::kScalar), 1);
}

// bf16 products come first where they are faster than f32's, and are never left out.
TEST(Isa, Bf16DotsFollowAvx512WhereTheyHaveHalfItsRate) {
  const auto at = [](Isa isa) { return std::find(UsableIsas().begin(), UsableIsas().end(), isa); };
  const auto dots = at(Isa::kAvx512Bf16);
  if (dots == UsableIsas().end()) GTEST_SKIP() << "no AVX-512 BF16 on this machine";
#if defined(__x86_64__)
  EXPECT_EQ(dots > at(Isa::kAvx512), __builtin_cpu_is("intel") != 0);
#endif
}

TEST(Isa, TilesComeFirst) {
  const auto tiles = std::find(UsableIsas().begin(), UsableIsas().end(), Isa::kAmx);
  if (tiles == UsableIsas().end()) GTEST_SKIP() << "no AMX on this machine";
  EXPECT_EQ(tiles, UsableIsas().begin());
}

TEST(Isa, NamesAreThoseOfTheEnvironmentVariable) {
  EXPECT_EQ(NameOf(Isa::kScalar), "scalar");
  EXPECT_EQ(NameOf(Isa::kAvx2), "avx2");
  EXPECT_EQ(NameOf(Isa::kAvx512), "avx512");
  EXPECT_EQ(NameOf(Isa::kAvx512Bf16), "avx512bf16");
  EXPECT_EQ(NameOf(Isa::kAmx), "amx");
  EXPECT_EQ(NameOf(Isa::kNeon), "neon");
}

// The choice is made once per process, so each case has one of its own.
void ExitWithChoice(const char* forced) {
  setenv("PAGODA_ISA", forced, 1);
  try {
    std::fprintf(stderr, "chose %s", std::string(NameOf(ActiveIsa())).c_str());
    std::exit(0);
  } catch (const Error& e) {
    std::fprintf(stderr, "%s: %s", e.field().c_str(), e.what());
    std::exit(2);
  }
}

TEST(IsaDeathTest, TheForcedOneIsChosen) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ExitWithChoice("scalar"), ::testing::ExitedWithCode(0), "chose scalar");
  const std::string best(NameOf(UsableIsas().front()));
  EXPECT_EXIT(ExitWithChoice(best.c_str()), ::testing::ExitedWithCode(0), "chose " + best);
  EXPECT_EXIT(ExitWithChoice(""), ::testing::ExitedWithCode(0), "chose " + best);
}

TEST(IsaDeathTest, AnUnknownNameIsRefusedWithTheUsableOnes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      ExitWithChoice("avx9"), ::testing::ExitedWithCode(2),
      "PAGODA_ISA: PAGODA_ISA = 'avx9' is not an instruction set that this machine runs; it runs .*scalar");
}

}  // namespace
}  // namespace pagoda::testing

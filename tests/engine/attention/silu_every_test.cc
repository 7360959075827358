// silu of each table for every f32 between 2^-14 and 2^7 in size: closer to 0 it is x / 2, further away x or
// 0, of which kernels_silu_test takes samples.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <future>
#include <set>

#include "engine/attention/kernels/kernels.h"
#include "engine/attention/tiles.h"
#include "engine/simd/isa.h"

namespace pagoda::testing {
namespace {

// The bounds that kernels.h states.
constexpr double kMaxUlps = 5;
constexpr double kMaxBelow = 1.5e-36;

struct Worst {
  double ulps = 0;
  float at = 0;
  double below = 0;
};

// Of all values with this sign.
Worst WorstOf(const AttentionKernels& kernels, float sign) {
  constexpr uint32_t kValues = 1 << 14;
  constexpr auto kBegin = std::bit_cast<uint32_t>(0x1p-14F);
  constexpr auto kEnd = std::bit_cast<uint32_t>(0x1p7F);
  static_assert((kEnd - kBegin) % kValues == 0);
  Worst worst;
  const Elements memory(kValues);
  float* got = memory.floats();
  for (uint32_t bits = kBegin; bits < kEnd; bits += kValues) {
    const auto x = [&](uint32_t i) { return sign * std::bit_cast<float>(bits + i); };
    for (uint32_t i = 0; i < kValues; ++i) got[i] = x(i);
    kernels.silu(got, kValues, 1.0F);
    for (uint32_t i = 0; i < kValues; ++i) {
      const double want = double{x(i)} / (1 + std::exp(-double{x(i)}));
      if (x(i) < -87.0F) {
        worst.below = std::max(worst.below, std::abs(got[i] - want));
      } else if (const double ulps = Ulps(got[i], want); !(ulps <= worst.ulps)) {
        worst.ulps = ulps;
        worst.at = x(i);
      }
    }
  }
  return worst;
}

TEST(SiluOfEveryValue, IsWithinItsBounds) {
  std::set<decltype(AttentionKernels::silu)> seen;
  for (const Isa isa : UsableIsas()) {
    const AttentionKernels& kernels = AttentionKernelsFor(isa);
    if (!seen.insert(kernels.silu).second) continue;
    std::future<Worst> below = std::async(std::launch::async, WorstOf, kernels, -1.0F);
    for (const Worst& worst : {WorstOf(kernels, 1.0F), below.get()}) {
      EXPECT_LE(worst.ulps, kMaxUlps) << NameOf(isa) << " at " << worst.at;
      EXPECT_LE(worst.below, kMaxBelow) << NameOf(isa);
      RecordProperty(fmt::format("{}{}", NameOf(isa), worst.at < 0 ? "_below" : ""),
                     fmt::format("{:.3f} at {}", worst.ulps, worst.at));
    }
  }
}

}  // namespace
}  // namespace pagoda::testing

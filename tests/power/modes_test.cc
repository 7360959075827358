// Where the threshold of FindModes comes from.
#include "judge/stats/modes.h"

#include <gtest/gtest.h>

#include <vector>

#include "power/noise.h"

namespace pagoda::judge {
namespace {

constexpr uint64_t kSeed = 2026;

double RateOfModes(Noise noise, int launches) {
  constexpr int kRuns = 20000;
  Random random(kSeed);
  int found = 0;
  std::vector<double> sample(static_cast<size_t>(launches));
  for (int run = 0; run < kRuns; ++run) {
    for (double& x : sample) x = Draw(noise, random);
    found += FindModes(sample) ? 1 : 0;
  }
  return static_cast<double>(found) / kRuns;
}

TEST(FindModes, AreRareInNoiseWithoutModes) {
  for (const Noise noise : {Noise::kNormal, Noise::kHeavyTails}) {
    SCOPED_TRACE(NameOf(noise));
    EXPECT_LE(RateOfModes(noise, 8), 0.02);
    EXPECT_LE(RateOfModes(noise, 12), 0.006);
    EXPECT_LE(RateOfModes(noise, 16), 0.002);
    EXPECT_LE(RateOfModes(noise, 24), 0.001);
  }
}

TEST(FindModes, AreFoundWhereThereAreTwo) {
  EXPECT_GE(RateOfModes(Noise::kTwoModes, 12), 0.94);
  EXPECT_GE(RateOfModes(Noise::kTwoModes, 24), 0.99);
}

}  // namespace
}  // namespace pagoda::judge

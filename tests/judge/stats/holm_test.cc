#include "judge/stats/holm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(Holm, MultipliesByWhatIsLeftAndNeverDecreases) {
  // 4 * 0.01, 3 * 0.015, 2 * 0.03, 1 * 0.04 -> 0.06 by the largest so far.
  EXPECT_THAT(HolmAdjust(std::vector<double>{0.03, 0.01, 0.04, 0.015}, 4),
              ElementsAre(DoubleEq(0.06), DoubleEq(0.04), DoubleEq(0.06), DoubleEq(0.045)));
}

TEST(Holm, CountsTestsThatWerePlannedButHaveNoP) {
  EXPECT_THAT(HolmAdjust(std::vector<double>{0.01, 0.02}, 10), ElementsAre(DoubleEq(0.1), DoubleEq(0.18)));
}

TEST(Holm, StopsAtOne) {
  EXPECT_THAT(HolmAdjust(std::vector<double>{0.9, 0.5}, 2), ElementsAre(1.0, 1.0));
  EXPECT_TRUE(HolmAdjust({}, 0).empty());
}

TEST(Holm, RefusesWhatIsNoChance) {
  EXPECT_THROW(HolmAdjust(std::vector<double>{-0.1}, 1), Error);
  EXPECT_THROW(HolmAdjust(std::vector<double>{0.1, 0.2}, 1), Error);
}

// Holm's step-down procedure as he states it: go up the sorted p-values, stop at the first above alpha / what
// is left.
RC_GTEST_PROP(Holm, RejectsWhatTheStepDownProcedureRejects, ()) {
  const auto thousandths = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
  std::vector<double> p;
  for (const int x : thousandths) p.push_back(x / 10007.0);
  const std::vector<double> adjusted = HolmAdjust(p, p.size());
  std::vector<double> sorted = p;
  std::sort(sorted.begin(), sorted.end());
  double largest_rejected = -1;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] * static_cast<double>(sorted.size() - i) >= 0.05) break;
    largest_rejected = sorted[i];
  }
  for (size_t i = 0; i < p.size(); ++i) RC_ASSERT((adjusted[i] < 0.05) == (p[i] <= largest_rejected));
}

}  // namespace
}  // namespace pagoda::judge

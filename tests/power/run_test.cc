// Whole runs through Judge: blocks, arms that share the baseline, families and the overall verdict together.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "judge/verdict/overall.h"
#include "judge/verdict/run_builder.h"

namespace pagoda::judge {
namespace {

constexpr int kRuns = 400;

struct Totals {
  int false_cases = 0, cases = 0;  // WIN or LOSS among cases and contrasts
  int runs_with_false = 0;
  int false_overall = 0, false_top = 0;
};

TEST(WholeRun, CallsIdenticalVariantsDifferentInAtMostTwoPercentOfRuns) {
  for (const double spread : {0.004, 0.02}) {
    Totals totals;
    for (uint64_t seed = 1; seed <= kRuns; ++seed) {
      RunBuilder builder({"a", "b", "c"}, 4);
      builder.Spread(spread).Seed(seed);
      const RunVerdict run = Judge(builder.manifest(), builder.Build());
      int wrong = 0;
      for (const Contrast& contrast : run.contrasts) {
        wrong += contrast.counts.win + contrast.counts.loss;
        totals.cases += static_cast<int>(contrast.cases.size());
        totals.false_overall +=
            contrast.overall.verdict == Verdict::kWin || contrast.overall.verdict == Verdict::kLoss;
      }
      totals.false_cases += wrong;
      totals.runs_with_false += wrong > 0;
      totals.false_top += run.verdict == Verdict::kWin;
    }
    SCOPED_TRACE(testing::Message() << "spread " << spread << ", seeds 1.." << kRuns);
    EXPECT_LE(totals.runs_with_false, 0.02 * kRuns);
    EXPECT_LE(totals.false_overall, 0.02 * 2 * kRuns);
    EXPECT_LE(totals.false_top, 0.02 * kRuns);
    EXPECT_EQ(totals.cases, 8 * kRuns);
  }
}

TEST(WholeRun, FindsTheFasterVariantAndNothingElse) {
  int found = 0;
  int wrong = 0;
  for (uint64_t seed = 1; seed <= kRuns; ++seed) {
    RunBuilder builder({"a", "b", "c"}, 4);
    builder.Spread(0.008).Seed(seed).Launches(13).Effect("b", -0.03);
    const RunVerdict run = Judge(builder.manifest(), builder.Build());
    found += run.verdict == Verdict::kWin && run.leader == "b" && run.contrasts[0].counts.win == 4;
    wrong += run.contrasts[0].counts.loss > 0 || run.leader != "b";
  }
  SCOPED_TRACE(testing::Message() << "seeds 1.." << kRuns);
  EXPECT_GE(found, 0.95 * kRuns);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace pagoda::judge

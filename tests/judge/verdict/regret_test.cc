#include "judge/verdict/regret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "judge/verdict/overall.h"
#include "judge/verdict/run_builder.h"

namespace pagoda::judge {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// `chooser` beside a, the baseline, and b, which takes half the time on the first case and twice on the
// second.
RunBuilder WithChooser() {
  RunBuilder builder({"a", "b", "chooser"}, 3);
  builder.manifest().choosers = {"chooser"};
  builder.Spread(0).Effect("b", -std::log(2.0), 0).Effect("b", std::log(2.0), 1).Effect("b", 0.5, 2);
  return builder;
}

std::vector<Regret> RegretsIn(RunBuilder& builder) {
  return Judge(builder.manifest(), builder.Build()).regrets;
}

TEST(Regret, IsAgainstTheFastestOtherOfEachCase) {
  RunBuilder builder = WithChooser();
  builder.Effect("chooser", 0, 0).Effect("chooser", 0.1, 1).Effect("chooser", 0.02, 2);
  const std::vector<Regret> regrets = RegretsIn(builder);
  ASSERT_THAT(regrets, SizeIs(1));
  const Regret& regret = regrets[0];
  EXPECT_EQ(regret.chooser, "chooser");
  ASSERT_THAT(regret.cases, SizeIs(3));
  EXPECT_EQ(regret.cases[0].best, "b");
  EXPECT_NEAR(regret.cases[0].regret.value, 1, 1e-3);
  EXPECT_EQ(regret.cases[1].best, "a");
  EXPECT_NEAR(regret.cases[1].regret.value, std::exp(0.1) - 1, 1e-3);
  EXPECT_EQ(regret.cases[2].best, "a");
  EXPECT_NEAR(regret.cases[2].regret.value, std::exp(0.02) - 1, 1e-3);
  EXPECT_NEAR(regret.median, std::exp(0.1) - 1, 1e-3);
  EXPECT_EQ(regret.worst.case_name, "c0");
}

TEST(Regret, HasAnIntervalThatHoldsIt) {
  RunBuilder builder = WithChooser();
  builder.Spread(0.01).Effect("chooser", 0.1);
  const Regret regret = RegretsIn(builder).at(0);
  for (const CaseRegret& c : regret.cases) {
    EXPECT_LT(c.regret.low, c.regret.value);
    EXPECT_LT(c.regret.value, c.regret.high);
  }
}

TEST(Regret, OfTheRightChoiceIsNoise) {
  RunBuilder builder = WithChooser();
  builder.Effect("chooser", -std::log(2.0), 0);
  const Regret regret = RegretsIn(builder).at(0);
  EXPECT_NEAR(regret.median, 0, 1e-3);
  EXPECT_NEAR(regret.worst.regret.value, 0, 1e-3);
}

TEST(Regret, ChoosersAreNotHeldAgainstEachOther) {
  RunBuilder builder({"a", "x", "y"}, 1);
  builder.manifest().choosers = {"x", "y"};
  builder.Spread(0).Effect("x", -1.0);
  const std::vector<Regret> regrets = RegretsIn(builder);
  ASSERT_THAT(regrets, SizeIs(2));
  for (const Regret& regret : regrets) EXPECT_EQ(regret.cases.at(0).best, "a");
}

TEST(Regret, CasesThatTheChooserWasNotMeasuredOnAreLeftOut) {
  RunBuilder builder = WithChooser();
  builder.manifest().unsupported.push_back({"c1", "chooser", "too wide"});
  EXPECT_THAT(RegretsIn(builder).at(0).cases, SizeIs(2));
}

TEST(Regret, NobodyChoosesUnlessTheManifestSaysSo) {
  RunBuilder builder = WithChooser();
  builder.manifest().choosers.clear();
  EXPECT_THAT(RegretsIn(builder), IsEmpty());
  RunBuilder alone({"chooser"}, 1);
  alone.manifest().choosers = {"chooser"};
  EXPECT_THAT(RegretsIn(alone), IsEmpty());
}

}  // namespace
}  // namespace pagoda::judge

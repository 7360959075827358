#include "judge/verdict/recommend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "judge/verdict/overall.h"
#include "judge/verdict/run_builder.h"

namespace pagoda::judge {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

RunVerdict Judged(RunBuilder& builder) { return Judge(builder.manifest(), builder.Build()); }

TEST(Recommend, KeepsTheLeaderThatBeatsTheRunnerUp) {
  RunBuilder builder({"a", "b", "c"}, 2);
  const Recommendation advice = Judged(builder.Effect("b", -0.2).Effect("c", -0.1)).recommendation;
  EXPECT_EQ(advice.keep, "b");
  EXPECT_THAT(advice.prefer, IsEmpty());
  EXPECT_THAT(advice.either, IsEmpty());
  EXPECT_THAT(advice.no_evidence, IsEmpty());
  ASSERT_EQ(advice.sentences.size(), 1u);
  EXPECT_THAT(advice.sentences[0], StartsWith("Keep b as the default: 1.1"));
  EXPECT_THAT(advice.sentences[0], HasSubstr("over c"));
}

TEST(Recommend, PrefersAnotherVariantWhereItIsFaster) {
  RunBuilder builder({"a", "b"}, 3);
  const Recommendation advice = Judged(builder.Effect("b", -0.2).Effect("b", 0.1, 1)).recommendation;
  EXPECT_EQ(advice.keep, "b");
  ASSERT_EQ(advice.prefer.size(), 1u);
  EXPECT_EQ(advice.prefer[0].case_name, "c1");
  EXPECT_THAT(advice.prefer[0].variants, ElementsAre("a"));
  EXPECT_NEAR(advice.prefer[0].speedup, 1.105, 0.01);
  EXPECT_THAT(advice.sentences, Contains(StartsWith("Prefer a on c1 (1.1")));
}

TEST(Recommend, NamesCasesWhereEitherWillDo) {
  RunBuilder builder({"a", "b"}, 2);
  const Recommendation advice = Judged(builder.Effect("b", -0.2, 0)).recommendation;
  EXPECT_EQ(advice.keep, "b");
  EXPECT_THAT(advice.either, ElementsAre("c1"));
  EXPECT_THAT(advice.sentences, Contains(HasSubstr("ties with it on c1")));
}

TEST(Recommend, KeepsTheBaselineThatNothingBeats) {
  RunBuilder builder({"a", "b"}, 2);
  const Recommendation advice = Judged(builder.Effect("b", -0.002)).recommendation;
  EXPECT_EQ(advice.keep, "a");
  EXPECT_THAT(advice.sentences[0], StartsWith("Keep a, the baseline"));
}

TEST(Recommend, SaysWhereThereIsNoEvidence) {
  RunBuilder builder({"a", "b"}, 2);
  const Recommendation advice = Judged(builder.Spread(0.1)).recommendation;
  EXPECT_EQ(advice.keep, "a");
  EXPECT_THAT(advice.no_evidence, ElementsAre("c0", "c1"));
  EXPECT_THAT(advice.sentences[0], HasSubstr("there is no verdict"));
}

TEST(Recommend, KeepsALeaderThatBeatsTheBaselineAndTiesWithTheRest) {
  RunBuilder builder({"a", "b", "c"}, 2);
  const Recommendation advice = Judged(builder.Effect("b", -0.2).Effect("c", -0.201)).recommendation;
  EXPECT_THAT(advice.keep, testing::AnyOf("b", "c"));
  EXPECT_THAT(advice.either, ElementsAre("c0", "c1"));
  EXPECT_THAT(advice.sentences[0], HasSubstr("a is beaten overall"));
}

TEST(Recommend, WarnsOfVariantsThatFailedInAnyWay) {
  RunBuilder builder({"a", "b", "c"}, 2);
  Records records = builder.Build();
  records.gates[1].passed = false;
  records.launches[3].status = LaunchStatus::kHung;
  records.launches[3].culprit = "c";
  const Recommendation advice = Judge(builder.manifest(), records).recommendation;
  EXPECT_EQ(advice.keep, "a");
  EXPECT_THAT(advice.avoid, ElementsAre("b", "c"));
  EXPECT_THAT(advice.sentences, Contains("Don't use b: it was wrong on c0."));
  EXPECT_THAT(advice.sentences, Contains("Don't use c: it hung on c0."));
}

TEST(Recommend, NeverPrefersWhatItWarnsOf) {
  RunBuilder builder({"a", "b"}, 3);
  Records records = builder.Effect("b", -0.2).Build();
  records.gates[1].passed = false;  // b on c0; it is faster everywhere
  const Recommendation advice = Judge(builder.manifest(), records).recommendation;
  ASSERT_THAT(advice.avoid, ElementsAre("b"));
  EXPECT_THAT(advice.prefer, IsEmpty());
  EXPECT_THAT(advice.sentences, Not(Contains(StartsWith("Prefer"))));
}

TEST(Recommend, NamesTheStrongestPreferencesAndCountsTheRest) {
  RunBuilder builder({"a", "b"}, 6);
  builder.Effect("b", -1.5, 0);
  for (int c = 1; c < 6; ++c) builder.Effect("b", 0.05 * c, c);
  const Recommendation advice = Judged(builder).recommendation;
  EXPECT_EQ(advice.keep, "b");
  EXPECT_EQ(advice.prefer.size(), 5u);
  EXPECT_THAT(advice.sentences, Contains(ContainsRegex("^Prefer a on c5 .*, c4 .*, c3 .* and 2 more\\.$")));
}

}  // namespace
}  // namespace pagoda::judge

#include "judge/verdict/overall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "judge/verdict/run_builder.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunVerdict Judged(RunBuilder& builder) { return Judge(builder.manifest(), builder.Build()); }

TEST(Judge, NamesTheFasterOfTwo) {
  RunBuilder builder({"a", "b"}, 3);
  const RunVerdict run = Judged(builder.Effect("b", -0.1));
  EXPECT_EQ(run.verdict, Verdict::kWin);
  EXPECT_TRUE(run.strong);
  EXPECT_EQ(run.leader, "b");
  EXPECT_EQ(run.runner_up, "a");
  EXPECT_THAT(run.winners, ElementsAre("b"));
  EXPECT_NEAR(run.lead.value, std::exp(0.1), 0.01);
  ASSERT_EQ(run.contrasts.size(), 1u);
  EXPECT_EQ(run.contrasts[0].counts.win, 3);
  EXPECT_EQ(run.gates_passed, 6);
  EXPECT_EQ(run.gates_total, 6);
  EXPECT_TRUE(run.bitwise_all);
  EXPECT_EQ(run.launches.planned, 36);
  EXPECT_EQ(run.launches.used, 36);
  EXPECT_NEAR(run.null.value, 1, 0.01);
  EXPECT_GT(run.mde, 0.0099);
  EXPECT_LT(run.mde, 0.03);
  EXPECT_THAT(run.unmeasured, IsEmpty());
  EXPECT_THAT(run.differences, IsEmpty());
}

TEST(Judge, TopVerdictIsNeverALoss) {
  RunBuilder builder({"a", "b"}, 3);
  const RunVerdict run = Judged(builder.Effect("b", 0.1));
  EXPECT_EQ(run.verdict, Verdict::kWin);
  EXPECT_EQ(run.leader, "a");
  EXPECT_EQ(run.contrasts[0].overall.verdict, Verdict::kLoss);
  EXPECT_NEAR(run.lead.value, std::exp(0.1), 0.01);
}

TEST(Judge, SameCodeIsATieOfBoth) {
  RunBuilder builder({"a", "b"}, 3);
  const RunVerdict run = Judged(builder);
  EXPECT_EQ(run.verdict, Verdict::kTie);
  EXPECT_EQ(run.winners.size(), 2u);
  EXPECT_GE(run.lead.value, 1);
}

TEST(Judge, ComparesLeaderAndRunnerUpThemselves) {
  RunBuilder builder({"base", "x", "y", "z"}, 3);
  const RunVerdict run =
      Judged(builder.Effect("x", -0.30).Effect("y", -0.25).Effect("z", 0.1).Effect("y", -0.35, 2));
  EXPECT_EQ(run.leader, "x");
  EXPECT_EQ(run.runner_up, "y");
  ASSERT_TRUE(run.top.has_value());
  EXPECT_EQ(run.top->variant, "x");
  EXPECT_EQ(run.top->baseline, "y");
  EXPECT_EQ(run.top->cases[0].device.verdict, Verdict::kWin);
  EXPECT_EQ(run.top->cases[2].device.verdict, Verdict::kLoss);
  EXPECT_EQ(run.verdict, Verdict::kMixed);
  // A MIXED beats nobody, so both stay in the winner set; the baseline and z are beaten.
  EXPECT_THAT(run.winners, ElementsAre("x", "y"));
  EXPECT_THAT(run.cases[0].order, ElementsAre("x", "y", "base", "z"));
  EXPECT_THAT(run.cases[0].winners, ElementsAre("x"));
  EXPECT_THAT(run.cases[2].winners, ElementsAre("y"));
  EXPECT_EQ(run.cases[2].runner_up, "x");
  EXPECT_EQ(run.cases[2].lead.verdict, Verdict::kWin);
}

TEST(Judge, OneVariantGivesItsNullArm) {
  RunBuilder builder({"a"}, 2);
  const RunVerdict run = Judged(builder);
  EXPECT_EQ(run.verdict, Verdict::kInconclusive);
  EXPECT_EQ(run.reason, Reason::kOneVariant);
  EXPECT_FALSE(run.top.has_value());
  EXPECT_THAT(run.contrasts, IsEmpty());
  EXPECT_THAT(run.winners, ElementsAre("a"));
  ASSERT_EQ(run.nulls.size(), 2u);
  EXPECT_EQ(run.nulls[1].case_name, "c1");
  EXPECT_NEAR(run.nulls[1].device.value, 1, 0.01);
  EXPECT_GT(run.nulls[1].host_sigma, 0);
  EXPECT_EQ(run.nulls[1].launches, 12);
  EXPECT_LT(run.null.low, run.null.high);
  EXPECT_GT(run.mde, 0);
}

TEST(Judge, WrongVariantCannotWinAndDoesntSpoilTheOthers) {
  RunBuilder builder({"a", "b", "wrong"}, 2);
  Records records = builder.Effect("b", -0.1).Effect("wrong", -1).Build();
  records.gates[2].passed = false;
  records.gates[2].fault = "row 0 is NaN";
  const RunVerdict run = Judge(builder.manifest(), records);
  EXPECT_EQ(run.verdict, Verdict::kWin);
  EXPECT_EQ(run.leader, "b");
  EXPECT_EQ(run.contrasts[1].overall.verdict, Verdict::kInconclusive);
  EXPECT_EQ(run.contrasts[1].overall.reason, Reason::kInvalidCase);
  ASSERT_EQ(run.unmeasured.size(), 1u);
  EXPECT_EQ(run.unmeasured[0].variant, "wrong");
  EXPECT_EQ(run.unmeasured[0].reason, Reason::kGateFailed);
  EXPECT_THAT(run.recommendation.avoid, ElementsAre("wrong"));
  EXPECT_EQ(run.gates_passed, 5);
}

TEST(Judge, OneOfTwoWrongIsInvalid) {
  RunBuilder builder({"a", "b"}, 1);
  Records records = builder.Build();
  records.gates[1].passed = false;
  records.gates[1].fault = "row 0 is NaN";
  const RunVerdict run = Judge(builder.manifest(), records);
  EXPECT_EQ(run.verdict, Verdict::kInvalid);
  EXPECT_EQ(run.reason, Reason::kGateFailed);
  EXPECT_THAT(run.why, HasSubstr("row 0 is NaN"));
  EXPECT_EQ(run.recommendation.keep, "a");
}

TEST(Judge, NothingMeasuredIsInconclusive) {
  RunBuilder builder({"a", "b"}, 2);
  const RunVerdict run = Judge(builder.manifest(), {});
  EXPECT_EQ(run.verdict, Verdict::kInconclusive);
  EXPECT_EQ(run.reason, Reason::kMissing);
  EXPECT_EQ(run.unmeasured.size(), 4u);
  EXPECT_EQ(run.recommendation.keep, "");
  EXPECT_EQ(run.launches.never_run, 24);
  EXPECT_TRUE(std::isnan(run.null.value));
}

TEST(Judge, InterruptedRunListsWhatIsMissing) {
  RunBuilder builder({"a", "b"}, 2);
  Records records = builder.Effect("b", -0.1).Build();
  records.launches.resize(12);
  const RunVerdict run = Judge(builder.manifest(), records);
  EXPECT_EQ(run.verdict, Verdict::kInconclusive);
  EXPECT_EQ(run.reason, Reason::kMissingCase);
  ASSERT_EQ(run.unmeasured.size(), 2u);
  EXPECT_THAT(run.unmeasured[0].why, HasSubstr("12 never run"));
  EXPECT_EQ(run.contrasts[0].counts.missing, 1);
}

TEST(Judge, CountsGateRunsThatHaveNoRecord) {
  RunBuilder builder({"a", "b"}, 2);
  Records records = builder.Build();
  EXPECT_EQ(Judge(builder.manifest(), records).gates_total, 4);
  EXPECT_EQ(Judge(builder.manifest(), records).gates_missing, 0);
  records.gates.erase(records.gates.begin() + 2, records.gates.end());  // all of a case
  const RunVerdict run = Judge(builder.manifest(), records);
  EXPECT_EQ(run.gates_passed, 2);
  EXPECT_EQ(run.gates_missing, 2);
  EXPECT_EQ(run.gates_total, 4);
  EXPECT_FALSE(run.bitwise_all);
}

TEST(Judge, SkippedCaseOfAVariantIsListed) {
  RunBuilder builder({"a", "b", "c"}, 2);
  builder.manifest().unsupported = {{"c1", "c", "head_dim 100"}};
  const RunVerdict run = Judged(builder.Effect("c", -0.3).Effect("b", -0.1));
  EXPECT_EQ(run.leader, "b");  // c is faster where it runs, but can't serve every case
  ASSERT_EQ(run.unmeasured.size(), 1u);
  EXPECT_EQ(run.unmeasured[0].why, "head_dim 100");
  EXPECT_EQ(run.cases[0].leader, "c");
  EXPECT_THAT(run.cases[1].order, ElementsAre("b", "a"));
}

TEST(Judge, ListsWhereHostAndDeviceTimeDiffer) {
  RunBuilder builder({"a", "b"}, 2);
  const RunVerdict run = Judged(builder.Effect("b", -0.1).HostEffect("b", 0.1, 1));
  ASSERT_GE(run.differences.size(), 1u);
  EXPECT_EQ(run.differences[0].case_name, "c1");
  EXPECT_EQ(run.differences[0].device, Verdict::kWin);
  EXPECT_EQ(run.differences[0].host, Verdict::kLoss);
  EXPECT_THAT(run.recommendation.sentences,
              testing::Contains(HasSubstr("c1 (WIN by device time, LOSS by host time)")));
}

TEST(Judge, ListsWhereTheOverallVerdictsOfHostAndDeviceTimeDiffer) {
  RunBuilder builder({"a", "b"}, 1);
  const RunVerdict run = Judged(builder.Effect("b", -0.1).HostEffect("b", 0.0, 0));
  ASSERT_EQ(run.differences.size(), 2u);
  EXPECT_EQ(run.differences[1].case_name, "");
  EXPECT_EQ(run.differences[1].baseline, "a");
  EXPECT_EQ(run.differences[1].device, Verdict::kWin);
  EXPECT_EQ(run.differences[1].host, Verdict::kTie);
}

TEST(Judge, CountsLaunchesLeftOutAndRerun) {
  RunBuilder builder({"a", "b"}, 2);
  Records records = builder.Build();
  LaunchRecord again = records.launches[0];
  again.attempt = 1;
  records.launches[0].status = LaunchStatus::kContaminated;
  records.launches[1].status = LaunchStatus::kContaminated;
  records.launches.push_back(again);
  const RunVerdict run = Judge(builder.manifest(), records);
  EXPECT_EQ(run.launches.used, 23);
  EXPECT_EQ(run.launches.rerun, 1);
  EXPECT_EQ(run.launches.left_out, 1);
  EXPECT_EQ(run.contrasts[0].cases[0].device.launches_left_out, 1);
}

// The same run with the names of both variants swapped in every record and the other one as the baseline. The
// null arm is made to differ from its new baseline as it did from the old one.
TEST(Judge, SwappedNamesGiveTheMirroredVerdict) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    RunBuilder builder({"a", "b"}, 2);
    builder.Seed(seed).Spread(0.002 + 0.02 * random.Uniform());
    for (int c = 0; c < 2; ++c) builder.Effect("b", 0.06 * (random.Uniform() - 0.5), c);
    const Records records = builder.Build();
    Manifest swapped_manifest = builder.manifest();
    swapped_manifest.baseline = "b";
    Records swapped = records;
    for (LaunchRecord& launch : swapped.launches) {
      ArmSamples& null = launch.arms[2];
      null.variant = swapped_manifest.baseline;
      for (size_t i = 0; i < null.device_ns.size(); ++i) {
        null.device_ns[i] *= launch.arms[1].device_ns[i] / launch.arms[0].device_ns[i];
        null.host_ns[i] *= launch.arms[1].host_ns[i] / launch.arms[0].host_ns[i];
      }
    }
    const RunVerdict there = Judge(builder.manifest(), records);
    const RunVerdict back = Judge(swapped_manifest, swapped);
    if (there.statistic != back.statistic) continue;  // the floor of a product is not the product of floors
    ++compared;
    EXPECT_EQ(back.contrasts[0].overall.verdict, Mirrored(there.contrasts[0].overall.verdict));
    for (size_t c = 0; c < 2; ++c) {
      EXPECT_EQ(back.contrasts[0].cases[c].device.verdict,
                Mirrored(there.contrasts[0].cases[c].device.verdict));
    }
    EXPECT_EQ(back.verdict, there.verdict);
    EXPECT_EQ(back.leader, there.leader);
    EXPECT_EQ(back.lead.value, there.lead.value);
  }
  EXPECT_GE(compared, 10);
}

TEST(Judge, IsAFunctionOfTheRecords) {
  RunBuilder builder({"a", "b", "c"}, 2);
  const Records records = builder.Effect("b", -0.02).Spread(0.01).Build();
  const RunVerdict first = Judge(builder.manifest(), records);
  const RunVerdict second = Judge(builder.manifest(), records);
  EXPECT_EQ(first.recommendation.sentences, second.recommendation.sentences);
  EXPECT_EQ(first.lead.value, second.lead.value);
}

TEST(Judge, RefusesWhatDoesntBelongTogether) {
  RunBuilder builder({"a", "b"}, 1);
  Records records = builder.Build();
  records.launches[0].case_name = "c9";
  EXPECT_THROW(Judge(builder.manifest(), records), Error);
}

}  // namespace
}  // namespace pagoda::judge

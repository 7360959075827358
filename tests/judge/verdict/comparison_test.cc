#include "judge/verdict/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "judge/verdict/run_builder.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Two builders' runs, the second of another day.
class TwoRuns {
 public:
  TwoRuns(std::vector<std::string> variants, int cases) : before(variants, cases), after(variants, cases) {
    before.manifest().time = "2026-03-01";
    after.manifest().time = "2026-03-02";
    after.Seed(2027);
  }

  Comparison Compare() {
    const Records earlier = before.Build(), later = after.Build();
    const std::vector<ComparedRun> runs = {{"old", before.manifest(), earlier},
                                           {"new", after.manifest(), later}};
    return CompareRuns(runs).at(0);
  }
  Contrast Change() { return Compare().changes.at(0).change; }

  std::string Refusal() {
    try {
      Compare();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
    return "not refused";
  }

  RunBuilder before, after;
};

TEST(CompareRuns, ASpeedUpThatStayedIsATieHoweverLarge) {
  TwoRuns runs({"a", "b"}, 2);
  runs.before.Effect("b", -0.3);
  runs.after.Effect("b", -0.3);
  const Comparison comparison = runs.Compare();
  ASSERT_EQ(comparison.changes.size(), 1u);
  EXPECT_EQ(comparison.baseline, "a");
  EXPECT_THAT(comparison.cases, ElementsAre("c0", "c1"));
  const Change& change = comparison.changes[0];
  EXPECT_EQ(change.change.counts.tie, 2);
  EXPECT_EQ(change.change.overall.verdict, Verdict::kTie);
  EXPECT_NEAR(change.change.overall.speedup.value, 1, 0.005);
  EXPECT_EQ(change.before.counts.win, 2);
  EXPECT_EQ(change.after.counts.win, 2);
  EXPECT_NEAR(change.after.overall.speedup.value, std::exp(0.3), 0.005);
}

TEST(CompareRuns, AGainIsAWinAndAFallBehindALoss) {
  TwoRuns runs({"a", "b"}, 3);
  runs.before.Effect("b", 0.10);
  runs.after.Effect("b", 0.10).Effect("b", 0.05, 0).Effect("b", 0.15, 1);
  const Contrast change = runs.Change();
  EXPECT_EQ(change.cases[0].device.verdict, Verdict::kWin);
  EXPECT_EQ(change.cases[1].device.verdict, Verdict::kLoss);
  EXPECT_EQ(change.cases[2].device.verdict, Verdict::kTie);
  EXPECT_NEAR(change.cases[0].device.theta.value, -0.05, 0.005);
  EXPECT_LT(change.cases[0].device.speedup.low, std::exp(0.05));
  EXPECT_GT(change.cases[0].device.speedup.high, std::exp(0.05));
  EXPECT_EQ(change.overall.verdict, Verdict::kMixed);  // they even out, but aren't nothing
  EXPECT_EQ(change.overall.next, "Look at the cases one by one.");
}

TEST(CompareRuns, TheOtherWayRoundIsTheMirror) {
  TwoRuns runs({"a", "b"}, 2);
  runs.after.Effect("b", -0.05, 0);
  TwoRuns back({"a", "b"}, 2);
  back.before = runs.after;
  back.after = runs.before;
  const Contrast there = runs.Change(), again = back.Change();
  for (size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(there.cases[c].device.theta.value, -again.cases[c].device.theta.value);
    EXPECT_EQ(there.cases[c].device.theta.low, -again.cases[c].device.theta.high);
    EXPECT_EQ(there.cases[c].device.p_adjusted, again.cases[c].device.p_adjusted);
    EXPECT_EQ(there.cases[c].device.verdict, Mirrored(again.cases[c].device.verdict));
  }
}

// The machine became slower for all: no contrast changed.
TEST(CompareRuns, WhatSlowsEveryoneIsNoChange) {
  TwoRuns runs({"a", "b", "c"}, 2);
  for (const char* variant : {"a", "b", "c"}) runs.after.Effect(variant, 0.4);
  for (const Change& change : runs.Compare().changes) EXPECT_EQ(change.change.counts.tie, 2);
}

TEST(CompareRuns, ANullArmThatMovedKeepsSmallChangesFromVerdicts) {
  TwoRuns runs({"a", "b"}, 1);
  runs.after.Effect("b", -0.03);
  EXPECT_EQ(runs.Change().cases[0].device.verdict, Verdict::kWin);
  const Manifest manifest = runs.after.manifest();
  const Records earlier = runs.before.Build();
  Records later = runs.after.Build();
  for (LaunchRecord& launch : later.launches) {
    for (ArmSamples& arm : launch.arms) {
      if (arm.link == 0) continue;
      for (double& ns : arm.device_ns) ns *= 1.05;
    }
  }
  const std::vector<ComparedRun> compared = {{"old", runs.before.manifest(), earlier},
                                             {"new", manifest, later}};
  const std::vector<Comparison> comparisons = CompareRuns(compared);
  const Outcome& outcome = comparisons[0].changes[0].change.cases[0].device;
  EXPECT_EQ(outcome.reason, Reason::kInsideNullBias);
  EXPECT_NEAR(outcome.nu, std::log(1.05), 0.01);
}

TEST(CompareRuns, TakesRunsOfUnequalLaunches) {
  TwoRuns runs({"a", "b"}, 1);
  runs.before.Launches(8);
  runs.after.Launches(20).Effect("b", -0.05);
  const Outcome outcome = runs.Change().cases[0].device;
  EXPECT_EQ(outcome.verdict, Verdict::kWin);
  EXPECT_EQ(outcome.launches_used, 8);
}

TEST(CompareRuns, TooFewLaunchesAreSaidToBeTooFewForTwoRuns) {
  TwoRuns runs({"a", "b"}, 1);
  runs.before.Launches(3).Spread(0.05);
  runs.after.Launches(3).Spread(0.05);
  const Outcome outcome = runs.Change().cases[0].device;
  EXPECT_EQ(outcome.reason, Reason::kTooFewLaunches);
  EXPECT_THAT(outcome.why, HasSubstr("it takes 4"));
  EXPECT_EQ(outcome.next, "Run both again with --launches 12.");
}

TEST(CompareRuns, AnInterruptedRunIsNotMeasuredWhereItHasNoLaunch) {
  TwoRuns runs({"a", "b"}, 2);
  const Records earlier = runs.before.Build();
  Records later = runs.after.Build();
  std::erase_if(later.launches, [](const LaunchRecord& launch) { return launch.case_name == "c1"; });
  const std::vector<ComparedRun> compared = {{"old", runs.before.manifest(), earlier},
                                             {"new", runs.after.manifest(), later}};
  const std::vector<Comparison> comparisons = CompareRuns(compared);
  const Contrast& change = comparisons[0].changes[0].change;
  EXPECT_EQ(change.cases[0].device.verdict, Verdict::kTie);
  EXPECT_EQ(change.cases[1].device.reason, Reason::kMissing);
  EXPECT_EQ(change.overall.reason, Reason::kMissingCase);
  EXPECT_EQ(change.counts.missing, 1);
}

TEST(CompareRuns, AWrongResultInEitherRunIsInvalid) {
  for (const bool in_later : {false, true}) {
    TwoRuns runs({"a", "b"}, 2);
    Records earlier = runs.before.Build(), later = runs.after.Build();
    GateRecord& gate = (in_later ? later : earlier).gates.back();
    gate.passed = false;
    gate.fault = "out[0] = 1, not 2";
    const std::vector<ComparedRun> compared = {{"old", runs.before.manifest(), earlier},
                                               {"new", runs.after.manifest(), later}};
    const std::vector<Comparison> comparisons = CompareRuns(compared);
    const Contrast& change = comparisons[0].changes[0].change;
    EXPECT_EQ(change.counts.invalid, 1);
    EXPECT_EQ(change.overall.reason, Reason::kInvalidCase);
  }
}

TEST(CompareRuns, HolmCountsTheQuestionsOfAllComparisons) {
  TwoRuns runs({"a", "b", "c"}, 2);
  runs.after.Effect("b", -0.05);
  RunBuilder newest({"a", "b", "c"}, 2);
  newest.Seed(3).manifest().time = "2026-03-03";
  const Records first = runs.before.Build(), second = runs.after.Build(), third = newest.Build();
  const std::vector<ComparedRun> compared = {{"1", runs.before.manifest(), first},
                                             {"2", runs.after.manifest(), second},
                                             {"3", newest.manifest(), third}};
  const std::vector<Comparison> comparisons = CompareRuns(compared);
  ASSERT_EQ(comparisons.size(), 2u);
  const Outcome& b = comparisons[0].changes[0].change.cases[0].device;
  // 2 cases x 2 variants x 2 comparisons.
  EXPECT_NEAR(b.p_adjusted, b.p * 8, b.p * 1.01);
  EXPECT_EQ(b.verdict, Verdict::kWin);
  EXPECT_EQ(comparisons[1].changes[0].change.counts.tie, 2);
}

TEST(CompareRuns, SaysWhatOnlyOneRunHas) {
  RunBuilder before({"a", "b", "old"}, 3), after({"new", "b", "a"}, 2);
  before.Baseline("b");
  after.manifest().cases[1].name = "fresh";
  const Records earlier = before.Build(), later = after.Build();
  const std::vector<ComparedRun> compared = {{"1", before.manifest(), earlier},
                                             {"2", after.manifest(), later}};
  const std::vector<Comparison> comparisons = CompareRuns(compared);
  const Comparison& comparison = comparisons[0];
  EXPECT_THAT(comparison.cases, ElementsAre("c0"));
  EXPECT_THAT(comparison.variants, ElementsAre("a", "b"));
  EXPECT_THAT(comparison.cases_only_before, ElementsAre("c1", "c2"));
  EXPECT_THAT(comparison.cases_only_after, ElementsAre("fresh"));
  EXPECT_THAT(comparison.variants_only_before, ElementsAre("old"));
  EXPECT_THAT(comparison.variants_only_after, ElementsAre("new"));
  // The later run's own baseline is another variant: the contrast is still against the earlier one's.
  EXPECT_EQ(comparison.changes.at(0).change.baseline, "b");
  EXPECT_EQ(comparison.changes[0].change.cases[0].device.verdict, Verdict::kTie);
}

TEST(CompareRuns, OfTheBaselineAloneThereIsNothingToDecide) {
  const Comparison comparison = TwoRuns({"a"}, 1).Compare();
  EXPECT_THAT(comparison.variants, ElementsAre("a"));
  EXPECT_THAT(comparison.changes, IsEmpty());
}

TEST(CompareRuns, RefusesTheSameRunTwice) {
  TwoRuns runs({"a", "b"}, 1);
  runs.after.manifest() = runs.before.manifest();
  EXPECT_EQ(runs.Refusal(), "new can't be compared with old: it is the same run; give two runs");
}

TEST(CompareRuns, WhatAnOlderRunDoesntSayOfItsCasesIsNoDifference) {
  TwoRuns runs({"a", "b"}, 1);
  runs.after.manifest().cases[0].problem = {{"layout", "NHD"}};
  EXPECT_THAT(runs.Compare().cases, ElementsAre("c0"));
}

TEST(CompareRuns, RefusesWhatIsNotTheSameQuestion) {
  const auto refusal = [](const auto& change) {
    TwoRuns runs({"a", "b"}, 1);
    for (RunBuilder* run : {&runs.before, &runs.after}) {
      run->manifest().cases[0].problem = {{"layout", "NHD"}, {"softcap", "0"}};
    }
    change(runs.after.manifest());
    const std::string said = runs.Refusal();
    EXPECT_THAT(said, StartsWith("new can't be compared with old: "));
    return said;
  };
  EXPECT_THAT(refusal([](Manifest& m) { m.delta = 0.03; }), HasSubstr("delta is 0.01 there and 0.03 here"));
  EXPECT_THAT(refusal([](Manifest& m) { m.cases[0].name = "x"; }),
              HasSubstr("no case in common (there: c0; here: x)"));
  EXPECT_THAT(refusal([](Manifest& m) { m.cases[0].problem["layout"] = "HND"; }),
              HasSubstr("c0 is another problem: layout NHD there and HND here"));
  EXPECT_THAT(refusal([](Manifest& m) { m.cases[0].dtype = "f32"; }),
              HasSubstr("c0 is another problem: dtype bf16 there and f32 here"));
  EXPECT_THAT(refusal([](Manifest& m) { m.cases[0].cache = "warm"; }), HasSubstr("a cold cache there"));
  EXPECT_THAT(refusal([](Manifest& m) { m.cases[0].bytes *= 2; }),
              HasSubstr("bytes 10000000 there and 20000000"));
  EXPECT_THAT(refusal([](Manifest& m) { m.cases[0].weight = 2; }), HasSubstr("weight 1 there and 2 here"));
  EXPECT_THAT(refusal([](Manifest& m) {
                m.variants = {"x", "b"};
                m.baseline = "x";
              }),
              HasSubstr("the baseline there, a, was not measured here (variants: x and b)"));
}

// Stated by the report, not refused.
TEST(CompareRuns, TakesAnotherMachineAnotherThreadCountAndAnotherSeed) {
  TwoRuns runs({"a", "b"}, 1);
  runs.after.manifest().threads = 8;
  runs.after.manifest().seed = 7;
  runs.after.manifest().environment.cpu = "another";
  EXPECT_EQ(runs.Change().counts.tie, 1);
}

}  // namespace
}  // namespace pagoda::judge

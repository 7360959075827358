#include "judge/report/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "judge/report/sample_run.h"

namespace pagoda::judge {
namespace {

using testing::ElementsAre;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Tally, NamesInvalidOnlyWhereThereIsOne) {
  EXPECT_EQ(Tally({.win = 15, .tie = 2, .inconclusive = 1}), "15 WIN, 2 TIE, 0 LOSS, 1 INCONCLUSIVE");
  EXPECT_EQ(Tally({.invalid = 3}), "0 WIN, 0 TIE, 0 LOSS, 0 INCONCLUSIVE, 3 INVALID");
}

TEST(Standing, CountsEveryCase) {
  EXPECT_EQ(Standing({.win = 8, .tie = 2}, "X"), "ahead of X on 8 cases, tied on 2, behind on none");
  EXPECT_EQ(Standing({.win = 1, .loss = 1}, "X"), "ahead of X on 1 case, tied on none, behind on 1");
  EXPECT_EQ(Standing({.tie = 4, .inconclusive = 2, .invalid = 1}, "X"),
            "ahead of X on no case, tied on 4, behind on none, undecided on 2, invalid on 1");
}

TEST(AnswerOf, AWinnerIsTheAnswer) {
  SampleRun run = HandMadeRun();
  run.verdict.verdict = Verdict::kWin;
  run.verdict.next = "";
  run.verdict.top->counts = {.win = 3};
  run.verdict.recommendation.sentences = {"Keep fast."};
  const Answer answer = AnswerOf(run.AsReplay());
  EXPECT_EQ(answer.choice, "fast");
  EXPECT_THAT(answer.sentences,
              ElementsAre("fast is ahead of slow on 3 cases, tied on none, behind on none.", "Keep fast."));
  EXPECT_EQ(Brief(run.AsReplay()), "fast. Keep fast.");
}

TEST(AnswerOf, ATieNamesAllWinners) {
  SampleRun run = HandMadeRun();
  run.verdict.verdict = Verdict::kTie;
  EXPECT_EQ(AnswerOf(run.AsReplay()).choice, "fast or slow: they tie within 1% overall");
  run.verdict.winners = {"fast", "slow", "third"};
  EXPECT_EQ(AnswerOf(run.AsReplay()).choice,
            "fast, slow or third: none of them is beaten overall, and fast and slow tie within 1%");
}

TEST(AnswerOf, AMixedAnswerNamesTheCasesBehind) {
  SampleRun run = HandMadeRun();
  run.verdict.verdict = Verdict::kMixed;
  const Answer answer = AnswerOf(run.AsReplay());
  EXPECT_EQ(answer.choice, "It depends on the case");
  EXPECT_EQ(answer.sentences[1], "Behind on: b1_s512_bf16_decode.");
}

TEST(AnswerOf, NoAnswerGivesTheRatioAndWhatNext) {
  const SampleRun run = HandMadeRun();
  const Answer answer = AnswerOf(run.AsReplay());
  EXPECT_EQ(answer.choice, "Undecided");
  EXPECT_EQ(answer.sentences.front(),
            "fast is ahead of slow on 1 case, tied on none, behind on 1, undecided on 1: 1.04× [1.03, 1.05] "
            "overall.");
  EXPECT_EQ(answer.sentences.back(), "Next: Run again with --launches 40.");
}

TEST(AnswerOf, ARatioThatIsNotKnownIsNotStated) {
  SampleRun run = HandMadeRun();
  run.verdict.top->overall.speedup = {kNaN, kNaN, kNaN};
  EXPECT_EQ(AnswerOf(run.AsReplay()).sentences.front(),
            "fast is ahead of slow on 1 case, tied on none, behind on 1, undecided on 1.");
}

TEST(AnswerOf, WithoutARunnerUpOnlyTheRecommendationSpeaks) {
  SampleRun run = HandMadeRun();
  run.verdict.top.reset();
  run.verdict.verdict = Verdict::kInvalid;
  run.verdict.recommendation.sentences = {"There is no variant to recommend: x."};
  EXPECT_EQ(AnswerOf(run.AsReplay()).choice, "No valid answer");
  EXPECT_THAT(AnswerOf(run.AsReplay()).sentences,
              ElementsAre("There is no variant to recommend: x.", "Next: Run again with --launches 40."));
}

TEST(Headline, TwoVariantsAgainstTheBaseline) {
  EXPECT_EQ(
      Headline(HandMadeRun().AsReplay()),
      "fast vs slow: 1 WIN, 0 TIE, 1 LOSS, 1 INCONCLUSIVE; geomean 1.043x [1.032, 1.054]; 12/12 correct, "
      "bitwise; null 1.000x [0.998, 1.002]; MDE 1.3%");
}

TEST(Headline, SaysBitwiseOnlyIfAllWere) {
  SampleRun run = HandMadeRun();
  run.verdict.bitwise_all = false;
  run.verdict.gates_passed = 11;
  EXPECT_THAT(Headline(run.AsReplay()), testing::HasSubstr("; 11/12 correct; null"));
}

TEST(Headline, MoreThanTwoVariantsGiveTheLeaderAgainstTheRunnerUp) {
  SampleRun run = HandMadeRun();
  run.verdict.contrasts.push_back(run.verdict.contrasts.front());
  run.verdict.top->baseline = "third";
  EXPECT_THAT(Headline(run.AsReplay()), testing::StartsWith("fast vs third: 1 WIN"));
}

TEST(Headline, OneVariantHasNothingToCompareWith) {
  SampleRun run = HandMadeRun();
  run.verdict.contrasts.clear();
  run.verdict.top.reset();
  EXPECT_EQ(Headline(run.AsReplay()),
            "slow: no other variant measured; 12/12 correct, bitwise; null 1.000x [0.998, 1.002]; MDE 1.3%");
}

TEST(Correctness, CountsWhatTheRecordsHold) {
  SampleRun run = HandMadeRun();
  EXPECT_EQ(Correctness(run.AsReplay()),
            "12/12 gate runs passed, 6/6 of each variant (2 variants, 3 cases, 2 seeds); bitwise repeatable, "
            "with a fresh plan too: all");
  run.records.gates[0].bitwise_repeatable = false;
  run.verdict.bitwise_all = false;
  EXPECT_THAT(Correctness(run.AsReplay()), testing::EndsWith("with a fresh plan too: 11 of 12"));
  run.records.gates[0].passed = false;
  run.verdict.gates_passed = 11;
  EXPECT_THAT(Correctness(run.AsReplay()), testing::StartsWith("11/12 gate runs passed (2 variants"));
  run.records.gates.clear();
  run.verdict.gates_total = run.verdict.gates_passed = 0;
  EXPECT_EQ(Correctness(run.AsReplay()), "no gate run in the records");
}

TEST(Correctness, NamesWhoseBitsAVariantHas) {
  SampleRun run = HandMadeRun();
  for (GateRecord& gate : run.records.gates) {
    if (gate.variant == "fast") gate.same_bits_as = "slow";
  }
  EXPECT_THAT(Correctness(run.AsReplay()), testing::EndsWith("all; fast has the bits of slow: 6/6"));
  run.records.gates.back().same_bits_as.clear();  // failed before it was looked at
  EXPECT_THAT(Correctness(run.AsReplay()), testing::EndsWith("all; fast has the bits of slow: 5/6"));
}

TEST(MediansAlone, StandBesideTheVerdict) {
  SampleRun run = HandMadeRun();
  EXPECT_EQ(MediansAlone(run.AsReplay()),
            "geometric mean over 3 cases: slow 71.4 µs; fast 68.4 µs, 1.044x (0.900x to 1.250x), judged "
            "INCONCLUSIVE 1.043x [1.032, 1.054]");
  run.verdict.medians.cases = 2;
  run.verdict.contrasts[0].overall.verdict = Verdict::kInvalid;
  EXPECT_EQ(MediansAlone(run.AsReplay()),
            "geometric mean over 2 of 3 cases: slow 71.4 µs; fast 68.4 µs, 1.044x (0.900x to 1.250x), judged "
            "INVALID");
  run.verdict.medians.cases = 1;  // its table says all of it
  EXPECT_EQ(MediansAlone(run.AsReplay()), "");
  run.verdict.medians = {3, {{"slow", 71.374, 1, 1, 1}}};
  EXPECT_EQ(MediansAlone(run.AsReplay()), "");
}

TEST(Resolution, SaysWhatIsNotKnown) {
  SampleRun run = HandMadeRun();
  EXPECT_EQ(Resolution(run.AsReplay()),
            "null arm 1.000× [0.998, 1.002] · smallest effect that this run could see overall: 1.3%");
  run.verdict.null.value = kNaN;
  run.verdict.mde = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Resolution(run.AsReplay()),
            "null arm not measured · smallest effect that this run could see overall: none at this number of "
            "launches");
}

}  // namespace
}  // namespace pagoda::judge

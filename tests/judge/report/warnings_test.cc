#include "judge/report/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "judge/report/sample_run.h"

namespace pagoda::judge {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// The only warning of a run, or one that no test expects.
WarningText OnlyWarning(const SampleRun& run) {
  const std::vector<WarningText> warnings = WarningsOf(run.AsReplay());
  EXPECT_EQ(warnings.size(), 1u);
  return warnings.empty() ? WarningText{} : warnings.front();
}

TEST(Warnings, ACleanRunHasNone) { EXPECT_THAT(WarningsOf(HandMadeRun().AsReplay()), IsEmpty()); }

TEST(Warnings, ATimeBelowTheBoundIsSuspect) {
  SampleRun run = HandMadeRun();
  run.verdict.figures[1].suspect = true;
  run.verdict.figures[1].roofline_fraction = 1.2;
  const WarningText warning = OnlyWarning(run);
  EXPECT_EQ(warning.kind, Warning::kSuspectTimes);
  EXPECT_EQ(
      warning.what,
      "Faster than the machine's own bound, up to 120.0% of the roofline: fast on b1_s128_bf16_decode.");
}

TEST(Warnings, AFailedGateIsNamed) {
  SampleRun run = HandMadeRun();
  run.records.gates[2].passed = false;
  run.records.gates[2].fault = "out[3, 0, 7] = 0.75, expected 0.5";
  EXPECT_EQ(OnlyWarning(run).what,
            "1 gate run failed: fast on b1_s128_bf16_decode with seed 1: out[3, 0, 7] = 0.75, expected 0.5.");
}

TEST(Warnings, AHungLaunchIsNamed) {
  SampleRun run = HandMadeRun();
  run.records.launches[3].status = LaunchStatus::kHung;
  run.records.launches[3].culprit = "fast";
  run.records.launches[3].reason = "no sign of life for 30 s";
  const WarningText warning = OnlyWarning(run);
  EXPECT_EQ(warning.kind, Warning::kFailedLaunches);
  EXPECT_EQ(warning.what,
            "1 launch failed: fast, hung on b1_s128_bf16_decode (launch 3): no sign of life for 30 s.");
}

TEST(Warnings, MissingLaunchesAndATornLine) {
  SampleRun run = HandMadeRun();
  run.verdict.launches.never_run = 5;
  run.records.torn_lines = 1;
  const std::vector<WarningText> warnings = WarningsOf(run.AsReplay());
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0].what, "5 of 36 planned launches have no record.");
  EXPECT_THAT(warnings[0].next, HasSubstr("--resume"));
  EXPECT_EQ(warnings[1].kind, Warning::kTornRecord);
}

TEST(Warnings, ContaminatedLaunchesAreCounted) {
  SampleRun run = HandMadeRun();
  run.verdict.launches.left_out = 1;
  run.verdict.launches.rerun = 3;
  const std::vector<WarningText> warnings = WarningsOf(run.AsReplay());
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0].what,
            "1 launch was left out as a whole because the machine was busy, with no clean attempt after.");
  EXPECT_EQ(warnings[1].what, "3 launches were contaminated and replaced by a clean attempt.");
}

TEST(Warnings, AnUnfitMachine) {
  SampleRun run = HandMadeRun();
  run.records.launches[0].after.other_busy = 0.5;
  EXPECT_EQ(OnlyWarning(run).what,
            "The machine was not quiet: steal up to 0.1%, other processes on up to 50.0% of the CPUs.");
  run.records.launches[0].after.other_busy = kFitOtherBusy;
  EXPECT_THAT(WarningsOf(run.AsReplay()), IsEmpty());
}

TEST(Warnings, Throttling) {
  SampleRun run = HandMadeRun();
  run.records.launches[0].before.throttle_events = 4;
  run.records.launches[0].after.throttle_events = 4;
  EXPECT_THAT(WarningsOf(run.AsReplay()), IsEmpty());
  run.records.launches[0].after.throttle_events = 6;
  EXPECT_EQ(OnlyWarning(run).what, "The CPU throttled 2 times during launches.");
}

TEST(Warnings, NoNullArm) {
  SampleRun run = HandMadeRun();
  for (LaunchRecord& launch : run.records.launches) launch.arms.pop_back();
  EXPECT_EQ(OnlyWarning(run).kind, Warning::kNoNullArm);
}

TEST(Warnings, ReasonsOfVerdictsNameTheirCases) {
  for (const auto& [reason, kind] : {std::pair{Reason::kBimodal, Warning::kBimodal},
                                     std::pair{Reason::kTooFewLaunches, Warning::kFewLaunches},
                                     std::pair{Reason::kClockTooCoarse, Warning::kClockTooCoarse}}) {
    SampleRun run = HandMadeRun();
    run.verdict.contrasts[0].cases[2].device.reason = reason;
    const WarningText warning = OnlyWarning(run);
    EXPECT_EQ(warning.kind, kind);
    EXPECT_THAT(warning.what, HasSubstr("1 case: b4_s512_bf16_decode."));
  }
}

TEST(Warnings, AnInterruptedRunIsFinishedBeforeItIsMadeLonger) {
  SampleRun run = HandMadeRun();
  run.verdict.contrasts[0].cases[2].device.reason = Reason::kTooFewLaunches;
  run.verdict.launches.never_run = 5;
  EXPECT_EQ(OnlyWarning(run).kind, Warning::kLaunchesMissing);
}

TEST(Warnings, FewerTimesThanTheSuiteAsksFor) {
  SampleRun run = HandMadeRun();
  run.manifest.settings["samples"] = "384";
  EXPECT_THAT(WarningsOf(run.AsReplay()), IsEmpty());
  run.verdict.figures[1].samples = 0;  // never timed: other warnings say why
  EXPECT_THAT(WarningsOf(run.AsReplay()), IsEmpty());
  run.verdict.figures[2].samples = 383;
  run.verdict.figures[3].samples = 36;
  EXPECT_EQ(OnlyWarning(run).kind, Warning::kFewSamples);
  EXPECT_EQ(OnlyWarning(run).what,
            "Fewer than the 384 times of a variant that the suite asks for, down to 36: slow on "
            "b1_s512_bf16_decode and fast on b1_s512_bf16_decode.");
}

TEST(Warnings, UnrepeatableVariantsAreNamedOnce) {
  SampleRun run = HandMadeRun();
  for (GateRecord& gate : run.records.gates) gate.bitwise_repeatable = gate.variant != "fast";
  EXPECT_EQ(OnlyWarning(run).what, "Right, but not the same bits each time: fast.");
}

TEST(Warnings, MissingCeilings) {
  SampleRun run = HandMadeRun();
  run.manifest.ceilings.bandwidth.clear();
  EXPECT_EQ(OnlyWarning(run).kind, Warning::kCeilingsMissing);
  EXPECT_THAT(OnlyWarning(run).what, HasSubstr("No ceiling of memory in the manifest"));
  run = HandMadeRun();
  run.manifest.ceilings.compute.clear();
  EXPECT_THAT(OnlyWarning(run).what, HasSubstr("No ceiling of arithmetic in the manifest"));
}

TEST(Warnings, GateRunsWithoutARecord) {
  SampleRun run = HandMadeRun();
  run.verdict.gates_missing = 2;
  EXPECT_EQ(OnlyWarning(run).kind, Warning::kGatesMissing);
  EXPECT_THAT(OnlyWarning(run).what, HasSubstr("2 of "));
}

TEST(Warnings, SourcesThatDifferFromTheCommit) {
  SampleRun run = HandMadeRun();
  run.manifest.environment.git_dirty = true;
  EXPECT_EQ(OnlyWarning(run).what, "Built from sources that differ from commit 0123abc.");
}

TEST(Warnings, LongListsAreCut) {
  SampleRun run = HandMadeRun();
  for (Figures& f : run.verdict.figures) f.suspect = true;
  EXPECT_THAT(OnlyWarning(run).what, HasSubstr("fast on b1_s512_bf16_decode and 2 more."));
}

TEST(Warnings, EachKindHasItsOwnName) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Warning::kDirtySources); ++i)
    names.insert(NameOf(static_cast<Warning>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(Warning::kDirtySources) + 1);
  EXPECT_EQ(names.count(""), 0u);
}

}  // namespace
}  // namespace pagoda::judge

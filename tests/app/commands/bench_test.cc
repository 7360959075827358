#include "app/commands/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/commands/command.h"
#include "engine/simd/ceilings.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

using judge::Verdict;
using testing::HasSubstr;
using testing::SizeIs;

// A run of one contrast with one verdict per case.
judge::RunVerdict RunOf(std::vector<Verdict> cases, Verdict overall) {
  judge::RunVerdict run;
  run.verdict = overall;
  run.gates_passed = run.gates_total = 15;
  judge::Contrast contrast;
  contrast.overall.verdict = overall;
  for (const Verdict verdict : cases) {
    judge::CaseVerdict c;
    c.device.verdict = verdict;
    contrast.cases.push_back(c);
  }
  run.contrasts.push_back(contrast);
  return run;
}

TEST(BenchExitCode, IsDoneWhateverTheVerdictUnlessAConditionIsSet) {
  EXPECT_EQ(BenchExitCode(RunOf({Verdict::kLoss}, Verdict::kLoss), {}), kDone);
  EXPECT_EQ(BenchExitCode(RunOf({Verdict::kInconclusive}, Verdict::kInconclusive), {}), kDone);
}

TEST(BenchExitCode, OneLossOnAnyCaseFailsOnLoss) {
  const FailOn loss{.loss = true, .inconclusive = false};
  EXPECT_EQ(BenchExitCode(RunOf({Verdict::kWin, Verdict::kLoss}, Verdict::kMixed), loss), kConditionFailed);
  EXPECT_EQ(BenchExitCode(RunOf({Verdict::kWin}, Verdict::kLoss), loss), kConditionFailed);
  EXPECT_EQ(BenchExitCode(RunOf({Verdict::kWin, Verdict::kTie}, Verdict::kWin), loss), kDone);
  EXPECT_EQ(BenchExitCode(RunOf({Verdict::kInconclusive}, Verdict::kInconclusive), loss), kDone);
}

TEST(BenchExitCode, InconclusiveIsCode4AndOnlyWithoutALoss) {
  const FailOn both{.loss = true, .inconclusive = true};
  EXPECT_EQ(BenchExitCode(RunOf({Verdict::kWin, Verdict::kInconclusive}, Verdict::kWin), both),
            kInconclusive);
  EXPECT_EQ(BenchExitCode(RunOf({Verdict::kWin}, Verdict::kInconclusive), both), kInconclusive);
  EXPECT_EQ(BenchExitCode(RunOf({Verdict::kLoss, Verdict::kInconclusive}, Verdict::kMixed), both),
            kConditionFailed);
  EXPECT_EQ(BenchExitCode(RunOf({Verdict::kWin}, Verdict::kWin), both), kDone);
}

TEST(BenchExitCode, AWrongResultIsCode3BeforeEverythingElse) {
  const FailOn both{.loss = true, .inconclusive = true};
  EXPECT_EQ(BenchExitCode(RunOf({Verdict::kLoss, Verdict::kInvalid}, Verdict::kInconclusive), both),
            kGateFailed);
  judge::RunVerdict run = RunOf({Verdict::kWin}, Verdict::kWin);
  run.gates_passed = 14;
  EXPECT_EQ(BenchExitCode(run, {}), kGateFailed);
}

TEST(ParseFailOn, KnowsTwoConditions) {
  EXPECT_FALSE(ParseFailOn({}).loss);
  const FailOn both = ParseFailOn({"loss", "inconclusive"});
  EXPECT_TRUE(both.loss && both.inconclusive);
  try {
    ParseFailOn({"los"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean \"loss\"?"));
  }
}

TEST(ToRecord, KeepsTheMedians) {
  MachineCeilings measured;
  measured.read.push_back({2, 4096, {17.5, 17, 18}});
  measured.flops.push_back({"avx2", "f32", 1, {90, 89, 91}});
  const judge::Ceilings ceilings = ToRecord(measured);
  ASSERT_THAT(ceilings.bandwidth, SizeIs(1));
  EXPECT_EQ(ceilings.bandwidth[0].run_bytes, 4096);
  EXPECT_EQ(ceilings.bandwidth[0].threads, 2);
  EXPECT_EQ(ceilings.bandwidth[0].gb_per_s, 17.5);
  ASSERT_THAT(ceilings.compute, SizeIs(1));
  EXPECT_EQ(ceilings.compute[0].isa, "avx2");
  EXPECT_EQ(ceilings.compute[0].gflop_per_s, 90);
}

}  // namespace
}  // namespace pagoda::app

#include "judge/bench/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "judge/bench/fakes.h"
#include "judge/record/jsonl.h"
#include "judge/stats/power.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_fakes::FakeRunner;
using testing_fakes::FakeSubject;
using testing_fakes::SmallCase;

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    suite_.name = "s";
    suite_.cases = {SmallCase(64), SmallCase(128)};
    suite_.variants = {"a", "b", "c"};
    options_.directory =
        fs::path(testing::TempDir()) /
        fmt::format("session_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
    options_.protocol.epoch_ns = 1;
    options_.protocol.least_blocks = 2;
    options_.protocol.blocks = 4;
    fs::remove_all(options_.directory);
  }
  ~SessionTest() override { fs::remove_all(options_.directory); }

  SessionResult Run() {
    const RunSetup setup = MakeSetup(suite_, selection_, subject_);
    Manifest manifest = ManifestOf(setup);
    manifest.run_id = fmt::format("run{}", ++runs_);
    manifest.seed = 2026;
    manifest.threads = 2;
    return RunSession(setup, manifest, options_,
                      {.runner = runner_,
                       .stop = [this] { return stop_at_ && runner_.plans.size() >= *stop_at_; },
                       .now_s = [this] { return now_s_ += 0.5; },
                       .before_rerun = {},
                       .progress =
                           [this](std::string_view phase, const ExecutionProgress&) {
                             if (phases_.empty() || phases_.back() != phase) phases_.emplace_back(phase);
                           },
                       .note = [this](const std::string& note) { notes_.push_back(note); }});
  }
  Records Saved() const { return ReadRecords(options_.directory / kRecordsFile); }
  Manifest SavedManifest() const { return ReadManifest(options_.directory / kManifestFile); }
  std::string Refusal() {
    try {
      Run();
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  }

  FakeSubject subject_;
  FakeRunner runner_{subject_};
  Suite suite_;
  Selection selection_;
  SessionOptions options_;
  std::optional<size_t> stop_at_;
  double now_s_ = 0;
  int runs_ = 0;
  std::vector<std::string> phases_, notes_;
};

TEST_F(SessionTest, GatesThenLaunchesAndKeepsEverything) {
  const SessionResult result = Run();
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(result.gate.passed, 18);
  EXPECT_EQ(result.launches.ran, 24);
  EXPECT_THAT(phases_, testing::ElementsAre("gate", "launches"));
  EXPECT_THAT(notes_, IsEmpty());
  const Records records = Saved();
  EXPECT_THAT(records.gates, SizeIs(18));
  ASSERT_THAT(records.launches, SizeIs(24));
  EXPECT_EQ(SavedManifest().launches, 12);
  EXPECT_EQ(SavedManifest().run_id, "run1");
  EXPECT_EQ(records.launches[0].run_id, "run1");
  EXPECT_THAT(records.launches[0].arms, SizeIs(4));
}

TEST_F(SessionTest, ADirectoryWithARunIsNotWrittenOver) {
  Run();
  EXPECT_THAT(Refusal(), HasSubstr("--out"));
  EXPECT_THAT(Refusal(), HasSubstr("--resume"));
  EXPECT_THAT(Saved().launches, SizeIs(24));
  fs::remove(options_.directory / kManifestFile);
  EXPECT_THAT(Refusal(), HasSubstr("records.jsonl"));
}

TEST_F(SessionTest, AnInterruptedRunGoesOnWhereItStopped) {
  stop_at_ = 7;  // two gates, five launches
  EXPECT_TRUE(Run().interrupted);
  EXPECT_THAT(Saved().launches, SizeIs(5));
  stop_at_.reset();
  options_.resume = true;
  const SessionResult result = Run();
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(result.gate.passed, 18);
  EXPECT_EQ(result.launches.skipped, 5);
  EXPECT_EQ(result.manifest.run_id, "run1");
  const Records records = Saved();
  EXPECT_THAT(records.gates, SizeIs(18));
  ASSERT_THAT(records.launches, SizeIs(24));
  for (const LaunchRecord& r : records.launches) EXPECT_EQ(r.run_id, "run1");
}

TEST_F(SessionTest, AnInterruptedGateGoesOnToo) {
  stop_at_ = 1;
  EXPECT_TRUE(Run().interrupted);
  EXPECT_THAT(Saved().gates, SizeIs(9));
  stop_at_.reset();
  options_.resume = true;
  EXPECT_EQ(Run().gate.passed, 18);
  EXPECT_THAT(Saved().gates, SizeIs(18));
}

TEST_F(SessionTest, ResumeRefusesAnotherRunOrNone) {
  options_.resume = true;
  EXPECT_THAT(Refusal(), HasSubstr("--resume finds no manifest.json"));
  options_.resume = false;
  Run();
  options_.resume = true;
  selection_.baseline = "b";
  EXPECT_THAT(Refusal(), HasSubstr("--resume can't go on with the run"));
  EXPECT_THAT(Refusal(), HasSubstr("baseline was a, now b"));
  selection_ = {};
  options_.launches = 13;
  EXPECT_THAT(Refusal(), HasSubstr("launches was 12, now 13"));
}

TEST_F(SessionTest, WhatIsWrongWithTheDirectoryIsSaidBeforeAnythingRuns) {
  const auto refusal = [this] {
    try {
      OpenRunDirectory(options_, ManifestOf(MakeSetup(suite_, selection_, subject_)));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no refusal");
  };
  EXPECT_EQ(refusal(), "no refusal");
  EXPECT_TRUE(fs::is_empty(options_.directory)) << "the probe leaves nothing";
  const fs::path base = options_.directory;
  options_.directory = base / "file" / "below";
  std::ofstream(base / "file") << "x";
  EXPECT_THAT(refusal(), HasSubstr("--out = "));
  options_.directory = "/proc/pagoda";
  EXPECT_THAT(refusal(), HasSubstr("--out = /proc/pagoda can't be made"));
  options_.directory = base;
  Run();
  EXPECT_THAT(refusal(), HasSubstr("holds a run already (manifest.json)"));
}

TEST_F(SessionTest, AResumedRunRepeatsWhatHasNoRecordWhereverThatWas) {
  Run();
  Records saved = Saved();
  const size_t gates = saved.gates.size();
  fs::remove(options_.directory / kRecordsFile);
  saved.gates.erase(saved.gates.begin() + 1);
  {
    RecordWriter writer(options_.directory / kRecordsFile);
    for (const GateRecord& gate : saved.gates) writer.Append(gate);
    for (const LaunchRecord& launch : saved.launches) writer.Append(launch);
  }
  options_.resume = true;
  runner_.plans.clear();
  EXPECT_EQ(Run().gate.passed, static_cast<int64_t>(gates));
  EXPECT_THAT(runner_.plans, SizeIs(1));
  EXPECT_THAT(Saved().gates, SizeIs(gates));
}

TEST_F(SessionTest, AFailedGateKeepsItsVariantFromBeingTimedThere) {
  subject_.gate_faults[{"b", 2029}] = "zeros";
  subject_.gate_faults[{"a", 2039}] = "zeros";
  suite_.baseline = "c";
  const SessionResult result = Run();
  // b and a fail on both cases, so c has nothing to be compared with.
  EXPECT_TRUE(result.nothing_to_time);
  EXPECT_THAT(result.gate.failures, SizeIs(4));
  EXPECT_THAT(Saved().launches, IsEmpty());
  fs::remove_all(options_.directory);
  subject_.gate_faults.erase({"a", 2039});
  EXPECT_EQ(Run().launches.ran, 24);
  for (const LaunchRecord& r : Saved().launches) EXPECT_THAT(r.arms, SizeIs(3));
}

TEST_F(SessionTest, ABudgetStartsWithPilotsAndShortensBlocksThenLaunches) {
  // 1 ms a call for four arms: a block takes 8 ms. The runner says 2 s a process, which a pilot counts as
  // fixed.
  subject_.call_ns = {{"a", 1e6}, {"b", 1e6}, {"c", 1e6}};
  options_.budget_s = 40;
  const SessionResult result = Run();
  EXPECT_THAT(phases_, testing::ElementsAre("gate", "pilot", "launches"));
  ASSERT_THAT(notes_, SizeIs(1));
  EXPECT_THAT(notes_[0], HasSubstr("2 blocks instead of 4, 9 launches instead of 12"));
  EXPECT_EQ(result.manifest.launches, 9);
  EXPECT_EQ(SavedManifest().launches, 9);
  EXPECT_THAT(Saved().launches, SizeIs(18));
  for (const LaunchRecord& r : Saved().launches) EXPECT_EQ(r.blocks, 2);
}

TEST_F(SessionTest, AResumedRunKeepsItsScheduleWithoutPilots) {
  subject_.call_ns = {{"a", 1e6}, {"b", 1e6}, {"c", 1e6}};
  options_.budget_s = 40;
  stop_at_ = 8;  // two gates, two pilots, four launches
  EXPECT_TRUE(Run().interrupted);
  stop_at_.reset();
  options_.resume = true;
  phases_.clear();
  Run();
  EXPECT_THAT(phases_, testing::ElementsAre("launches"));
  EXPECT_THAT(Saved().launches, SizeIs(18));
  for (const LaunchRecord& r : Saved().launches) EXPECT_EQ(r.blocks, 2);
}

TEST_F(SessionTest, APilotThatFailsLeavesTheCaseToItsLaunches) {
  options_.budget_s = 1000;
  runner_.events[2] = [](const ChildPlan&, ChildOutcome& outcome) { FakeRunner::Crash(outcome); };
  EXPECT_EQ(Run().launches.ran, 24);
}

TEST_F(SessionTest, TooFewLaunchesAreSaid) {
  options_.launches = 3;
  const SessionResult result = Run();
  EXPECT_EQ(result.manifest.launches, 3);
  EXPECT_THAT(notes_, testing::ElementsAre(fmt::format(
                          "--launches 3 can't decide anything: to answer 4 questions it takes at least {}",
                          LeastLaunches(0.05 / 4))));
  fs::remove_all(options_.directory);
  suite_.cases.resize(1);
  suite_.variants = {"a", "b"};
  Run();
  EXPECT_THAT(notes_.back(), HasSubstr("to answer 1 question it takes at least 6"));
}

TEST_F(SessionTest, OfOneVariantThereIsNothingToDecideByMoreLaunches) {
  options_.launches = 3;
  suite_.variants = {"a"};
  Run();
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(SessionTest, ResumeRefusesAnotherProblemUnderTheSameName) {
  Run();
  options_.resume = true;
  suite_.cases[1].softcap = 30;
  EXPECT_THAT(Refusal(), HasSubstr(suite_.cases[1].name + ": softcap was 0, now 30"));
  suite_.cases[1].softcap = 0;
  suite_.epoch_ms = 7;
  EXPECT_THAT(Refusal(), HasSubstr("epoch_ms was 2, now 7"));
  suite_.epoch_ms = 0;
  suite_.warmups = 16;
  suite_.samples = 51;
  EXPECT_THAT(Refusal(),
              testing::AllOf(HasSubstr("warmups was 0, now 16"), HasSubstr("samples was 0, now 51")));
}

TEST_F(SessionTest, ARunWhoseLaunchesABudgetCutGoesOnByTheSameCommand) {
  options_.launches = 40;
  options_.budget_s = 10;
  Run();
  ASSERT_LT(SavedManifest().launches, 40);
  options_.resume = true;
  EXPECT_EQ(Refusal(), "accepted");
}

}  // namespace
}  // namespace pagoda::judge

#include "judge/bench/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "judge/bench/fakes.h"
#include "judge/record/jsonl.h"

namespace pagoda::judge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_fakes::FakeRunner;
using testing_fakes::FakeSubject;
using testing_fakes::SmallCase;

class Executor : public testing::Test {
 protected:
  Executor() {
    run_.run_id = "r";
    for (const int64_t context : {64, 128, 256}) {
      run_.cases.push_back({SmallCase(context), {{"a", 0}, {"b", 0}, {"a", 1}}, 0});
    }
    run_.launches = 4;
    run_.seed = 2026;
    run_.rerun_share = 1;
    // One call per epoch and one block keep the fake launches short.
    run_.protocol.epoch_ns = 1;
    run_.protocol.blocks = run_.protocol.least_blocks = 2;
  }

  ExecutionSummary Run(std::vector<LaunchRecord> earlier = {}) {
    return RunLaunches(run_, earlier,
                       {.runner = runner_,
                        .append = [this](const LaunchRecord& r) { records_.push_back(r); },
                        .stop = [this] { return stop_after_ && runner_.plans.size() >= *stop_after_; },
                        .before_rerun = [this] { ++waits_; },
                        .progress = [this](const ExecutionProgress& p) { progress_.push_back(p); }});
  }
  std::string Name(size_t c) const { return run_.cases[c].spec.name; }
  std::vector<LaunchRecord> Of(const std::string& name) const {
    std::vector<LaunchRecord> found;
    std::copy_if(records_.begin(), records_.end(), std::back_inserter(found),
                 [&](const LaunchRecord& r) { return r.case_name == name; });
    return found;
  }
  // Sets what happens to every child of one case.
  void ForCase(size_t c, std::function<void(const LaunchPlan&, ChildOutcome&)> event) {
    runner_.every_child = [this, c, event](const ChildPlan& plan, ChildOutcome& outcome) {
      const auto& launch = std::get<LaunchPlan>(plan);
      if (launch.spec.name == Name(c)) event(launch, outcome);
    };
  }

  FakeSubject subject_;
  FakeRunner runner_{subject_};
  ExecutionPlan run_;
  std::vector<LaunchRecord> records_;
  std::vector<ExecutionProgress> progress_;
  std::optional<size_t> stop_after_;
  int waits_ = 0;
};

TEST_F(Executor, RunsEveryCaseOnceInEveryLaunchInAnOrderThatChanges) {
  const ExecutionSummary summary = Run();
  EXPECT_EQ(summary.ran, 12);
  EXPECT_FALSE(summary.interrupted);
  std::set<std::vector<std::string>> orders;
  for (int launch = 0; launch < 4; ++launch) {
    std::vector<std::string> order;
    for (size_t i = 0; i < 3; ++i) {
      const LaunchRecord& r = records_[launch * 3 + i];
      EXPECT_EQ(r.launch, launch);
      EXPECT_EQ(r.status, LaunchStatus::kOk) << r.reason;
      order.push_back(r.case_name);
    }
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_THAT(order, testing::UnorderedElementsAre(Name(0), Name(1), Name(2)));
  }
  EXPECT_GT(orders.size(), 1U);
}

TEST_F(Executor, TheSameSeedGivesTheSameRunAndEveryLaunchHasItsOwnSeeds) {
  Run();
  const std::vector<LaunchRecord> first = std::move(records_);
  records_.clear();
  Run();
  ASSERT_EQ(records_.size(), first.size());
  std::set<uint64_t> seeds;
  std::set<std::vector<int>> slots;
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(records_[i].case_name, first[i].case_name);
    EXPECT_EQ(records_[i].seed, first[i].seed);
    EXPECT_EQ(records_[i].slot_order, first[i].slot_order);
    seeds.insert(first[i].seed);
    slots.insert(first[i].slot_order);
  }
  EXPECT_THAT(seeds, SizeIs(12));
  EXPECT_GT(slots.size(), 2U);
  EXPECT_NE(MakeLaunchPlan(run_, run_.cases[0], 0, 1).seed, MakeLaunchPlan(run_, run_.cases[0], 0, 0).seed);
}

// The order of the shapes is shuffled, by the seed and for each launch anew.
TEST(CaseOrder, IsAPermutationThatSeedAndLaunchDecide) {
  constexpr size_t kShapes = 18;
  std::set<std::vector<size_t>> orders;
  std::set<size_t> first;
  for (int launch = 0; launch < 12; ++launch) {
    std::vector<size_t> order = CaseOrder(kShapes, 2026, launch);
    EXPECT_EQ(order, CaseOrder(kShapes, 2026, launch));
    EXPECT_NE(order, CaseOrder(kShapes, 2029, launch));
    orders.insert(order);
    first.insert(order.front());
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < kShapes; ++i) EXPECT_EQ(order[i], i);
  }
  EXPECT_THAT(orders, SizeIs(12));
  EXPECT_GT(first.size(), 4U);
}

TEST_F(Executor, ACaseKeepsItsSeedsWhenOthersLeave) {
  const uint64_t seed = MakeLaunchPlan(run_, run_.cases[2], 1, 0).seed;
  run_.cases.erase(run_.cases.begin());
  EXPECT_EQ(MakeLaunchPlan(run_, run_.cases[1], 1, 0).seed, seed);
}

TEST_F(Executor, AVariantThatHangsIsRecordedAndItsLaunchRunAgainWithoutIt) {
  for (CaseArms& c : run_.cases) c.arms = {{"a", 0}, {"b", 0}, {"c", 0}, {"a", 1}};
  ForCase(1, [](const LaunchPlan& plan, ChildOutcome& outcome) {
    const bool timed = std::find(plan.arms.begin(), plan.arms.end(), ArmId{"b", 0}) != plan.arms.end();
    if (plan.launch < 1 || !timed) return;
    FakeRunner::Hang(outcome);
    outcome.mark = "b";
    outcome.elapsed_s = 60;
  });
  const ExecutionSummary summary = Run();
  const auto records = Of(Name(1));
  ASSERT_THAT(records, SizeIs(5));
  EXPECT_EQ(records[0].status, LaunchStatus::kOk);
  EXPECT_THAT(records[0].arms, SizeIs(4));
  EXPECT_EQ(records[1].status, LaunchStatus::kHung);
  EXPECT_EQ(records[1].culprit, "b");
  EXPECT_EQ(records[1].launch, 1);
  EXPECT_THAT(records[1].reason, HasSubstr("watchdog after 60 s"));
  EXPECT_THAT(records[1].arms, IsEmpty());
  EXPECT_EQ(records[2].launch, 1);
  EXPECT_EQ(records[2].attempt, 1);
  for (size_t i = 2; i < 5; ++i) {
    EXPECT_EQ(records[i].status, LaunchStatus::kOk) << records[i].reason;
    EXPECT_THAT(records[i].arms, SizeIs(3));
  }
  EXPECT_THAT(Of(Name(0)), SizeIs(4));
  EXPECT_EQ(summary.failed, 1);
}

TEST_F(Executor, ACrashIsRecordedWithItsSignalAndEndsACaseWithNothingLeftToCompare) {
  ForCase(0, [](const LaunchPlan&, ChildOutcome& outcome) {
    FakeRunner::Crash(outcome);
    outcome.mark = "b";
    outcome.err = "x\nmalloc(): corrupted top size\n";
  });
  Run();
  const auto crashed = Of(Name(0));
  ASSERT_THAT(crashed, SizeIs(1));
  EXPECT_EQ(crashed[0].status, LaunchStatus::kCrashed);
  EXPECT_EQ(crashed[0].culprit, "b");
  EXPECT_THAT(crashed[0].reason, AllOf(HasSubstr("signal 11"), HasSubstr("malloc(): corrupted top size")));
  EXPECT_THAT(records_, SizeIs(9));
}

TEST_F(Executor, ACrashOfTheBaselineOrOfNobodyKnowsWhomEndsTheCase) {
  for (const char* culprit : {"a", "", "stranger"}) {
    records_.clear();
    for (CaseArms& c : run_.cases) c.arms = {{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}, {"a", 1}};
    ForCase(0, [=](const LaunchPlan&, ChildOutcome& outcome) {
      FakeRunner::Crash(outcome);
      outcome.mark = culprit;
    });
    Run();
    EXPECT_THAT(Of(Name(0)), SizeIs(1)) << culprit;
  }
}

TEST_F(Executor, RecordsOfChildrenThatDiedCanBeWrittenAndReadBack) {
  ForCase(0, [](const LaunchPlan&, ChildOutcome& outcome) { FakeRunner::Crash(outcome); });
  Run();
  for (const LaunchRecord& r : records_)
    EXPECT_THAT(ParseRecords(ToJsonLine(r) + "\n", "x").launches, SizeIs(1));
}

TEST_F(Executor, AChildThatEndsBeforeItsRecordIsNamedForThat) {
  for (const auto& [words, said] : std::map<std::string, std::string>{
           {"", ""},
           {"done\n", "; its last words: done"},
           {std::string(100000, '!'), "; its last words: " + std::string(500, '!') + "..."}}) {
    records_.clear();
    ForCase(2, [&](const LaunchPlan&, ChildOutcome& outcome) {
      outcome.out.clear();
      outcome.err = words;
    });
    Run();
    EXPECT_EQ(Of(Name(2))[0].status, LaunchStatus::kCrashed);
    EXPECT_EQ(Of(Name(2))[0].reason, "ended with exit code 0 and without a result" + said);
  }
}

TEST_F(Executor, AChildThatBreaksTheProtocolCountsAsCrashed) {
  const std::vector<std::function<void(ChildOutcome&)>> faults = {
      [](ChildOutcome& o) { o.out = "hello\n"; },
      [](ChildOutcome& o) { o.out += o.out; },
      [](ChildOutcome& o) { o.out.resize(o.out.size() / 2); },
      [](ChildOutcome& o) { o.code = 6; },
      [](ChildOutcome& o) { o.out.replace(o.out.find("\"r\""), 3, "\"s\""); },
  };
  for (size_t i = 0; i < faults.size(); ++i) {
    records_.clear();
    ForCase(2, [&](const LaunchPlan&, ChildOutcome& outcome) {
      faults[i](outcome);
      outcome.mark.clear();
    });
    Run();
    ASSERT_THAT(Of(Name(2)), SizeIs(1)) << i;
    EXPECT_EQ(Of(Name(2))[0].status, LaunchStatus::kCrashed) << i;
    EXPECT_THAT(Of(Name(2))[0].reason, testing::AnyOf(HasSubstr("protocol"), HasSubstr("exit code 6"))) << i;
  }
}

TEST_F(Executor, AVariantWithAWrongTimedOutputIsNotTimedAgain) {
  for (CaseArms& c : run_.cases) c.arms = {{"a", 0}, {"b", 0}, {"c", 0}, {"a", 1}};
  subject_.wrong_after_timing["b"] = "stale";
  const ExecutionSummary summary = Run();
  ASSERT_THAT(records_, SizeIs(12));
  for (const LaunchRecord& r : records_) {
    EXPECT_EQ(r.status, r.launch == 0 ? LaunchStatus::kGateFailed : LaunchStatus::kOk);
    EXPECT_THAT(r.arms, SizeIs(r.launch == 0 ? 4 : 3));
  }
  EXPECT_EQ(summary.failed, 3);
}

TEST_F(Executor, AContaminatedLaunchIsRunAgainAsAWhole) {
  // The first child only.
  runner_.after.steal = 0.5;
  runner_.events[0] = [this](const ChildPlan&, ChildOutcome&) { runner_.after.steal = 0; };
  const ExecutionSummary summary = Run();
  ASSERT_THAT(records_, SizeIs(13));
  EXPECT_EQ(records_[0].status, LaunchStatus::kContaminated);
  EXPECT_THAT(records_[0].reason, HasSubstr("hypervisor took 50.0%"));
  EXPECT_EQ(records_[1].status, LaunchStatus::kOk);
  EXPECT_EQ(records_[1].case_name, records_[0].case_name);
  EXPECT_EQ(records_[1].launch, records_[0].launch);
  EXPECT_EQ(records_[0].attempt, 0);
  EXPECT_EQ(records_[1].attempt, 1);
  EXPECT_NE(records_[1].seed, records_[0].seed);
  EXPECT_EQ(summary.rerun, 1);
  EXPECT_EQ(summary.left_out, 0);
}

TEST_F(Executor, ALaunchThatStaysContaminatedIsLeftOutAndCounted) {
  runner_.after.other_busy = 0.6;
  run_.launches = 1;
  run_.rerun_share = 10;
  const ExecutionSummary summary = Run();
  EXPECT_THAT(records_, SizeIs(9));  // three attempts of three cases
  EXPECT_EQ(summary.rerun, 6);
  EXPECT_EQ(summary.left_out, 3);
  EXPECT_EQ(waits_, 6);
  for (const LaunchRecord& r : records_) EXPECT_EQ(r.status, LaunchStatus::kContaminated);
}

TEST_F(Executor, OnABusyMachineTheShareOfRerunsIsBounded) {
  runner_.after.other_busy = 0.6;
  run_.rerun_share = 0.25;
  const ExecutionSummary summary = Run();
  EXPECT_EQ(summary.rerun, 3);
  EXPECT_EQ(summary.left_out, 12);
  EXPECT_EQ(summary.ran, 15);
}

TEST_F(Executor, StopsBetweenLaunchesWhenAsked) {
  stop_after_ = 5;
  const ExecutionSummary summary = Run();
  EXPECT_TRUE(summary.interrupted);
  EXPECT_THAT(records_, SizeIs(5));
}

TEST_F(Executor, ALaunchThatWasStoppedLeavesNoRecord) {
  runner_.events[2] = [](const ChildPlan&, ChildOutcome& outcome) { outcome.end = ChildEnd::kStopped; };
  const ExecutionSummary summary = Run();
  EXPECT_TRUE(summary.interrupted);
  EXPECT_THAT(records_, SizeIs(2));
}

TEST_F(Executor, AResumedRunDoesOnlyWhatIsMissing) {
  Run();
  const std::vector<LaunchRecord> whole = std::move(records_);
  records_.clear();
  const std::vector<LaunchRecord> earlier(whole.begin(), whole.begin() + 5);
  const ExecutionSummary summary = Run(earlier);
  EXPECT_EQ(summary.skipped, 5);
  ASSERT_THAT(records_, SizeIs(7));
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(records_[i].case_name, whole[5 + i].case_name);
    EXPECT_EQ(records_[i].launch, whole[5 + i].launch);
    EXPECT_EQ(records_[i].seed, whole[5 + i].seed);
  }
}

TEST_F(Executor, ResumeGoesOnAfterARecordThatWasCutShort) {
  const std::string path = testing::TempDir() + "executor_test.jsonl";
  std::filesystem::remove(path);
  Run();
  {
    RecordWriter writer(path);
    for (size_t i = 0; i < 6; ++i) writer.Append(records_[i]);
  }
  const std::vector<LaunchRecord> whole = std::move(records_);
  records_.clear();
  // A kill in the middle of the sixth record.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 100);
  const Records earlier = ReadRecords(path);
  EXPECT_EQ(earlier.torn_lines, 1);
  ASSERT_THAT(earlier.launches, SizeIs(5));
  EXPECT_EQ(Run(earlier.launches).skipped, 5);
  RecordWriter writer(path);
  for (const LaunchRecord& r : records_) writer.Append(r);
  const Records all = ReadRecords(path);
  EXPECT_EQ(all.torn_lines, 0);
  ASSERT_THAT(all.launches, SizeIs(12));
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(all.launches[i].seed, whole[i].seed);
  std::filesystem::remove(path);
}

TEST_F(Executor, AResumedRunGoesOnWithTheNextAttemptAndLeavesFailedCasesAlone) {
  runner_.after.steal = 0.5;
  stop_after_ = 1;
  Run();
  ASSERT_THAT(records_, SizeIs(1));
  std::vector<LaunchRecord> earlier = std::move(records_);
  records_.clear();
  LaunchRecord hung = earlier[0];
  hung.case_name = earlier[0].case_name == Name(0) ? Name(1) : Name(0);
  hung.status = LaunchStatus::kHung;  // without a culprit
  earlier.push_back(hung);
  runner_.after.steal = 0;
  stop_after_.reset();
  Run(earlier);
  EXPECT_EQ(records_[0].case_name, earlier[0].case_name);
  EXPECT_EQ(records_[0].attempt, 1);
  EXPECT_THAT(Of(hung.case_name), IsEmpty());
  EXPECT_THAT(records_, SizeIs(8));
}

TEST_F(Executor, ProgressCountsFinishedLaunchesEarlierOnesToo) {
  run_.launches = 2;
  Run();
  ASSERT_THAT(progress_, SizeIs(6));
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(progress_[i].done, i);
    EXPECT_EQ(progress_[i].total, 6);
    EXPECT_EQ(progress_[i].case_name, records_[i].case_name);
  }
  const std::vector<LaunchRecord> earlier(records_.begin(), records_.begin() + 4);
  progress_.clear();
  Run(earlier);
  EXPECT_EQ(progress_.front().done, 4);
}

TEST_F(Executor, TheWatchdogIsGenerous) {
  EXPECT_EQ(LaunchTimeout(0), 600);
  EXPECT_EQ(LaunchTimeout(1), 60);
  EXPECT_EQ(LaunchTimeout(100), 1000);
  run_.launches = 2;
  run_.cases.resize(1);
  Run();
  // The second launch knows that the first took 2 s.
  EXPECT_THAT(runner_.timeouts, ElementsAre(600, 60));
}

}  // namespace
}  // namespace pagoda::judge

#include "judge/bench/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "judge/bench/fakes.h"

namespace pagoda::judge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_fakes::FakeRunner;
using testing_fakes::FakeSubject;
using testing_fakes::SmallCase;

class Gate : public testing::Test {
 protected:
  GateSummary Run(const std::vector<GateRecord>& earlier = {}) {
    return RunGate("r", cases_, 1, earlier,
                   {.runner = runner_,
                    .append = [this](const GateRecord& r) { records_.push_back(r); },
                    .stop = [this] { return stop_; },
                    .progress = {}});
  }
  static std::string Shown(const GateRecord& r) { return fmt::format("{} {}", r.variant, r.seed); }

  FakeSubject subject_;
  FakeRunner runner_{subject_};
  std::vector<GateCase> cases_ = {{SmallCase(64), {"a", "b"}, 70}, {SmallCase(128), {"b"}, 80}};
  std::vector<GateRecord> records_;
  bool stop_ = false;
};

TEST_F(Gate, RunsEveryVariantThatSupportsTheCaseWithEverySeed) {
  const GateSummary summary = Run();
  EXPECT_EQ(summary.total, 9);
  EXPECT_EQ(summary.passed, 9);
  EXPECT_THAT(summary.failures, IsEmpty());
  std::vector<std::string> got;
  for (const GateRecord& r : records_) got.push_back(Shown(r));
  EXPECT_THAT(got, ElementsAre("a 2026", "b 2026", "a 2029", "b 2029", "a 2039", "b 2039", "b 2026", "b 2029",
                               "b 2039"));
  EXPECT_THAT(runner_.plans, SizeIs(2));  // a process per case
}

TEST_F(Gate, AFaultIsKeptAndTheRestGoesOn) {
  subject_.gate_faults[{"b", 2029}] = "window off by one";
  const GateSummary summary = Run();
  EXPECT_EQ(summary.passed, 7);
  ASSERT_THAT(summary.failures, SizeIs(2));
  EXPECT_EQ(summary.failures[0].fault, "window off by one");
  EXPECT_THAT(records_, SizeIs(9));
}

TEST_F(Gate, ARunThatCrashesFailsAndTheRestGoesOnInAFreshProcess) {
  runner_.events[0] = [](const ChildPlan&, ChildOutcome& outcome) {
    // Two records came out, then the third run crashed.
    size_t end = 0;
    for (int i = 0; i < 2; ++i) end = outcome.out.find('\n', end) + 1;
    const std::string out = outcome.out.substr(0, end);
    FakeRunner::Crash(outcome);
    outcome.out = out + "{\"half";
  };
  const GateSummary summary = Run();
  EXPECT_EQ(summary.passed, 8);
  ASSERT_THAT(summary.failures, SizeIs(1));
  EXPECT_EQ(Shown(summary.failures[0]), "a 2029");
  EXPECT_THAT(summary.failures[0].fault, HasSubstr("signal 11"));
  EXPECT_TRUE(std::isinf(summary.failures[0].max_abs_error)) << "no output, so no largest error of 0";
  ASSERT_THAT(runner_.plans, SizeIs(3));
  EXPECT_EQ(std::get<GatePlan>(runner_.plans[1]).runs.front(), (GateRun{"b", 2029}));
  EXPECT_THAT(records_, SizeIs(9));
}

TEST_F(Gate, EveryRunThatHangsIsAFailureAndItEnds) {
  runner_.every_child = [](const ChildPlan&, ChildOutcome& outcome) { FakeRunner::Hang(outcome); };
  const GateSummary summary = Run();
  EXPECT_EQ(summary.passed, 0);
  EXPECT_THAT(summary.failures, SizeIs(9));
  EXPECT_THAT(summary.failures[0].fault, HasSubstr("hung: killed by the watchdog"));
  EXPECT_THAT(runner_.timeouts, ElementsAre(70, 70)) << "once for each variant";
}

TEST_F(Gate, AVariantThatHungIsNotRunAgainAndTheOthersAre) {
  runner_.events[0] = [](const ChildPlan&, ChildOutcome& outcome) {
    const std::string out = outcome.out.substr(0, outcome.out.find('\n') + 1);  // a 2026 came, b 2026 hung
    FakeRunner::Hang(outcome);
    outcome.out = out;
  };
  const GateSummary summary = Run();
  EXPECT_EQ(summary.passed, 3);
  EXPECT_THAT(summary.failures, SizeIs(6));
  for (const GateRecord& r : summary.failures) EXPECT_EQ(r.variant, "b");
  EXPECT_THAT(summary.failures[1].fault,
              HasSubstr("not run: it hung on " + SmallCase(64).name + " with seed 2026"));
  EXPECT_THAT(records_, SizeIs(9)) << "every run has a record, so that none counts as missing";
  EXPECT_THAT(runner_.plans, SizeIs(2));
}

TEST_F(Gate, ARecordOfAnotherRunIsNotBelieved) {
  runner_.events[0] = [](const ChildPlan&, ChildOutcome& outcome) {
    outcome.out.replace(outcome.out.find("2026"), 4, "2027");
  };
  const GateSummary summary = Run();
  EXPECT_THAT(summary.failures, SizeIs(1));
  EXPECT_THAT(summary.failures[0].fault, HasSubstr("another gate run"));
  EXPECT_EQ(summary.passed, 8);
}

TEST_F(Gate, AResumedRunGoesOnBehindItsRecords) {
  Run();
  const std::vector<GateRecord> earlier(records_.begin(), records_.begin() + 4);
  records_.clear();
  runner_.plans.clear();
  const GateSummary summary = Run(earlier);
  EXPECT_EQ(summary.passed, 9);
  EXPECT_THAT(records_, SizeIs(5));
  EXPECT_EQ(std::get<GatePlan>(runner_.plans[0]).runs, (std::vector<GateRun>{{"a", 2039}, {"b", 2039}}));
}

TEST_F(Gate, StopsWhenAsked) {
  stop_ = true;
  EXPECT_TRUE(Run().interrupted);
  EXPECT_THAT(records_, IsEmpty());
  stop_ = false;
  runner_.events[0] = [](const ChildPlan&, ChildOutcome& outcome) {
    outcome.end = ChildEnd::kStopped;
    outcome.out.resize(outcome.out.find('\n') + 1);
  };
  EXPECT_TRUE(Run().interrupted);
  EXPECT_THAT(records_, SizeIs(1));  // what came out before is kept
}

}  // namespace
}  // namespace pagoda::judge

#include "judge/bench/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace pagoda::judge {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::SizeIs;

struct Recorder {
  int64_t now_ns = 1000;
  std::vector<std::pair<size_t, int64_t>> runs;  // arm, calls
  std::vector<size_t> checked;
};

// Takes call_ns(n) for its n-th call and moves the fake clock on.
class FakeArm : public Arm {
 public:
  FakeArm(size_t index, Recorder& recorder, std::function<double(int64_t)> call_ns, double device_share = 0.5)
      : index_(index), recorder_(recorder), call_ns_(std::move(call_ns)), device_share_(device_share) {}
  EpochTime Run(int64_t calls) override {
    recorder_.runs.emplace_back(index_, calls);
    double ns = 0;
    for (int64_t i = 0; i < calls; ++i) ns += call_ns_(done_++);
    recorder_.now_ns += static_cast<int64_t>(ns);
    return {ns, ns * device_share_};
  }
  CheckResult CheckTimedOutput() override {
    recorder_.checked.push_back(index_);
    return {.passed = index_ != 1, .max_abs_error = 0.5, .fault = index_ == 1 ? "stale" : ""};
  }

 private:
  size_t index_;
  Recorder& recorder_;
  std::function<double(int64_t)> call_ns_;
  double device_share_;
  int64_t done_ = 0;
};

class Protocol : public testing::Test {
 protected:
  void Add(std::function<double(int64_t)> call_ns, double device_share = 0.5) {
    arms_.push_back(std::make_unique<FakeArm>(arms_.size(), recorder_, std::move(call_ns), device_share));
  }
  void AddSteady(double call_ns) {
    Add([=](int64_t) { return call_ns; });
  }
  LaunchMeasurement Run() {
    return RunProtocol(arms_, options_,
                       {.now_ns = [this] { return recorder_.now_ns; }, .about_to_run = about_to_run_});
  }
  // What ran in the blocks: the last 2 * arms * blocks epochs.
  std::vector<size_t> BlockRuns(const LaunchMeasurement& m) const {
    std::vector<size_t> order;
    for (auto run = recorder_.runs.end() - static_cast<std::ptrdiff_t>(2 * arms_.size() * m.blocks);
         run != recorder_.runs.end(); ++run) {
      order.push_back(run->first);
    }
    return order;
  }

  Recorder recorder_;
  ProtocolOptions options_{.seed = 2026};
  std::function<void(size_t)> about_to_run_;
  std::vector<std::unique_ptr<Arm>> arms_;
};

TEST_F(Protocol, OneSharedNumberOfCallsMakesTheFastestEpochLongEnoughOnBothClocks) {
  AddSteady(10e3);
  AddSteady(250e3);
  const LaunchMeasurement m = Run();
  // The device part of a call of arm 0 takes 5 us, so 2 ms are at least 400 calls.
  EXPECT_GE(m.calls, 400);
  EXPECT_LE(m.calls, 500);
  for (auto run = recorder_.runs.end() - 2 * 2 * m.blocks; run != recorder_.runs.end(); ++run) {
    EXPECT_EQ(run->second, m.calls);
  }
}

TEST_F(Protocol, AnArmThatGetsFasterDuringWarmUpIsCalibratedAgain) {
  Add([](int64_t call) { return call < 20 ? 400e3 : 40e3; }, 1.0);
  const LaunchMeasurement m = Run();
  for (const EpochTime& t : m.arms[0].passes) EXPECT_GE(t.host_ns * static_cast<double>(m.calls), 2e6);
}

TEST_F(Protocol, ASlowCallIsAnEpochOfItsOwn) {
  AddSteady(3e6);
  AddSteady(9e6);
  arms_.erase(arms_.begin());
  const LaunchMeasurement m = Run();
  EXPECT_EQ(m.calls, 1);
}

TEST_F(Protocol, EveryBlockRunsAnOrderAndThenItsReverse) {
  for (double ns : {2e6, 3e6, 4e6, 5e6, 6e6}) AddSteady(ns);
  const LaunchMeasurement m = Run();
  const std::vector<size_t> order = BlockRuns(m);
  const size_t k = arms_.size();
  std::map<size_t, int> first;
  for (int b = 0; b < m.blocks; ++b) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(2 * k * b);
    const std::vector<size_t> forward(begin, begin + static_cast<std::ptrdiff_t>(k));
    const std::vector<size_t> backward(begin + static_cast<std::ptrdiff_t>(k),
                                       begin + static_cast<std::ptrdiff_t>(2 * k));
    EXPECT_TRUE(std::equal(forward.begin(), forward.end(), backward.rbegin())) << "block " << b;
    std::vector<size_t> sorted = forward;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_THAT(sorted, testing::ElementsAre(0, 1, 2, 3, 4));
    ++first[forward.front()];
  }
  // No arm always goes first, and none never does.
  EXPECT_THAT(first, SizeIs(k));
}

TEST_F(Protocol, TheSameSeedGivesTheSameOrderAndAnotherSeedAnother) {
  for (double ns : {2e6, 3e6, 4e6, 5e6}) AddSteady(ns);
  const std::vector<size_t> first = BlockRuns(Run());
  EXPECT_EQ(BlockRuns(Run()), first);
  options_.seed = 2029;
  EXPECT_NE(BlockRuns(Run()), first);
}

TEST_F(Protocol, PassesHoldTimesPerCallOfBothClocks) {
  Add([](int64_t) { return 50e3; }, 0.25);
  const LaunchMeasurement m = Run();
  EXPECT_THAT(m.arms[0].passes, SizeIs(2 * m.blocks));
  for (const EpochTime& t : m.arms[0].passes) {
    EXPECT_DOUBLE_EQ(t.host_ns, 50e3);
    EXPECT_DOUBLE_EQ(t.device_ns, 12.5e3);
  }
  EXPECT_DOUBLE_EQ(m.arms[0].warm.host_ns, 50e3);
}

TEST_F(Protocol, PassNumbersFollowTheTimeOrder) {
  // Drift: every call takes longer than the one before, so passes must come out increasing.
  Add([](int64_t call) { return 3e6 + 1e4 * static_cast<double>(call); });
  Add([](int64_t call) { return 3e6 + 1e4 * static_cast<double>(call); });
  for (const ArmMeasurement& arm : Run().arms) {
    EXPECT_TRUE(std::is_sorted(arm.passes.begin(), arm.passes.end(),
                               [](const EpochTime& a, const EpochTime& b) { return a.host_ns < b.host_ns; }));
  }
}

TEST_F(Protocol, WarmUpGoesOnUntilTheMediansSettle) {
  // Call 0 calibrates, so round n is call n; from call 6 on it is steady. The first two windows whose medians
  // agree are calls 5 to 7 and 8 to 10.
  Add([](int64_t call) { return call < 6 ? 9e6 - 6e5 * static_cast<double>(call) : 5e6; });
  const LaunchMeasurement settling = Run();
  EXPECT_TRUE(settling.settled);
  EXPECT_EQ(settling.warmup_rounds, 10);
  arms_.clear();
  AddSteady(5e6);
  EXPECT_EQ(Run().warmup_rounds, 6);
}

TEST_F(Protocol, WarmUpIsBoundedInRoundsAndInTime) {
  const auto restless = [](int64_t call) { return 4e6 * (1 + static_cast<double>(call % 5)); };
  Add([=](int64_t call) { return restless(call * call); });
  options_.settled_change = 0;
  Add([n = 0.0](int64_t) mutable { return 3e6 + 1e5 * ++n; });
  LaunchMeasurement m = Run();
  EXPECT_FALSE(m.settled);
  EXPECT_EQ(m.warmup_rounds, options_.warmup_rounds);
  arms_.clear();
  AddSteady(900e6);
  m = Run();
  EXPECT_FALSE(m.settled);
  // Calibration takes 0.9 s, so the second round ends beyond 2 s.
  EXPECT_EQ(m.warmup_rounds, 2);
}

TEST_F(Protocol, WarmUpGivesEachArmItsLeastCallsWhateverBoundsIt) {
  AddSteady(5e6);  // an epoch of one call, settled after six
  options_.least_warmups = 16;
  EXPECT_EQ(Run().warmup_rounds, 16);
  options_.warmup_rounds = 3;
  options_.warmup_ns = 1;
  EXPECT_EQ(Run().warmup_rounds, 16);
  options_ = {.seed = 2026, .least_warmups = 16};
  arms_.clear();
  AddSteady(0.5e6);  // several calls an epoch
  const LaunchMeasurement m = Run();
  EXPECT_EQ(m.warmup_rounds, 6);
  EXPECT_GE(m.warmup_rounds * m.calls, 16);
}

TEST_F(Protocol, ChecksEveryArmAfterTheLastTimedCall) {
  AddSteady(3e6);
  AddSteady(3e6);
  const LaunchMeasurement m = Run();
  EXPECT_THAT(recorder_.checked, testing::ElementsAre(0, 1));
  EXPECT_TRUE(m.arms[0].check.passed);
  EXPECT_FALSE(m.arms[1].check.passed);
  EXPECT_EQ(m.arms[1].check.fault, "stale");
}

TEST_F(Protocol, AnnouncesAnArmBeforeItRunsAndBeforeItsCheck) {
  AddSteady(3e6);
  AddSteady(3e6);
  std::vector<size_t> announced;
  about_to_run_ = [&](size_t arm) {
    EXPECT_EQ(announced.size(), recorder_.runs.size() + recorder_.checked.size());
    announced.push_back(arm);
  };
  Run();
  std::vector<size_t> ran;
  for (const auto& run : recorder_.runs) ran.push_back(run.first);
  ran.insert(ran.end(), recorder_.checked.begin(), recorder_.checked.end());
  EXPECT_EQ(announced, ran);
}

TEST_F(Protocol, APilotRunsNoBlocks) {
  AddSteady(3e6);
  options_.pilot = true;
  const LaunchMeasurement m = Run();
  EXPECT_EQ(m.blocks, 0);
  EXPECT_TRUE(m.arms[0].passes.empty());
  EXPECT_THAT(recorder_.checked, SizeIs(1));
  EXPECT_DOUBLE_EQ(m.arms[0].warm.host_ns, 3e6);
}

TEST_F(Protocol, AnArmThatReportsNoTimeDoesNotHang) {
  struct Timeless : Arm {
    EpochTime Run(int64_t) override { return {}; }
    CheckResult CheckTimedOutput() override { return {true, 0, ""}; }
  };
  arms_.push_back(std::make_unique<Timeless>());
  EXPECT_EQ(Run().blocks, options_.blocks);
}

TEST(ChooseBlocks, FollowsTheRuleForFastAndSlowCases) {
  const ProtocolOptions o;
  EXPECT_EQ(ChooseBlocks(std::vector{2e6, 3e6}, 100, o), o.blocks);
  // 19 ms a call is fast, 21 ms is slow, even if only one arm is.
  EXPECT_EQ(ChooseBlocks(std::vector{19e6}, 1, o), o.blocks);
  EXPECT_EQ(ChooseBlocks(std::vector{2e6, 21e6}, 1, o), o.slow_blocks);
  EXPECT_EQ(ChooseBlocks(std::vector{21e6}, 2, o), o.blocks);
  EXPECT_EQ(ChooseBlocks({}, 1, o), 0);
}

TEST(ChooseBlocks, ACapCutsBlocksButNeverBelowTheMinimum) {
  ProtocolOptions o;
  o.cap_ns = 200e6;  // a block takes 10 ms
  EXPECT_EQ(ChooseBlocks(std::vector{2e6, 3e6}, 100, o), 20);
  o.cap_ns = 1e9;
  EXPECT_EQ(ChooseBlocks(std::vector{2e6, 3e6}, 100, o), o.blocks);
  o.cap_ns = 1;
  EXPECT_EQ(ChooseBlocks(std::vector{2e6, 3e6}, 100, o), 16);
  EXPECT_EQ(ChooseBlocks(std::vector{30e6}, 1, o), 3);
}

TEST(WithSamples, RaisesBlocksWhereLaunchesAreTooFew) {
  const ProtocolOptions o;
  // 12 launches of a slow case's 3 blocks at least, twice each, are 72.
  EXPECT_EQ(WithSamples(o, 72, 12).least_slow_blocks, 3);
  EXPECT_EQ(WithSamples(o, 73, 12).least_slow_blocks, 4);
  EXPECT_EQ(WithSamples(o, 73, 12).slow_blocks, o.slow_blocks);
  const ProtocolOptions few = WithSamples(o, 51, 2);
  EXPECT_EQ(few.slow_blocks, 13);
  EXPECT_EQ(few.least_slow_blocks, 13);
  EXPECT_EQ(few.blocks, o.blocks);
  EXPECT_EQ(few.least_blocks, o.least_blocks);
  EXPECT_EQ(WithSamples(o, 51, 1).blocks, 26);
  EXPECT_EQ(WithSamples(o, 0, 12).least_slow_blocks, 3);
}

TEST(BlockOrder, EveryOrderOfThreeArmsComesUp) {
  std::map<std::vector<size_t>, int> seen;
  constexpr int kBlocks = 1200;
  for (int b = 0; b < kBlocks; ++b) {
    std::vector<size_t> order = BlockOrder(3, 7, b);
    order.resize(3);
    ++seen[order];
  }
  ASSERT_THAT(seen, SizeIs(6));
  // Expected 200 of each; the standard deviation is 12.9.
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, kBlocks / 6, 65);
}

}  // namespace
}  // namespace pagoda::judge

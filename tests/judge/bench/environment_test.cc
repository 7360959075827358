#include "judge/bench/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace pagoda::judge {
namespace {

using testing::HasSubstr;

TEST(Contamination, NamesTheBreachedLimitWithItsValue) {
  const EnvironmentLimits limits;
  EnvironmentSample after;
  EXPECT_EQ(Contamination({}, after, 2, 2, 0, limits), std::nullopt);
  after.steal = 0.051;
  EXPECT_THAT(Contamination({}, after, 2, 2, 0, limits).value_or(""),
              HasSubstr("5.1% of the CPU time (limit 5.0%)"));
  after = {};
  after.other_busy = 0.2;
  EXPECT_THAT(Contamination({}, after, 2, 2, 0, limits).value_or(""), HasSubstr("20% of the CPUs busy"));
}

TEST(Contamination, PreemptionsCountPerThreadAndSecond) {
  const EnvironmentLimits limits;
  EnvironmentSample after;
  after.involuntary_switches = 1200;
  EXPECT_EQ(Contamination({}, after, 2, 2, 0, limits), std::nullopt);
  after.involuntary_switches = 1201;
  EXPECT_THAT(Contamination({}, after, 2, 2, 0, limits).value_or(""), HasSubstr("preempted 1201 times"));
  EXPECT_EQ(Contamination({}, after, 2, 4, 0, limits), std::nullopt);
  // A short launch may always have a few.
  after.involuntary_switches = 50;
  EXPECT_EQ(Contamination({}, after, 0.01, 1, 0, limits), std::nullopt);
  // Many short epochs are many hand-overs between the pools of the launch itself.
  after.involuntary_switches = 77;
  EXPECT_NE(Contamination({}, after, 0.107, 2, 0, limits), std::nullopt);
  EXPECT_EQ(Contamination({}, after, 0.107, 2, 96, limits), std::nullopt);
}

TEST(Contamination, ThrottlingCountsOnlyWhereItCanBeRead) {
  EnvironmentSample before, after;
  after.throttle_events = 3;
  EXPECT_EQ(Contamination(before, after, 1, 1, 0, {}), std::nullopt);
  before.throttle_events = 1;
  EXPECT_THAT(Contamination(before, after, 1, 1, 0, {}).value_or(""), HasSubstr("throttled 2 times"));
}

class Fit : public testing::Test {
 protected:
  Fitness Wait(std::deque<double> busy, double wait_s = 60) {
    return WaitUntilFit(
        [busy, this]() mutable {
          ++samples_;
          EnvironmentSample s;
          if (!busy.empty()) {
            s.other_busy = busy.front();
            busy.pop_front();
          }
          return s;
        },
        [this](double seconds) {
          slept_s_ += seconds;
          return slept_s_ < stop_at_s_;
        },
        2, wait_s, {}, [this](const std::string& unfit) { told_.push_back(unfit); });
  }
  std::vector<std::string> told_;
  int samples_ = 0;
  double slept_s_ = 0;
  double stop_at_s_ = 1e9;
};

TEST_F(Fit, AQuietMachineIsFitAtOnceWhateverLiesBefore) {
  const Fitness f = Wait({1.0, 0.01});
  EXPECT_EQ(f.unfit, std::nullopt);
  EXPECT_EQ(f.waited_s, 0);
  EXPECT_EQ(slept_s_, 2);
  EXPECT_EQ(f.sample.other_busy, 0.01);
  EXPECT_THAT(told_, testing::IsEmpty());
}

TEST_F(Fit, ABusyMachineIsWaitedFor) {
  const Fitness f = Wait({0, 0.9, 0.9, 0.9});
  EXPECT_EQ(f.unfit, std::nullopt);
  EXPECT_EQ(f.waited_s, 6);
  EXPECT_THAT(told_, testing::ElementsAre(HasSubstr("90%"))) << "once, and before the wait";
}

TEST_F(Fit, ButNotForEver) {
  const Fitness f = Wait(std::deque<double>(100, 0.9));
  EXPECT_THAT(f.unfit.value_or(""), HasSubstr("90%"));
  EXPECT_EQ(f.waited_s, 60);
  EXPECT_EQ(samples_, 32);
}

TEST_F(Fit, TheUserMayStopIt) {
  stop_at_s_ = 5;
  Wait(std::deque<double>(100, 0.9));
  EXPECT_EQ(slept_s_, 6);
}

TEST(LimitsOn, AFitMachineKeepsThePlainLimits) {
  const EnvironmentLimits limits = LimitsOn({}, {});
  EXPECT_EQ(limits.steal, EnvironmentLimits().steal);
  EXPECT_EQ(limits.switches_per_s, EnvironmentLimits().switches_per_s);
}

TEST(LimitsOn, AnUnfitMachineLeavesLaunchesAtItsLevelAndTakesOutWorseOnes) {
  Fitness fitness;
  fitness.unfit = "busy";
  fitness.sample.other_busy = 0.5;
  const EnvironmentLimits limits = LimitsOn(fitness, {});
  EnvironmentSample after;
  after.other_busy = 0.6;
  after.involuntary_switches = 100000;
  EXPECT_EQ(Contamination({}, after, 1, 1, 0, limits), std::nullopt);
  after.other_busy = 0.7;
  EXPECT_THAT(Contamination({}, after, 1, 1, 0, limits).value_or(""), HasSubstr("limit 65%"));
  after.other_busy = 0;
  after.steal = 0.06;
  EXPECT_THAT(Contamination({}, after, 1, 1, 0, limits).value_or(""), HasSubstr("hypervisor"));
}

}  // namespace
}  // namespace pagoda::judge

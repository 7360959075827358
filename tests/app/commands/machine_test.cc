#include "app/commands/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pagoda::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

MachineState QuietMachine() {
  MachineState state;
  state.machine.huge_pages = "madvise";
  state.machine.governor = "performance";
  state.reading.load = 0.1;
  state.reading.throttle_events = 4;
  state.throttle_events_after = 4;
  state.usable_cpus = 2;
  state.threads = 2;
  return state;
}

MachineCeilings SteadyCeilings() {
  MachineCeilings ceilings;
  ceilings.timer_resolution_ns = 20;
  ceilings.read = {{1, 0, {10, 9.9, 10.1}}, {2, 0, {18, 17, 18.5}}, {2, 256, {6, 3, 9}}};
  return ceilings;
}

TEST(WhyUnfit, AQuietMachineIsFit) { EXPECT_THAT(WhyUnfit(QuietMachine(), SteadyCeilings()), IsEmpty()); }

TEST(WhyUnfit, WhatCannotBeReadIsNoReason) {
  MachineState state = QuietMachine();
  state.machine.governor = "";
  state.machine.huge_pages = "";
  state.reading.throttle_events = -1;
  state.throttle_events_after = -1;
  EXPECT_THAT(WhyUnfit(state, SteadyCeilings()), IsEmpty());
}

// The one reason that `change` brings.
template <typename Change>
Unfitness ReasonOf(Change change) {
  MachineState state = QuietMachine();
  MachineCeilings ceilings = SteadyCeilings();
  change(state, ceilings);
  const std::vector<Unfitness> unfit = WhyUnfit(state, ceilings);
  EXPECT_THAT(unfit, SizeIs(1));
  return unfit.empty() ? Unfitness{} : unfit[0];
}

TEST(WhyUnfit, Steal) {
  const Unfitness u = ReasonOf([](auto& state, auto&) { state.reading.steal = 0.08; });
  EXPECT_THAT(u.reason, AllOf(HasSubstr("hypervisor"), HasSubstr("8.0%"), HasSubstr("limit 5.0%")));
  EXPECT_THAT(u.mend, HasSubstr("CPUs of its own"));
}

TEST(WhyUnfit, OtherProcessesAreNamedTheBusiestThree) {
  const Unfitness u = ReasonOf([](auto& state, auto&) {
    state.reading.other_busy = 0.4;
    state.busy = {{11, "cc1plus", 0.5}, {12, "ld", 0.2}, {13, "make", 0.1}, {14, "fourth", 0.05}};
  });
  EXPECT_THAT(u.reason,
              AllOf(HasSubstr("40.0%"), HasSubstr("cc1plus (pid 11, 0.50 CPUs)"), HasSubstr("make")));
  EXPECT_EQ(u.reason.find("fourth"), std::string::npos);
}

TEST(WhyUnfit, MoreThreadsThanCpus) {
  const Unfitness u = ReasonOf([](auto& state, auto&) { state.threads = 8; });
  EXPECT_THAT(u.reason, HasSubstr("8 threads share 2 CPUs"));
  EXPECT_EQ(u.mend, "--threads 2");
}

TEST(WhyUnfit, Governor) {
  const Unfitness u = ReasonOf([](auto& state, auto&) { state.machine.governor = "powersave"; });
  EXPECT_THAT(u.reason, HasSubstr("\"powersave\""));
  EXPECT_THAT(u.mend, HasSubstr("cpupower"));
}

TEST(WhyUnfit, Throttling) {
  const Unfitness u = ReasonOf([](auto& state, auto&) { state.throttle_events_after = 7; });
  EXPECT_THAT(u.reason, HasSubstr("throttled 3 times"));
}

TEST(WhyUnfit, HugePagesOff) {
  const Unfitness u = ReasonOf([](auto& state, auto&) { state.machine.huge_pages = "never"; });
  EXPECT_THAT(u.mend, HasSubstr("transparent_hugepage"));
}

TEST(WhyUnfit, CoarseClock) {
  const Unfitness u = ReasonOf([](auto&, auto& ceilings) { ceilings.timer_resolution_ns = 4e6; });
  EXPECT_THAT(u.reason, HasSubstr("steps by 4,000,000 ns"));
}

TEST(WhyUnfit, UnsteadyBandwidthOfAStreamButNotOfRuns) {
  const Unfitness u = ReasonOf([](auto&, auto& ceilings) { ceilings.read[1].gb_per_s = {15, 12, 18}; });
  EXPECT_THAT(u.reason, HasSubstr("reading streams on 2 threads gave between 12.0 and 18.0 GB/s"));
}

TEST(WhyUnfit, ReasonsAddUp) {
  MachineState state = QuietMachine();
  state.reading.steal = 0.5;
  state.threads = 3;
  state.machine.governor = "ondemand";
  EXPECT_THAT(WhyUnfit(state, SteadyCeilings()), SizeIs(3));
}

}  // namespace
}  // namespace pagoda::app

#include "base/sys/environment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/sys/machine_fixture.h"

namespace pagoda::sys {
namespace {

using testing::DoubleNear;
using testing::SizeIs;

// Two CPUs that are looked at and one, busy only, that isn't. Fields: user nice system idle iowait irq
// softirq steal guest.
std::string Stat(int64_t user, int64_t idle, int64_t steal) {
  const auto line = [&](int cpu) {
    return fmt::format("cpu{} {} 0 0 {} 0 0 0 {} 0 0\n", cpu, user, idle, steal);
  };
  return fmt::format("cpu  {} 2 3 4 5 6 7 8 9 0\n{}{}cpu2 {} 0 0 0 0 0 0 0 0\nintr 1 2\n", 12 * user, line(0),
                     line(1), 10 * user);
}

class Environment : public testing::Test {
 protected:
  void SetUp() override {
    machine_.Write("proc/stat", Stat(1000000, 0, 0));
    machine_.Write("proc/loadavg", "1.25 0.50 0.10 1/91 5666\n");
  }
  FakeMachine machine_;
};

TEST_F(Environment, ReadsTheSpanBetweenTwoReadings) {
  EnvironmentMeter meter(machine_.root(), {0, 1});
  // 30% busy, 10% stolen. The counts are so large that this process's own time is nothing beside them.
  machine_.Write("proc/stat", Stat(1000000 + 300000, 600000, 100000));
  const EnvironmentReading first = meter.Read();
  EXPECT_EQ(first.load, 1.25);
  EXPECT_THAT(first.steal, DoubleNear(0.1, 1e-9));
  EXPECT_THAT(first.other_busy, DoubleNear(0.3, 1e-3));
  EXPECT_GE(first.span_s, 0);
  // Nothing moved since.
  const EnvironmentReading second = meter.Read();
  EXPECT_EQ(second.steal, 0);
  EXPECT_EQ(second.other_busy, 0);
}

TEST_F(Environment, ReadsFrequencyTemperatureAndThrottling) {
  EnvironmentMeter meter(machine_.root(), {0, 1});
  EXPECT_EQ(meter.Read().frequency_mhz, 0);
  EXPECT_EQ(meter.Read().temperature_c, 0);
  EXPECT_EQ(meter.Read().throttle_events, -1);
  machine_.Write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n");
  machine_.Write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3000000\n");
  machine_.Write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "2\n");
  machine_.Write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "3\n");
  machine_.Write("sys/class/thermal/thermal_zone0/type", "acpitz\n");
  machine_.Write("sys/class/thermal/thermal_zone0/temp", "99000\n");
  machine_.Write("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
  machine_.Write("sys/class/thermal/thermal_zone1/temp", "61500\n");
  const EnvironmentReading reading = meter.Read();
  EXPECT_EQ(reading.frequency_mhz, 2500);
  EXPECT_EQ(reading.temperature_c, 61.5);
  EXPECT_EQ(reading.throttle_events, 5);
}

TEST_F(Environment, AMachineThatTellsNothingIsNoError) {
  const FakeMachine silent;
  EnvironmentMeter meter(silent.root(), {0});
  const EnvironmentReading reading = meter.Read();
  EXPECT_EQ(reading.load, 0);
  EXPECT_EQ(reading.steal, 0);
}

double OwnCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

TEST_F(Environment, OwnWorkIsNotCountedAsOthers) {
  machine_.Write("proc/stat", Stat(0, 0, 0));
  const double before = OwnCpuSeconds();
  EnvironmentMeter meter(machine_.root(), {0, 1});
  while (OwnCpuSeconds() < before + 0.3) {
  }
  // The machine says: half of the time busy, for just as long as this process worked.
  const auto ticks =
      static_cast<int64_t>((OwnCpuSeconds() - before) * static_cast<double>(sysconf(_SC_CLK_TCK)) / 2);
  machine_.Write("proc/stat", Stat(ticks, ticks, 0));
  EXPECT_LT(meter.Read().other_busy, 0.05);
}

TEST(EnvironmentOfThisMachine, ReadingsAreInRange) {
  EnvironmentMeter meter;
  const EnvironmentReading reading = meter.Read();
  EXPECT_GE(reading.span_s, 0);
  EXPECT_GE(reading.steal, 0);
  EXPECT_LE(reading.other_busy, 1);
  EXPECT_GE(reading.involuntary_switches, 0);
}

// A program that a launch talks to lives on while it is asked how busy others were.
TEST_F(Environment, WorkOfRunningChildrenIsNotCountedAsOthers) {
  machine_.Write("proc/stat", Stat(0, 0, 0));
  const auto stat = [](int pid, int parent, int64_t ticks) {
    return fmt::format("{} (a) S {} 0 0 0 -1 0 0 0 0 0 {} 0 0 0 20 0 1 0 7 0 0\n", pid, parent, ticks);
  };
  const auto set = [&](int64_t ticks) {
    machine_.Write("proc/900001/stat", stat(900001, getpid(), ticks));
    machine_.Write("proc/900002/stat", stat(900002, 900001, ticks));
    machine_.Write("proc/900003/stat", stat(900003, 1, ticks));
  };
  set(0);
  EnvironmentMeter meter(machine_.root(), {0, 1});
  set(100000);
  machine_.Write("proc/stat", Stat(150000, 150000, 0));
  EXPECT_THAT(meter.Read().other_busy, DoubleNear(1.0 / 6, 1e-3)) << "what is nobody's child of ours";
}

TEST(DescendantTicks, CountsChildrenTheirsAndThoseThatEnded) {
  const ProcessTimes times = {{1, {"init", 0, 9000, 0, 0}}, {5, {"self", 0, 700, 1, 0}},
                              {6, {"child", 0, 10, 5, 3}},  {3, {"grandchild", 0, 20, 6, 0}},
                              {8, {"other", 0, 500, 1, 0}}, {9, {"its own parent", 0, 50, 9, 0}}};
  EXPECT_EQ(DescendantTicks(times, 5), 33);
  EXPECT_EQ(DescendantTicks(times, 8), 0);
}

TEST(BusyProcesses, ComparesTwoReadings) {
  const int64_t hz = sysconf(_SC_CLK_TCK);
  const ProcessTimes before = {{1, {"quiet", 10, 500}}, {2, {"busy", 10, 500}}, {3, {"old", 10, 90000}}};
  const ProcessTimes after = {{1, {"quiet", 10, 500}},
                              {2, {"busy", 10, 500 + 2 * hz}},
                              {3, {"reused pid", 99, hz}},
                              {4, {"new", 50, hz / 2}},
                              {5, {"self", 50, 2 * hz}}};
  const auto busy = Busiest(before, after, 2.0, 5);
  ASSERT_THAT(busy, SizeIs(3));
  EXPECT_EQ(busy[0].name, "busy");
  EXPECT_EQ(busy[0].cpus, 1.0);
  EXPECT_EQ(busy[1].name, "reused pid");
  EXPECT_EQ(busy[1].cpus, 0.5);
  EXPECT_EQ(busy[2].pid, 4);
}

TEST(BusyProcesses, ReadsNamesWithSpacesAndBrackets) {
  const FakeMachine machine;
  machine.Write("proc/42/stat",
                "42 (a) b (c) S 1 42 42 0 -1 4194304 1 2 3 4 70 30 5 6 20 0 1 0 1234 999 7\n");
  machine.Write("proc/43/stat", "nonsense");
  machine.Write("proc/self/stat", "44 (x) S 1");
  const ProcessTimes times = ReadProcessTimes(machine.root());
  ASSERT_THAT(times, SizeIs(1));
  EXPECT_EQ(times.at(42).name, "a) b (c");
  EXPECT_EQ(times.at(42).cpu_ticks, 100);
  EXPECT_EQ(times.at(42).start_ticks, 1234);
  EXPECT_EQ(times.at(42).parent, 1);
  EXPECT_EQ(times.at(42).ended_children_ticks, 11);
}

TEST(BusyProcesses, FindsThisProcess) {
  const ProcessTimes times = ReadProcessTimes();
  EXPECT_TRUE(times.contains(getpid()));
}

}  // namespace
}  // namespace pagoda::sys

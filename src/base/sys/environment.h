// How busy the machine is, and who keeps it busy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pagoda::sys {

struct EnvironmentReading {
  double load = 0;  // 1-minute load average
  // Over the span since the last reading, of the CPUs that the process may use, 0..1:
  double steal = 0;       // taken by the hypervisor
  double other_busy = 0;  // kept busy by other processes than this one and what it started
  double span_s = 0;
  int64_t involuntary_switches = 0;  // of this process in the span
  // At this moment, over those CPUs:
  double frequency_mhz = 0;      // mean; 0: not readable
  double temperature_c = 0;      // highest; 0: not readable
  int64_t throttle_events = -1;  // since boot; -1: not readable
};

// Takes readings; the first covers the span since construction. The kernel counts CPU time in hundredths of a
// second: spans below 0.2 s tell little.
class EnvironmentMeter {
 public:
  // `root` stands for "/" and lets a test show another machine; `cpus` are those that are looked at.
  explicit EnvironmentMeter(std::filesystem::path root = "/");
  EnvironmentMeter(std::filesystem::path root, std::vector<int> cpus);

  EnvironmentReading Read();

 private:
  struct Counters {
    int64_t total_ticks = 0;
    int64_t busy_ticks = 0;
    int64_t steal_ticks = 0;
    double own_cpu_s = 0;
    int64_t involuntary_switches = 0;
    int64_t clock_ns = 0;
  };
  Counters Count() const;

  std::filesystem::path root_;
  std::vector<int> cpus_;
  Counters last_;
};

// CPU time that each running process has used.
struct ProcessTime {
  std::string name;
  int64_t start_ticks = 0;  // since boot: tells two processes with one pid apart
  int64_t cpu_ticks = 0;
  int parent = 0;
  int64_t ended_children_ticks = 0;  // of children that it waited for
};
using ProcessTimes = std::map<int, ProcessTime>;
ProcessTimes ReadProcessTimes(const std::filesystem::path& root = "/");

// CPU time of the running children of `pid`, of theirs, and of those of them that have ended.
int64_t DescendantTicks(const ProcessTimes& times, int pid);

struct BusyProcess {
  int pid = 0;
  std::string name;
  double cpus = 0;  // 1: kept one CPU busy all the time
};
// Who used at least `least_cpus` between two readings, the busiest first, without the process `self`.
std::vector<BusyProcess> Busiest(const ProcessTimes& before, const ProcessTimes& after, double elapsed_s,
                                 int self, double least_cpus = 0.05);

}  // namespace pagoda::sys

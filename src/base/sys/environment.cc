#include "base/sys/environment.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/sys/affinity.h"
#include "base/sys/clock.h"
#include "base/sys/small_file.h"

namespace pagoda::sys {
namespace {

double TicksPerSecond() {
  static const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return ticks > 0 ? ticks : 100;
}

double Seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

double CpuSeconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

std::filesystem::path CpuFolder(const std::filesystem::path& root, int cpu) {
  return root / "sys/devices/system/cpu" / fmt::format("cpu{}", cpu);
}

double MeanFrequencyMhz(const std::filesystem::path& root, const std::vector<int>& cpus) {
  double sum = 0;
  int known = 0;
  for (const int cpu : cpus) {
    if (const auto khz = ReadIntFile(CpuFolder(root, cpu) / "cpufreq/scaling_cur_freq")) {
      sum += static_cast<double>(*khz) / 1000;
      ++known;
    }
  }
  return known == 0 ? 0 : sum / known;
}

double HighestTemperature(const std::filesystem::path& root) {
  double highest = 0;
  std::error_code ignored;
  for (const auto& zone : std::filesystem::directory_iterator(root / "sys/class/thermal", ignored)) {
    const std::string type = ReadSmallFile(zone.path() / "type").value_or("");
    const bool of_cpu = type.find("pkg") != type.npos || type.find("cpu") != type.npos;
    const auto millidegrees = ReadIntFile(zone.path() / "temp");
    if (of_cpu && millidegrees) highest = std::max(highest, static_cast<double>(*millidegrees) / 1000);
  }
  return highest;
}

int64_t ThrottleEvents(const std::filesystem::path& root, const std::vector<int>& cpus) {
  int64_t events = -1;
  for (const int cpu : cpus) {
    for (const char* name : {"core_throttle_count", "package_throttle_count"}) {
      const auto count = ReadIntFile(CpuFolder(root, cpu) / "thermal_throttle" / name);
      if (count) events = std::max<int64_t>(events, 0) + *count;
    }
  }
  return events;
}

}  // namespace

EnvironmentMeter::EnvironmentMeter(std::filesystem::path root)
    : EnvironmentMeter(std::move(root), AllowedCpus()) {}

EnvironmentMeter::EnvironmentMeter(std::filesystem::path root, std::vector<int> cpus)
    : root_(std::move(root)), cpus_(std::move(cpus)), last_(Count()) {}

EnvironmentMeter::Counters EnvironmentMeter::Count() const {
  Counters now;
  std::set<std::string> wanted;
  for (const int cpu : cpus_) wanted.insert(fmt::format("cpu{}", cpu));
  std::istringstream lines(ReadSmallFile(root_ / "proc/stat").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (!wanted.contains(name)) continue;
    // user nice system idle iowait irq softirq steal; guest time is part of user time.
    int64_t ticks[8] = {};
    for (int64_t& t : ticks) fields >> t;
    for (const int64_t t : ticks) now.total_ticks += t;
    now.busy_ticks += ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6];
    now.steal_ticks += ticks[7];
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  now.involuntary_switches = usage.ru_nivcsw;
  now.own_cpu_s = CpuSeconds(RUSAGE_SELF) + CpuSeconds(RUSAGE_CHILDREN) +
                  static_cast<double>(DescendantTicks(ReadProcessTimes(root_), getpid())) / TicksPerSecond();
  now.clock_ns = NowNs();
  return now;
}

EnvironmentReading EnvironmentMeter::Read() {
  const Counters now = Count();
  EnvironmentReading reading;
  reading.load = std::strtod(ReadSmallFile(root_ / "proc/loadavg").value_or("").c_str(), nullptr);
  reading.span_s = static_cast<double>(now.clock_ns - last_.clock_ns) * 1e-9;
  const auto total = static_cast<double>(now.total_ticks - last_.total_ticks);
  if (total > 0) {
    const double own = (now.own_cpu_s - last_.own_cpu_s) * TicksPerSecond();
    const double busy = static_cast<double>(now.busy_ticks - last_.busy_ticks);
    reading.steal = std::clamp(static_cast<double>(now.steal_ticks - last_.steal_ticks) / total, 0.0, 1.0);
    reading.other_busy = std::clamp((busy - own) / total, 0.0, 1.0);
  }
  reading.involuntary_switches = now.involuntary_switches - last_.involuntary_switches;
  reading.frequency_mhz = MeanFrequencyMhz(root_, cpus_);
  reading.temperature_c = HighestTemperature(root_);
  reading.throttle_events = ThrottleEvents(root_, cpus_);
  last_ = now;
  return reading;
}

ProcessTimes ReadProcessTimes(const std::filesystem::path& root) {
  ProcessTimes times;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root / "proc", ignored)) {
    const std::string folder = entry.path().filename().string();
    int pid = 0;
    const char* const end = folder.data() + folder.size();
    if (std::from_chars(folder.data(), end, pid).ptr != end) continue;
    // "pid (name) state ppid ..."; the name may hold spaces and brackets, its end is the last bracket.
    const std::string stat = ReadSmallFile(entry.path() / "stat").value_or("");
    const size_t open = stat.find('('), close = stat.rfind(')');
    if (open == stat.npos || close == stat.npos || close < open) continue;
    std::istringstream fields(stat.substr(close + 1));
    std::string word;
    ProcessTime time{.name = stat.substr(open + 1, close - open - 1)};
    // Of the fields behind the name: ppid is the 2nd, utime, stime, cutime and cstime are the 12th to 15th,
    // starttime is the 20th.
    for (int field = 1; field <= 20 && fields >> word; ++field) {
      const int64_t value = std::strtoll(word.c_str(), nullptr, 10);
      if (field == 2) time.parent = static_cast<int>(value);
      if (field == 12 || field == 13) time.cpu_ticks += value;
      if (field == 14 || field == 15) time.ended_children_ticks += value;
      if (field == 20) time.start_ticks = value;
    }
    times.emplace(pid, std::move(time));
  }
  return times;
}

int64_t DescendantTicks(const ProcessTimes& times, int pid) {
  int64_t ticks = 0;
  std::set<int> family = {pid};
  for (size_t before = 0; before != family.size();) {
    before = family.size();
    for (const auto& [child, time] : times) {
      if (!family.contains(time.parent) || !family.insert(child).second) continue;
      ticks += time.cpu_ticks + time.ended_children_ticks;
    }
  }
  return ticks;
}

std::vector<BusyProcess> Busiest(const ProcessTimes& before, const ProcessTimes& after, double elapsed_s,
                                 int self, double least_cpus) {
  std::vector<BusyProcess> busy;
  for (const auto& [pid, now] : after) {
    const auto was = before.find(pid);
    const bool same = was != before.end() && was->second.start_ticks == now.start_ticks;
    const int64_t ticks = now.cpu_ticks - (same ? was->second.cpu_ticks : 0);
    const double cpus = static_cast<double>(ticks) / TicksPerSecond() / elapsed_s;
    if (pid != self && elapsed_s > 0 && cpus >= least_cpus) busy.push_back({pid, now.name, cpus});
  }
  std::sort(busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.cpus > b.cpus; });
  return busy;
}

}  // namespace pagoda::sys

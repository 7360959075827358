// `pagoda machine`: ceilings, and what makes the machine unfit for timing.
#include "app/commands/machine.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "app/commands/command.h"
#include "app/commands/console.h"
#include "base/sys/affinity.h"
#include "base/sys/clock.h"
#include "base/sys/process.h"
#include "judge/bench/environment.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"

namespace pagoda::app {
namespace {

using nlohmann::json;

constexpr size_t kProcessesNamed = 3;
// A stream whose repeats differ by more than this met other traffic on the memory bus.
constexpr double kSteadySpread = 1.25;
constexpr double kCoarseClockNs = 1000;

std::string NameCpus(int cpus) { return judge::Counted(cpus, "CPU", "CPUs"); }
std::string NameThreads(int threads) { return judge::Counted(threads, "thread", "threads"); }

std::string CachesInWords(const sys::MachineInfo& machine) {
  std::string words;
  for (const sys::CacheInfo& cache : machine.caches) {
    const char* kind = cache.level > 1 ? "" : cache.type == "Instruction" ? "i" : "d";
    words += fmt::format("{}L{}{} {}", words.empty() ? "" : ", ", cache.level, kind,
                         judge::Bytes(static_cast<double>(cache.bytes)));
    if (cache.sharing_cpus > 1) words += fmt::format(" shared by {}", NameCpus(cache.sharing_cpus));
  }
  return words;
}

std::string BusyInWords(const std::vector<sys::BusyProcess>& busy) {
  std::string words;
  for (size_t i = 0; i < std::min(busy.size(), kProcessesNamed); ++i) {
    words += fmt::format("{}{} (pid {}, {:.2f} CPUs)", i == 0 ? ": " : ", ", busy[i].name, busy[i].pid,
                         busy[i].cpus);
  }
  return words;
}

// The span before the measurement: long enough for the kernel's counters of 10 ms.
void Observe(MachineState& state) {
  constexpr double kSpanS = 0.5;
  sys::EnvironmentMeter meter;
  const sys::ProcessTimes before = sys::ReadProcessTimes();
  std::this_thread::sleep_for(std::chrono::duration<double>(kSpanS));
  state.reading = meter.Read();
  state.busy = sys::Busiest(before, sys::ReadProcessTimes(), state.reading.span_s, sys::OwnPid());
}

json FigureToJson(const CeilingFigure& figure, const char* unit) {
  return {{unit, figure.median}, {"lowest", figure.lowest}, {"highest", figure.highest}};
}

json ToJson(const MachineState& state, const MachineCeilings& ceilings, const std::vector<Unfitness>& unfit) {
  json read = json::array(), copy = json::array(), flops = json::array();
  for (const ReadCeiling& c : ceilings.read) {
    json entry = FigureToJson(c.gb_per_s, "gb_per_s");
    entry.update({{"threads", c.threads}, {"run_bytes", c.run_bytes}});
    read.push_back(std::move(entry));
  }
  for (const CopyCeiling& c : ceilings.copy) {
    json entry = FigureToJson(c.gb_per_s, "gb_per_s");
    entry.update({{"threads", c.threads}});
    copy.push_back(std::move(entry));
  }
  for (const FlopCeiling& c : ceilings.flops) {
    json entry = FigureToJson(c.gflop_per_s, "gflop_per_s");
    entry.update({{"threads", c.threads}, {"isa", c.isa}, {"dtype", c.dtype}});
    flops.push_back(std::move(entry));
  }
  json caches = json::array(), busy = json::array(), reasons = json::array();
  for (const sys::CacheInfo& c : state.machine.caches) {
    caches.push_back(
        {{"level", c.level}, {"type", c.type}, {"bytes", c.bytes}, {"sharing_cpus", c.sharing_cpus}});
  }
  for (const sys::BusyProcess& p : state.busy) {
    busy.push_back({{"pid", p.pid}, {"name", p.name}, {"cpus", p.cpus}});
  }
  for (const Unfitness& u : unfit) reasons.push_back({{"reason", u.reason}, {"mend", u.mend}});
  const sys::EnvironmentReading& reading = state.reading;
  return {{"schema", 1},
          {"machine",
           {{"cpu", state.machine.cpu_model},
            {"flags", state.machine.cpu_flags},
            {"caches", caches},
            {"online_cpus", state.machine.online_cpus},
            {"usable_cpus", state.usable_cpus},
            {"threads_per_core", state.machine.threads_per_core},
            {"memory_bytes", state.machine.memory_bytes},
            {"kernel", state.machine.kernel},
            {"governor", state.machine.governor},
            {"huge_pages", state.machine.huge_pages},
            {"virtual_machine", state.machine.virtual_machine}}},
          {"read", read},
          {"copy", copy},
          {"flops", flops},
          {"timer", {{"resolution_ns", ceilings.timer_resolution_ns}, {"cost_ns", ceilings.timer_cost_ns}}},
          {"buffer_bytes", ceilings.buffer_bytes},
          {"huge_pages_asked", ceilings.huge_pages_asked},
          {"environment",
           {{"load", reading.load},
            {"steal", reading.steal},
            {"other_busy", reading.other_busy},
            {"frequency_mhz", reading.frequency_mhz},
            {"temperature_c", reading.temperature_c},
            {"throttle_events", state.throttle_events_after}}},
          {"busy_processes", busy},
          {"fit", unfit.empty()},
          {"unfit", reasons}};
}

// "12.3 [11.0, 12.5]": median, lowest and highest.
std::string FigureInWords(const CeilingFigure& f) {
  return fmt::format("{} [{}, {}]", judge::Significant(f.median), judge::Significant(f.lowest),
                     judge::Significant(f.highest));
}

// Rows of figures by what was measured, a column per number of threads.
class ByThreads {
 public:
  void Add(const std::string& row, int threads, const CeilingFigure& figure) {
    if (!cells_.contains(row)) rows_.push_back(row);
    cells_[row][threads] = FigureInWords(figure);
    threads_.insert(threads);
  }

  std::string Print(const std::string& title) const {
    judge::Table table{{{title}}, {}};
    for (const int t : threads_) table.columns.push_back({NameThreads(t), true});
    for (const std::string& row : rows_) {
      std::vector<judge::Cell> cells{{row}};
      const std::map<int, std::string>& known = cells_.at(row);
      for (const int t : threads_) cells.push_back({known.contains(t) ? known.at(t) : ""});
      table.rows.push_back(std::move(cells));
    }
    return judge::PlainTable(table, "", UsesColour(stdout));
  }

 private:
  std::vector<std::string> rows_;
  std::set<int> threads_;
  std::map<std::string, std::map<int, std::string>> cells_;
};

void PrintMachine(const MachineState& state) {
  const sys::MachineInfo& m = state.machine;
  fmt::print("{}\n", judge::OneLine(fmt::format("{} · {} usable, {} a core · {} of memory · {}{}",
                                                m.cpu_model.empty() ? "CPU of unknown model" : m.cpu_model,
                                                NameCpus(state.usable_cpus),
                                                NameThreads(std::max(1, m.threads_per_core)),
                                                judge::Bytes(static_cast<double>(m.memory_bytes)), m.kernel,
                                                m.virtual_machine ? " · virtual machine" : "")));
  fmt::print("{}", judge::Wrapped(CachesInWords(m), 100, "caches  ", "        "));
  fmt::print("{}\n", judge::Wrapped(m.cpu_flags, 100, "flags   ", "        "));
}

void PrintCeilings(const MachineCeilings& ceilings) {
  ByThreads memory, flops;
  for (const ReadCeiling& c : ceilings.read) {
    memory.Add(
        c.run_bytes == 0 ? "streams" : fmt::format("{} runs", judge::Bytes(static_cast<double>(c.run_bytes))),
        c.threads, c.gb_per_s);
  }
  for (const CopyCeiling& c : ceilings.copy) memory.Add("copy, bytes read + written", c.threads, c.gb_per_s);
  for (const FlopCeiling& c : ceilings.flops) {
    flops.Add(fmt::format("{} {}", c.isa, c.dtype), c.threads, c.gflop_per_s);
  }
  fmt::print("{}\n", memory.Print("memory, GB/s"));
  fmt::print("{}\n", flops.Print("arithmetic, GFLOP/s"));
  fmt::print(
      "Median [lowest, highest] of the repeats; a buffer of {}{}; runs in random order.\n"
      "Clock: steps of {} ns, {} ns to read.\n\n",
      judge::Bytes(static_cast<double>(ceilings.buffer_bytes)),
      ceilings.huge_pages_asked ? " with huge pages asked for" : " without huge pages",
      judge::Significant(ceilings.timer_resolution_ns), judge::Significant(ceilings.timer_cost_ns));
}

void PrintFitness(const MachineState& state, const std::vector<Unfitness>& unfit) {
  const bool colour = UsesColour(stdout);
  const std::string now =
      fmt::format("load {:.1f}, steal {}, other processes on {} of the CPUs", state.reading.load,
                  judge::Percent(state.reading.steal), judge::Percent(state.reading.other_busy));
  if (unfit.empty()) {
    fmt::print("{}: {}.\n", judge::Inked("Fit for timing", judge::Ink::kGood, colour), now);
    return;
  }
  fmt::print("{}: {}.\n", judge::Inked("Not fit for timing", judge::Ink::kBad, colour), now);
  for (const Unfitness& u : unfit) {
    fmt::print("{}", judge::Wrapped(judge::OneLine(fmt::format("{}. Mend: {}.", u.reason, u.mend)), 100, "- ",
                                    "  "));
  }
}

void Run(const CommandContext& context, bool as_json, bool quick) {
  MachineState state;
  state.machine = sys::ReadMachineInfo();
  state.usable_cpus = static_cast<int>(sys::AllowedCpus().size());
  state.threads = context.Threads();
  Observe(state);

  CeilingOptions options = quick ? QuickCeilings(state.threads) : FullCeilings(state.threads);
  std::optional<Progress> progress;
  options.on_step = [&](std::string_view step, int, int steps) {
    if (!progress) progress.emplace("machine", static_cast<size_t>(steps), context.quiet);
    progress->Step(step);
    return true;
  };
  const MachineCeilings ceilings = MeasureCeilings(options);
  progress.reset();
  state.throttle_events_after = sys::EnvironmentMeter().Read().throttle_events;

  const std::vector<Unfitness> unfit = WhyUnfit(state, ceilings);
  if (as_json) {
    fmt::print("{}\n", ToJson(state, ceilings, unfit).dump(2, ' ', false, json::error_handler_t::replace));
    return;
  }
  PrintMachine(state);
  PrintCeilings(ceilings);
  PrintFitness(state, unfit);
}

}  // namespace

std::vector<Unfitness> WhyUnfit(const MachineState& state, const MachineCeilings& ceilings) {
  const judge::EnvironmentLimits limits;
  const sys::EnvironmentReading& now = state.reading;
  std::vector<Unfitness> unfit;
  const auto add = [&](std::string reason, std::string mend) {
    unfit.push_back({std::move(reason), std::move(mend)});
  };
  if (now.steal > limits.steal) {
    add(fmt::format("the hypervisor took {} of the CPU time (limit {})", judge::Percent(now.steal),
                    judge::Percent(limits.steal)),
        "take a machine with CPUs of its own, or a quieter time of its host");
  }
  if (now.other_busy > limits.other_busy) {
    add(fmt::format("other processes kept {} of the CPUs busy (limit {}){}", judge::Percent(now.other_busy),
                    judge::Percent(limits.other_busy), BusyInWords(state.busy)),
        "wait until they have ended, or stop them");
  }
  if (state.threads > state.usable_cpus) {
    add(fmt::format("{} share {}", NameThreads(state.threads), NameCpus(state.usable_cpus)),
        fmt::format("--threads {}", state.usable_cpus));
  }
  const std::string& governor = state.machine.governor;
  if (!governor.empty() && governor != "performance") {
    add(fmt::format("the frequency governor is \"{}\", which changes the clock with the load", governor),
        "as root: cpupower frequency-set -g performance");
  }
  if (now.throttle_events >= 0 && state.throttle_events_after > now.throttle_events) {
    add(fmt::format("the CPU was throttled {} while this measured",
                    judge::Counted(state.throttle_events_after - now.throttle_events, "time", "times")),
        "better cooling, or a lower fixed frequency");
  }
  if (state.machine.huge_pages == "never") {
    add("huge pages are off, so that large buffers cost TLB misses that other machines don't have",
        "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
  }
  if (ceilings.timer_resolution_ns > kCoarseClockNs) {
    add(fmt::format("the steady clock steps by {} ns", judge::Significant(ceilings.timer_resolution_ns)),
        "a clock source of the CPU's own: /sys/devices/system/clocksource/clocksource0/current_clocksource");
  }
  for (const ReadCeiling& c : ceilings.read) {
    if (c.run_bytes != 0 || c.gb_per_s.highest <= kSteadySpread * c.gb_per_s.lowest) continue;
    add(fmt::format("reading streams on {} gave between {} and {} GB/s", NameThreads(c.threads),
                    judge::Significant(c.gb_per_s.lowest), judge::Significant(c.gb_per_s.highest)),
        "measure again when nothing else uses the memory; on a shared host others may be the cause");
    break;
  }
#if !defined(__OPTIMIZE__)
  add("this pagoda was built without optimisation", "cmake --preset release");
#endif
  return unfit;
}

void AddMachine(CLI::App& app, CommandContext& context) {
  struct Options {
    bool json = false;
    bool quick = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* machine =
      app.add_subcommand("machine", "What this machine can do at most, and whether it is fit for timing");
  machine->add_flag("--json", options->json, "One JSON object instead of tables");
  machine->add_flag("--quick", options->quick,
                    "Only what a bench stores beside its results: a few seconds instead of up to a minute");
  machine->footer(
      "Examples:\n"
      "  pagoda machine\n"
      "  pagoda machine --quick --json --threads 1");
  machine->callback([options, &context] {
    Run(context, options->json, options->quick);
    context.exit_code = kDone;
  });
}

}  // namespace pagoda::app

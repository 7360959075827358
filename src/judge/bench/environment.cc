#include "judge/bench/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/sys/environment.h"

namespace pagoda::judge {
namespace {

std::optional<std::string> Busy(const EnvironmentSample& span, const EnvironmentLimits& limits) {
  if (span.steal > limits.steal) {
    return fmt::format("the hypervisor took {:.1f}% of the CPU time (limit {:.1f}%)", 100 * span.steal,
                       100 * limits.steal);
  }
  if (span.other_busy > limits.other_busy) {
    return fmt::format("other processes kept {:.0f}% of the CPUs busy (limit {:.0f}%)", 100 * span.other_busy,
                       100 * limits.other_busy);
  }
  return std::nullopt;
}

}  // namespace

EnvironmentSample SampleOf(const sys::EnvironmentReading& reading) {
  return {.load = reading.load,
          .steal = reading.steal,
          .other_busy = reading.other_busy,
          .involuntary_switches = reading.involuntary_switches,
          .frequency_mhz = reading.frequency_mhz,
          .temperature_c = reading.temperature_c,
          .throttle_events = reading.throttle_events};
}

std::optional<std::string> Contamination(const EnvironmentSample& before, const EnvironmentSample& after,
                                         double elapsed_s, int threads, int64_t epochs,
                                         const EnvironmentLimits& limits) {
  if (auto busy = Busy(after, limits)) return busy;
  const double own = limits.switches_per_epoch * static_cast<double>(epochs) * threads;
  const double most = std::max(limits.least_switches, limits.switches_per_s * elapsed_s * threads) + own;
  if (static_cast<double>(after.involuntary_switches) > most) {
    return fmt::format("the launch was preempted {} times in {:.1f} s (limit {:.0f})",
                       after.involuntary_switches, elapsed_s, most);
  }
  if (before.throttle_events >= 0 && after.throttle_events > before.throttle_events) {
    return fmt::format("the CPU was throttled {} times", after.throttle_events - before.throttle_events);
  }
  return std::nullopt;
}

Fitness WaitUntilFit(const std::function<EnvironmentSample()>& sample,
                     const std::function<bool(double seconds)>& sleep, double span_s, double wait_s,
                     const EnvironmentLimits& limits,
                     const std::function<void(const std::string& unfit)>& on_wait) {
  Fitness fitness;
  sample();  // what lies before says nothing about now
  while (true) {
    if (!sleep(span_s)) return fitness;
    fitness.sample = sample();
    fitness.unfit = Busy(fitness.sample, limits);
    if (!fitness.unfit || fitness.waited_s >= wait_s) return fitness;
    if (on_wait && fitness.waited_s == 0) on_wait(*fitness.unfit);
    fitness.waited_s += span_s;
  }
}

EnvironmentLimits LimitsOn(const Fitness& fitness, const EnvironmentLimits& limits) {
  if (!fitness.unfit) return limits;
  EnvironmentLimits relaxed = limits;
  relaxed.steal += fitness.sample.steal;
  relaxed.other_busy += fitness.sample.other_busy;
  // Whoever shares the CPUs preempts, as often as the scheduler likes.
  relaxed.switches_per_s = std::numeric_limits<double>::infinity();
  return relaxed;
}

}  // namespace pagoda::judge

// Is the machine fit to time on, and was it during a launch?
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "judge/record/record.h"

namespace pagoda::sys {
struct EnvironmentReading;
}

namespace pagoda::judge {

// A reading as it is recorded.
EnvironmentSample SampleOf(const sys::EnvironmentReading& reading);

// What a launch may suffer. The launch is the sample, so these only keep out what would make it an outlier.
struct EnvironmentLimits {
  double steal = 0.05;       // of CPU time over the launch
  double other_busy = 0.15;  // of all CPUs over the launch
  double switches_per_s =
      300;                     // involuntary context switches of the process, per thread; 80 to 100 are quiet
  double least_switches = 50;  // not a breach below this many in all
  // Of the launch's own making: an epoch begins by taking the CPUs over from the workers of another pool.
  double switches_per_epoch = 1;  // and thread
};

// The breached limit in one sentence with its value, or nothing. `after` covers the launch, which had so many
// timed epochs.
std::optional<std::string> Contamination(const EnvironmentSample& before, const EnvironmentSample& after,
                                         double elapsed_s, int threads, int64_t epochs,
                                         const EnvironmentLimits& limits);

struct Fitness {
  std::optional<std::string> unfit;  // why, after waiting; nothing: fit
  double waited_s = 0;
  EnvironmentSample sample;  // the last one
};

// Samples spans of `span_s` until one is within the limits, for up to `wait_s`. `sample` covers the span
// since its last call; `sleep` takes seconds and returns false when the user asked to stop; `on_wait`, if
// there is one, is told why before the first wait.
Fitness WaitUntilFit(const std::function<EnvironmentSample()>& sample,
                     const std::function<bool(double seconds)>& sleep, double span_s, double wait_s,
                     const EnvironmentLimits& limits,
                     const std::function<void(const std::string& unfit)>& on_wait = {});

// The limits for launches on a machine found in this state. An unfit machine that is timed on all the same
// would breach the plain limits in every launch and leave nothing to judge, so there its own level at the
// start is what a launch may suffer besides; orders are balanced, so a steady load widens intervals and
// favours nobody.
EnvironmentLimits LimitsOn(const Fitness& fitness, const EnvironmentLimits& limits);

}  // namespace pagoda::judge

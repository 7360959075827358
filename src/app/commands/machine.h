// Whether the machine is fit to time on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/sys/cpu.h"
#include "base/sys/environment.h"
#include "engine/simd/ceilings.h"

namespace pagoda::app {

// What of the machine spoils timing, and what to do about it; each a part of a sentence.
struct Unfitness {
  std::string reason;
  std::string mend;
};

// What WhyUnfit judges.
struct MachineState {
  sys::MachineInfo machine;
  sys::EnvironmentReading reading;     // before anything was measured
  std::vector<sys::BusyProcess> busy;  // in that span, the busiest first
  int64_t throttle_events_after = -1;  // behind the measurement
  int usable_cpus = 1;
  int threads = 1;  // that the user wants to time with
};
std::vector<Unfitness> WhyUnfit(const MachineState& state, const MachineCeilings& ceilings);

}  // namespace pagoda::app

// What the machine can do, what it is, and whether it is fit to time on.
#pragma once

#include <string>
#include <vector>

#include "base/sys/cpu.h"
#include "base/sys/environment.h"
#include "engine/simd/ceilings.h"
#include "judge/record/record.h"

namespace pagoda::app {

// The ceilings that a bench stores in its manifest, measured now: one thread and `threads`, in under 3 s on a
// quiet machine.
judge::Ceilings MeasureBenchCeilings(int threads);
judge::Ceilings ToRecord(const MachineCeilings& ceilings);

// CPU, flags, caches, memory and kernel; the fields about the program stay empty.
judge::EnvironmentFacts DescribeMachine(const sys::MachineInfo& machine);

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

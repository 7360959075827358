// What a reader must know before believing a run: one kind each, with what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "judge/report/replay.h"

namespace pagoda::judge {

enum class Warning : uint8_t {
  kFailedGates,     // a variant gave a wrong result
  kGatesMissing,    // no record of a gate run that others of the run have
  kSuspectTimes,    // faster than the roofline allows
  kFailedLaunches,  // a timed output was wrong, or a launch hung or crashed
  kLaunchesMissing,
  kTornRecord,
  kContaminatedLaunches,  // left out, with nothing in their place
  kRerunLaunches,         // contaminated, then replaced by a clean attempt
  kUnfitMachine,
  kThrottled,
  kNoNullArm,
  kFewSamples,  // fewer times of a variant than the suite asks for
  kFewLaunches,
  kBimodal,
  kClockTooCoarse,
  kNotRepeatable,    // a gate run gave other bits the second time
  kCeilingsMissing,  // of memory or of arithmetic
  kDirtySources,
};
// A stable identifier for JSON, such as "suspect_times".
std::string_view NameOf(Warning warning);

struct WarningText {
  Warning kind = Warning::kFailedGates;
  std::string what;  // one plain sentence with its figures
  std::string next;  // what to do
};

// Above these, just before or during a launch that counts, the machine was unfit for timing.
inline constexpr double kFitSteal = 0.05;      // of CPU time
inline constexpr double kFitOtherBusy = 0.15;  // of all CPUs

// In the order of the enum, each kind at most once.
std::vector<WarningText> WarningsOf(const Replay& replay);

}  // namespace pagoda::judge

// The inside of the fresh process: serves one plan with a subject.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "judge/bench/launch_plan.h"
#include "judge/bench/subject.h"
#include "judge/record/record.h"

namespace pagoda::judge {

struct ChildContext {
  Subject& subject;
  std::function<int64_t()> now_ns;  // steady clock
  double clock_resolution_ns = 0;
  // The machine over the span since the last call.
  std::function<EnvironmentSample()> sample_environment;
  // One line of output; it is out when the call returns.
  std::function<void(std::string_view)> write_line;
  // Leaves the name of the variant that is about to run where it survives the death of this process.
  std::function<void(std::string_view variant)> mark;
};

// Writes one LaunchRecord line for a launch, one PilotResult line for a pilot, one GateRecord line per pair
// for a gate. An exception of the subject becomes a record: a launch that crashed, a gate run that failed.
// The record's status is kOk, kGateFailed or kCrashed; whether the machine was quiet is for the parent to
// say.
void ServePlan(const ChildPlan& plan, const ChildContext& context);

}  // namespace pagoda::judge

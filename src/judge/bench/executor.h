// All launches of a run, in order, through an injected way to start processes; every record is kept as it is
// made.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/bench/child_runner.h"
#include "judge/bench/environment.h"
#include "judge/bench/launch_plan.h"
#include "judge/record/record.h"

namespace pagoda::judge {

struct CaseArms {
  CaseSpec spec;
  std::vector<ArmId> arms;  // variants in the manifest's order, then the null arm
  double expected_s = 0;    // of one launch; 0: not known
};

struct ExecutionPlan {
  std::string run_id;
  std::vector<CaseArms> cases;
  int launches = 12;
  uint64_t seed = 0;
  int threads = 1;
  ProtocolOptions protocol;  // its seed is set per launch
  EnvironmentLimits limits;
  int most_attempts = 3;      // of a launch that is contaminated
  double rerun_share = 0.25;  // at most this share of all launches is run again, so that a busy hour ends too
};

struct ExecutionProgress {
  int64_t done = 0, total = 0;  // launches
  std::string case_name;        // the next one
  int launch = 0;
};

struct ExecutionHooks {
  ChildRunner& runner;
  std::function<void(const LaunchRecord&)> append;
  std::function<bool()> stop;                              // the user asked to stop
  std::function<void()> before_rerun;                      // may wait for a quieter machine; may be empty
  std::function<void(const ExecutionProgress&)> progress;  // before each launch
};

struct ExecutionSummary {
  int64_t ran = 0;       // launches that gave a record now
  int64_t skipped = 0;   // already there when the run was resumed
  int64_t rerun = 0;     // contaminated and run again
  int64_t left_out = 0;  // contaminated, and the last attempt
  int64_t failed = 0;    // gate failed, hung or crashed
  bool interrupted = false;
};

// The plan of one attempt: seeds and slot order follow from the run's seed, the launch, the case and the
// attempt.
LaunchPlan MakeLaunchPlan(const ExecutionPlan& run, const CaseArms& c, int launch, int attempt);

// The order of the cases in one launch.
std::vector<size_t> CaseOrder(size_t cases, uint64_t seed, int launch);

// The watchdog of a launch: generous, since a launch that is killed makes its case INVALID.
double LaunchTimeout(double expected_s);

// A variant that hangs, crashes or leaves a wrong output is not timed again on that case; a launch that it
// ended is run again without it. When that is the baseline, or isn't known, or nothing is left to compare,
// the case is over. `earlier` are the records that a resumed run already holds: it goes on as if it had made
// them itself.
ExecutionSummary RunLaunches(const ExecutionPlan& run, std::span<const LaunchRecord> earlier,
                             const ExecutionHooks& hooks);

}  // namespace pagoda::judge

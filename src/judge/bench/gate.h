// The correctness gate before any timing: every case, variant and seed, in fresh processes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/bench/child_runner.h"
#include "judge/bench/launch_plan.h"
#include "judge/record/record.h"

namespace pagoda::judge {

inline constexpr std::array<uint64_t, 3> kGateSeeds = {2026, 2029, 2039};

struct GateCase {
  CaseSpec spec;
  std::vector<std::string> variants;  // those that support it
  double timeout_s = 60;              // of one variant with one seed
};

// Seconds after which a gate run of such a case hangs: far beyond what the slowest kernels on the slowest
// build take.
double GateTimeout(const CaseFacts& facts);

struct GateHooks {
  ChildRunner& runner;
  std::function<void(const GateRecord&)> append;
  std::function<bool()> stop;
  std::function<void(int64_t done, int64_t total, std::string_view case_name)> progress;
};

struct GateSummary {
  int64_t passed = 0, total = 0;  // runs, earlier ones included
  std::vector<GateRecord> failures;
  bool interrupted = false;
};

// A run that hangs or crashes fails, and the rest goes on after it; a variant that hung isn't run again, its
// other runs fail for that reason. `earlier` are the gate records of a resumed run; what they hold isn't run
// again.
GateSummary RunGate(std::string_view run_id, std::span<const GateCase> cases, int threads,
                    std::span<const GateRecord> earlier, const GateHooks& hooks);

}  // namespace pagoda::judge

// What a fresh process is asked to do: one JSON object each way of the `pagoda launch` command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "judge/bench/protocol.h"
#include "judge/bench/subject.h"
#include "judge/bench/suite.h"

namespace pagoda::judge {

// Time all arms of one case once. With protocol.pilot, only find out how long that takes.
struct LaunchPlan {
  std::string run_id;
  CaseSpec spec;
  int launch = 0;
  int attempt = 0;
  uint64_t seed = 0;
  int threads = 1;
  std::vector<ArmId> arms;      // variants in the manifest's order, then the null arm
  std::vector<int> slot_order;  // slot_order[i] is the index in `arms` of the arm prepared in slot i
  ProtocolOptions protocol;
};

// One gate run of a case: the variant on the inputs of the seed.
struct GateRun {
  std::string variant;
  uint64_t seed = 0;
  friend bool operator==(const GateRun&, const GateRun&) = default;
};

// Gate runs of one case, one record each and in this order. Those of a seed stand together, since its oracle
// serves all variants.
struct GatePlan {
  std::string run_id;
  CaseSpec spec;
  std::vector<GateRun> runs;
  int threads = 1;
};

// What a pilot found, per call and in the order of the plan's arms.
struct PilotResult {
  int64_t calls = 0;  // shared calls per epoch
  std::vector<double> host_ns;
  double setup_s = 0;   // inputs and arms
  double warmup_s = 0;  // calibration and warm-up
  double checks_s = 0;  // of the outputs
};

using ChildPlan = std::variant<LaunchPlan, GatePlan>;

// The case travels as its name in the grammar (see case_name.h) and what a name doesn't hold; one of a case
// file as the file, which the other side reads the rest of its spec from.
std::string ToJson(const LaunchPlan& plan);
std::string ToJson(const GatePlan& plan);
// Throws Error("WHERE: key") for anything that ToJson doesn't write.
ChildPlan ParseChildPlan(std::string_view text, std::string_view where);

std::string ToJson(const PilotResult& pilot);
PilotResult ParsePilotResult(std::string_view text, std::string_view where);

}  // namespace pagoda::judge

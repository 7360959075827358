// How long a run takes, and what to shorten so that it fits a budget.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/bench/launch_plan.h"
#include "judge/bench/protocol.h"
#include "judge/bench/subject.h"

namespace pagoda::judge {

// One launch of one case, seconds.
struct LaunchCost {
  double fixed_s = 0;  // process, inputs, warm-up, checks
  double block_s = 0;
  bool slow = false;  // by the protocol's rule, so that slow_blocks counts
};

LaunchCost CostOf(const PilotResult& pilot, double process_s, const ProtocolOptions& options);

// What a machine of these ceilings needs if an arm takes `over_bound` times the roofline bound.
struct NominalMachine {
  double gb_per_s = 10;
  double gflop_per_s = 50;
  double over_bound = 4;
};
LaunchCost RooflineCost(const CaseFacts& facts, size_t arms, const NominalMachine& machine,
                        const ProtocolOptions& options);

double LaunchSeconds(const LaunchCost& cost, const ProtocolOptions& options);
double RunSeconds(std::span<const LaunchCost> cases, int launches, const ProtocolOptions& options);

struct Schedule {
  int launches = 0;
  ProtocolOptions protocol;
  double predicted_s = 0;
  bool fits = true;
  std::string note;  // what was shortened, or why it doesn't fit; empty when nothing was
};

// Shortens in this order until the run fits: fewer blocks, down to the protocol's minimum; fewer launches,
// down to least_launches. What doesn't fit even then keeps the minimum and says so. budget_s <= 0: no limit.
Schedule FitBudget(std::span<const LaunchCost> cases, int launches, int least_launches,
                   const ProtocolOptions& options, double budget_s);

// "5m", "90s", "1h30m", "300" to seconds; nothing where it is none.
std::optional<double> DurationOf(std::string_view text);
// The same; throws Error(option).
double ParseDuration(std::string_view text, std::string_view option);
// "1%" or "0.01" to 0.01; above 0 and below 1. Throws Error(option).
double ParseShare(std::string_view text, std::string_view option);
// "3 m 41 s", "41 s", "2 h 5 m".
std::string DurationText(double seconds);

}  // namespace pagoda::judge

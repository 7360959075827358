#include "judge/bench/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

constexpr double kNsPerSecond = 1e9;

// Blocks of a slow case go down in step with those of the others.
ProtocolOptions WithBlocks(const ProtocolOptions& options, int blocks) {
  ProtocolOptions cut = options;
  cut.blocks = blocks;
  const int range = options.blocks - options.least_blocks;
  if (range > 0) {
    cut.slow_blocks = options.least_slow_blocks + (options.slow_blocks - options.least_slow_blocks) *
                                                      (blocks - options.least_blocks) / range;
  }
  return cut;
}

}  // namespace

LaunchCost CostOf(const PilotResult& pilot, double process_s, const ProtocolOptions& options) {
  LaunchCost cost;
  cost.fixed_s = std::max(process_s, pilot.setup_s + pilot.warmup_s + pilot.checks_s);
  for (const double call_ns : pilot.host_ns) {
    cost.block_s += 2 * call_ns * static_cast<double>(pilot.calls) / kNsPerSecond;
    cost.slow = cost.slow || call_ns > options.slow_call_ns;
  }
  return cost;
}

LaunchCost RooflineCost(const CaseFacts& facts, size_t arms, const NominalMachine& machine,
                        const ProtocolOptions& options) {
  // Process start, and inputs of at least 256 MB in the cold state.
  constexpr double kSetup = 0.5;
  const double bound_ns = std::max(facts.bytes / machine.gb_per_s, facts.flops / machine.gflop_per_s);
  const double call_ns = bound_ns * machine.over_bound;
  // The fastest arm, at the bound, sets the number of calls.
  const double calls = std::max(1.0, std::ceil(options.epoch_ns / std::max(bound_ns, 1.0)));
  LaunchCost cost;
  cost.slow = call_ns > options.slow_call_ns;
  cost.block_s = 2 * static_cast<double>(arms) * call_ns * calls / kNsPerSecond;
  constexpr double kWarmUpBlocks = 4;
  const double settling_s = std::min(kWarmUpBlocks * cost.block_s, options.warmup_ns / kNsPerSecond);
  const double least_s =
      std::ceil(options.least_warmups / calls) * cost.block_s / 2;  // a round is half a block
  cost.fixed_s = kSetup + std::max(settling_s, least_s);
  return cost;
}

double LaunchSeconds(const LaunchCost& cost, const ProtocolOptions& options) {
  return cost.fixed_s + cost.block_s * (cost.slow ? options.slow_blocks : options.blocks);
}

double RunSeconds(std::span<const LaunchCost> cases, int launches, const ProtocolOptions& options) {
  double sum = 0;
  for (const LaunchCost& cost : cases) sum += LaunchSeconds(cost, options);
  return sum * launches;
}

Schedule FitBudget(std::span<const LaunchCost> cases, int launches, int least_launches,
                   const ProtocolOptions& options, double budget_s) {
  Schedule schedule{launches, options, RunSeconds(cases, launches, options), true, ""};
  if (budget_s <= 0 || schedule.predicted_s <= budget_s) return schedule;
  for (int blocks = options.blocks; blocks >= options.least_blocks; --blocks) {
    schedule.protocol = WithBlocks(options, blocks);
    schedule.predicted_s = RunSeconds(cases, launches, schedule.protocol);
    if (schedule.predicted_s <= budget_s) break;
  }
  if (schedule.predicted_s > budget_s && launches > least_launches) {
    const double one = schedule.predicted_s / launches;
    schedule.launches = std::max(least_launches, static_cast<int>(budget_s / one));
    schedule.predicted_s = one * schedule.launches;
  }
  schedule.fits = schedule.predicted_s <= budget_s;
  schedule.note = fmt::format("{} blocks instead of {}", schedule.protocol.blocks, options.blocks);
  if (schedule.launches < launches) {
    schedule.note += fmt::format(", {} launches instead of {}", schedule.launches, launches);
  }
  if (!schedule.fits) {
    schedule.note += fmt::format(
        "; that is the least that can decide, and its launches alone take about {}: choose fewer cases "
        "(--only) "
        "or variants (--variants), or a larger --budget",
        DurationText(schedule.predicted_s));
  }
  return schedule;
}

std::optional<double> DurationOf(std::string_view text) {
  double sum = 0;
  double last_unit = 1e18;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
    text.remove_prefix(end - text.data());
    double unit = 1;
    if (!text.empty()) {
      unit = text[0] == 'h' ? 3600 : text[0] == 'm' ? 60 : text[0] == 's' ? 1 : 0;
      text.remove_prefix(1);
    } else if (last_unit < 1e18) {
      return std::nullopt;  // "1h30": minutes or seconds?
    }
    if (unit == 0 || unit >= last_unit) return std::nullopt;
    last_unit = unit;
    sum += value * unit;
  }
  if (sum <= 0 || sum > 1e7) return std::nullopt;
  return sum;
}

double ParseDuration(std::string_view text, std::string_view option) {
  if (const auto seconds = DurationOf(text)) return *seconds;
  throw Error(ErrorCode::kInvalidArgument, option,
              fmt::format("= \"{}\" is not a duration; write it as 300, 90s, 5m or 1h30m", text));
}

double ParseShare(std::string_view text, std::string_view option) {
  std::string_view number = text;
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (percent) value /= 100;
  if (error != std::errc() || end != number.data() + number.size() || !(value > 0 && value < 1)) {
    throw Error(ErrorCode::kInvalidArgument, option,
                fmt::format("= \"{}\" must be a share above 0 and below 1, such as 1% or 0.01", text));
  }
  return value;
}

std::string DurationText(double seconds) {
  const auto s = static_cast<int64_t>(std::llround(std::max(seconds, 0.0)));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} m {} s", s / 60, s % 60);
  return fmt::format("{} h {} m", s / 3600, s % 3600 / 60);
}

}  // namespace pagoda::judge

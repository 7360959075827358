#include "judge/report/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/listed.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"

namespace pagoda::judge {
namespace {

using Facts = std::vector<Fact>;

void AddKnown(std::string_view name, const std::string& value, Facts& facts) {
  if (!value.empty()) facts.push_back({std::string(name), value});
}

std::string Range(double low, double high, std::string_view unit) {
  const std::string a = Significant(low), b = Significant(high);
  return a == b ? fmt::format("{} {}", a, unit) : fmt::format("{} to {} {}", a, b, unit);
}

std::string CountRange(int64_t low, int64_t high) {
  return low == high ? Count(low) : fmt::format("{} to {}", Count(low), Count(high));
}

std::string Threads(int threads) { return Counted(threads, "thread", "threads"); }

void AddCeilings(const Ceilings& ceilings, Facts& facts) {
  std::string bandwidth, compute;
  for (const BandwidthCeiling& c : ceilings.bandwidth) {
    bandwidth += fmt::format("{}{} GB/s ({}, {})", bandwidth.empty() ? "" : "; ", Significant(c.gb_per_s),
                             c.run_bytes > 0 ? Bytes(c.run_bytes) + " runs" : "streams", Threads(c.threads));
  }
  for (const ComputeCeiling& c : ceilings.compute) {
    compute += fmt::format("{}{} GFLOP/s ({}, {}, {})", compute.empty() ? "" : "; ",
                           Significant(c.gflop_per_s), c.isa, c.dtype, Threads(c.threads));
  }
  AddKnown("read bandwidth", bandwidth, facts);
  AddKnown("compute peak", compute, facts);
}

// The instruction set that ran, and whose peaks bound the times where these are others: ceilings are the
// machine's, whatever PAGODA_ISA says.
std::string IsaText(const Manifest& manifest) {
  const std::string& isa = manifest.environment.isa;
  std::set<std::string> peaks;
  for (const ManifestCase& item : manifest.cases) {
    const Peak peak = PeakOf(manifest.ceilings, item.dtype, manifest.threads);
    if (peak.gflop_per_s > 0) peaks.emplace(peak.isa);
  }
  if (isa.empty() || peaks.empty() || peaks == std::set{isa}) return isa;
  return fmt::format("{} (roofline of {})", isa, Listed({peaks.begin(), peaks.end()}));
}

void AddConditions(const Conditions& conditions, Facts& facts) {
  if (conditions.good == 0) return;
  facts.push_back(
      {"during the launches",
       fmt::format(
           "load at most {:.2f}, steal at most {}, other processes on at most {} of the CPUs, at most "
           "{} involuntary context switches a launch",
           conditions.most_load, Percent(conditions.most_steal), Percent(conditions.most_other_busy),
           Count(conditions.most_switches))});
  if (conditions.most_mhz > 0) {
    facts.push_back({"frequency", Range(conditions.least_mhz, conditions.most_mhz, "MHz")});
  }
  if (conditions.hottest_c > 0) facts.push_back({"hottest", Significant(conditions.hottest_c) + " °C"});
  if (conditions.throttle_events >= 0) {
    facts.push_back({"throttled", Counted(conditions.throttle_events, "time", "times")});
  }
  if (conditions.clock_resolution_ns > 0) {
    facts.push_back({"clock resolution", Significant(conditions.clock_resolution_ns) + " ns"});
  }
}

// Measured, but wrong: warnings and INVALID verdicts tell.
bool IsFailure(Reason reason) {
  return reason == Reason::kGateFailed || reason == Reason::kTimedOutputWrong || reason == Reason::kHung ||
         reason == Reason::kCrashed;
}

// A case that some variants have no times of, all for one reason.
struct Gap {
  std::string case_name;
  std::vector<std::string> variants;
  std::string why;
};

void AddGap(const std::string& case_name, const std::string& variant, const std::string& why,
            std::vector<Gap>& gaps) {
  const auto same = [&](const Gap& gap) { return gap.case_name == case_name && gap.why == why; };
  auto at = std::find_if(gaps.begin(), gaps.end(), same);
  if (at == gaps.end()) at = gaps.insert(at, {.case_name = case_name, .variants = {}, .why = why});
  at->variants.push_back(variant);
}

// "576 to 600 taken"; of what was timed at all.
std::string SamplesTaken(const RunVerdict& run) {
  int64_t least = 0, most = 0;
  for (const Figures& f : run.figures) {
    if (f.samples == 0) continue;
    least = least == 0 ? f.samples : std::min(least, f.samples);
    most = std::max(most, f.samples);
  }
  return CountRange(least, most) + " taken";
}

std::string CachesOf(const Manifest& manifest) {
  const auto has = [&](std::string_view cache) {
    return std::any_of(manifest.cases.begin(), manifest.cases.end(),
                       [&](const ManifestCase& c) { return c.cache == cache; });
  };
  std::string text;
  if (has("cold")) text = "cold";
  if (has("warm")) text += text.empty() ? "warm" : " and warm (see each case)";
  return text;
}

}  // namespace

std::string RunLine(const Replay& replay) {
  const Conditions conditions = ConditionsOf(replay.records);
  std::string line = fmt::format("{} · {} · {} · {}", replay.manifest.suite,
                                 Counted(static_cast<int64_t>(replay.manifest.cases.size()), "case", "cases"),
                                 Counted(replay.manifest.launches, "launch a case", "launches a case"),
                                 Threads(replay.manifest.threads));
  if (conditions.elapsed_s > 0) line += fmt::format(" · {} of launches", Elapsed(conditions.elapsed_s));
  return line;
}

std::string MachineLine(const Replay& replay) {
  const Conditions conditions = ConditionsOf(replay.records);
  std::vector<std::string> parts = {replay.manifest.environment.cpu, IsaText(replay.manifest)};
  if (conditions.good > 0) {
    parts.push_back(
        fmt::format("load ≤ {:.2f}, steal ≤ {}", conditions.most_load, Percent(conditions.most_steal)));
  }
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, " · "));
}

std::vector<Fact> EnvironmentFactsOf(const Replay& replay) {
  const EnvironmentFacts& e = replay.manifest.environment;
  Facts facts;
  AddKnown("CPU", e.cpu, facts);
  AddKnown("CPU flags", e.cpu_flags, facts);
  AddKnown("instruction set", IsaText(replay.manifest), facts);
  AddKnown("caches", e.caches, facts);
  AddKnown("memory", e.memory, facts);
  AddKnown("kernel", e.kernel, facts);
  AddKnown("compiler", e.compiler, facts);
  AddKnown("build flags", e.build_flags, facts);
  AddKnown("binary", e.binary_hash, facts);
  if (!e.git_commit.empty()) {
    facts.push_back(
        {"commit", e.git_commit + (e.git_dirty ? ", sources changed since" : ", sources unchanged")});
  }
  AddKnown("time", replay.manifest.time, facts);
  AddCeilings(replay.manifest.ceilings, facts);
  AddConditions(ConditionsOf(replay.records), facts);
  return facts;
}

std::vector<Fact> ProtocolFactsOf(const Replay& replay) {
  const Manifest& m = replay.manifest;
  const Conditions conditions = ConditionsOf(replay.records);
  Facts facts;
  facts.push_back(
      {"launches", fmt::format("{} a case, each a fresh process that times all variants; seed {}; {}",
                               Count(m.launches), m.seed, Threads(m.threads))});
  if (conditions.good > 0) {
    facts.push_back({"in a launch", fmt::format("{} blocks, each variant twice a block; {} calls a timing",
                                                CountRange(conditions.least_blocks, conditions.most_blocks),
                                                CountRange(conditions.least_calls, conditions.most_calls))});
  }
  if (const int64_t warmups = CountSetting(m, kWarmupsSetting); warmups > 0) {
    facts.push_back({"warm-up", fmt::format("until the medians settle, and at least {} of each variant",
                                            Counted(warmups, "call", "calls"))});
  }
  if (const int64_t samples = CountSetting(m, kSamplesSetting); samples > 0) {
    facts.push_back(
        {"timings", fmt::format("at least {} of each variant and case over all launches asked for; {}",
                                Count(samples), SamplesTaken(replay.run))});
  }
  facts.push_back({"cache", CachesOf(m)});
  facts.push_back({"launch value",
                   fmt::format("{}, chosen from the null arm alone (its spread in ln: typical {}, floor {})",
                               NameOf(replay.run.statistic), Significant(replay.run.null_spread_typical),
                               Significant(replay.run.null_spread_floor))});
  facts.push_back(
      {"interval",
       "Hodges-Lehmann over launches with the signed-rank interval, 95%, not adjusted for other cases; "
       "p-values are exact and Holm-adjusted over cases and variants"});
  facts.push_back({"smallest difference that matters", SetPercent(m.delta)});
  return facts;
}

std::string LaunchLine(const Replay& replay) {
  const LaunchCounts& n = replay.run.launches;
  std::string line = fmt::format("{} planned, {} used", Count(n.planned), Count(n.used));
  if (n.left_out > 0) line += fmt::format(", {} left out (contaminated)", Count(n.left_out));
  if (n.failed > 0) line += fmt::format(", {} failed", Count(n.failed));
  if (n.never_run > 0) line += fmt::format(", {} without a record", Count(n.never_run));
  if (n.rerun > 0)
    line += fmt::format("; {} run again", Counted(n.rerun, "contaminated attempt", "contaminated attempts"));
  return line;
}

std::vector<std::string> NotMeasured(const Replay& replay, size_t most_names) {
  std::vector<Gap> gaps;
  for (const Unsupported& u : replay.manifest.unsupported) AddGap(u.case_name, u.variant, u.reason, gaps);
  for (const Unmeasured& u : replay.run.unmeasured) {
    if (u.reason != Reason::kUnsupported && !IsFailure(u.reason)) AddGap(u.case_name, u.variant, u.why, gaps);
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const Gap& gap : gaps) {
    const auto same = [&gap](const auto& entry) { return entry.first == gap.why; };
    auto at = std::find_if(by_reason.begin(), by_reason.end(), same);
    if (at == by_reason.end()) at = by_reason.insert(at, {gap.why, {}});
    const bool all = gap.variants.size() == replay.manifest.variants.size();
    at->second.push_back(all ? gap.case_name : Listed(gap.variants) + " on " + gap.case_name);
  }
  std::vector<std::string> items = replay.manifest.not_measured;
  for (const auto& [why, names] : by_reason) {
    const std::string list = ListedUpTo(most_names, names);
    items.push_back(why.empty() ? list : fmt::format("{} ({})", list, why));
  }
  return items;
}

}  // namespace pagoda::judge

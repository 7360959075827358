#include "judge/verdict/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "judge/stats/ranks.h"
#include "judge/verdict/samples.h"

namespace pagoda::judge {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kFloorQuantile = 0.1;

// A stream (run length 0 in the record) stands beyond every finite run length.
double RunLength(double run_bytes) {
  return run_bytes > 0 ? run_bytes : std::numeric_limits<double>::infinity();
}

struct Times {
  std::vector<double> device, device_floor, host;  // one each per launch, in microseconds
  int64_t samples = 0;
};

Times TimesOfVariant(const CaseRecords& records, const std::string& variant) {
  Times times;
  for (const LaunchRecord* launch : records.usable) {
    const ArmSamples* arm = FindArm(*launch, variant, 0);
    if (arm == nullptr) continue;
    times.device.push_back(Median(arm->device_ns) / 1000);
    times.device_floor.push_back(Quantile(arm->device_ns, kFloorQuantile) / 1000);
    times.host.push_back(Median(arm->host_ns) / 1000);
    times.samples += std::ssize(arm->device_ns);
  }
  return times;
}

double MedianOrNaN(const std::vector<double>& values) { return values.empty() ? kNaN : Median(values); }

// Inputs that stay in the cache aren't read from memory, so its bandwidth bounds only cold runs.
void AddRoofline(const Manifest& manifest, const ManifestCase& item, Figures& figures) {
  const double bandwidth = BandwidthAt(manifest.ceilings, item.run_bytes, manifest.threads);
  const double peak = PeakOf(manifest.ceilings, item.dtype, manifest.threads).gflop_per_s;
  const double memory_us = item.cache == "cold" && bandwidth > 0 ? item.bytes / (bandwidth * 1e3) : 0;
  const double compute_us = peak > 0 ? item.flops / (peak * 1e3) : 0;
  figures.bound_us = std::max(memory_us, compute_us);
  figures.memory_bound = memory_us > compute_us;
  if (!(figures.bound_us > 0) || std::isnan(figures.device_us)) return;
  figures.roofline_fraction = figures.bound_us / figures.device_us;
  figures.suspect = figures.roofline_fraction > 1;
}

void AddProof(const Records& records, Figures& figures) {
  bool repeatable = true;
  for (const GateRecord& gate : records.gates) {
    if (gate.case_name != figures.case_name || gate.variant != figures.variant) continue;
    ++figures.gates_total;
    figures.gates_passed += gate.passed ? 1 : 0;
    repeatable = repeatable && gate.bitwise_repeatable;
    figures.max_abs_error = std::max(figures.max_abs_error, gate.max_abs_error);
  }
  figures.bitwise = repeatable && figures.gates_total > 0;
  for (const LaunchRecord& launch : records.launches) {
    if (launch.case_name != figures.case_name) continue;
    for (const ArmCheck& check : launch.checks) {
      if (check.variant != figures.variant) continue;
      figures.max_abs_error = std::max(figures.max_abs_error, check.max_abs_error);
    }
  }
}

}  // namespace

double BandwidthAt(const Ceilings& ceilings, double run_bytes, int threads) {
  int best = 0;
  for (const BandwidthCeiling& ceiling : ceilings.bandwidth) {
    if (ceiling.threads <= threads) best = std::max(best, ceiling.threads);
  }
  std::map<double, double> by_length;
  for (const BandwidthCeiling& ceiling : ceilings.bandwidth) {
    if (ceiling.threads != best) continue;
    double& place = by_length[RunLength(ceiling.run_bytes)];
    place = std::max(place, ceiling.gb_per_s);
  }
  if (by_length.empty()) return 0;
  const double length = RunLength(run_bytes);
  const auto above = by_length.lower_bound(length);
  if (above == by_length.end()) return by_length.rbegin()->second;
  if (above == by_length.begin() || above->first == length) return above->second;
  const auto below = std::prev(above);
  // No logarithm reaches the endless stream; the longest finite run is the safer neighbour.
  if (std::isinf(above->first)) return below->second;
  const double part = std::log(length / below->first) / std::log(above->first / below->first);
  return below->second + part * (above->second - below->second);
}

Peak PeakOf(const Ceilings& ceilings, std::string_view dtype, int threads) {
  const auto measured_on_all = [&](const ComputeCeiling& of) {
    return std::any_of(ceilings.compute.begin(), ceilings.compute.end(), [&](const ComputeCeiling& ceiling) {
      return ceiling.threads == threads && ceiling.isa == of.isa && ceiling.dtype == of.dtype;
    });
  };
  Peak peak;
  for (const ComputeCeiling& ceiling : ceilings.compute) {
    if (ceiling.dtype != dtype && ceiling.dtype != "f32") continue;
    double rate = 0;
    if (ceiling.threads == threads) rate = ceiling.gflop_per_s;
    if (ceiling.threads == 1 && !measured_on_all(ceiling)) rate = ceiling.gflop_per_s * threads;
    if (rate > peak.gflop_per_s) peak = {rate, ceiling.isa};
  }
  return peak;
}

std::vector<Figures> ComputeFigures(const Manifest& manifest, const Records& records,
                                    const std::vector<CaseRecords>& sorted) {
  std::vector<Figures> all;
  for (const CaseRecords& place : sorted) {
    for (const std::string& variant : manifest.variants) {
      const Times times = TimesOfVariant(place, variant);
      Figures figures;
      figures.case_name = place.facts->name;
      figures.variant = variant;
      figures.device_us = MedianOrNaN(times.device);
      figures.device_floor_us = MedianOrNaN(times.device_floor);
      figures.host_us = MedianOrNaN(times.host);
      figures.samples = times.samples;
      figures.gb_per_s = place.facts->bytes / (figures.device_us * 1e3);
      figures.gflop_per_s = place.facts->flops / (figures.device_us * 1e3);
      AddRoofline(manifest, *place.facts, figures);
      AddProof(records, figures);
      all.push_back(figures);
    }
  }
  return all;
}

}  // namespace pagoda::judge

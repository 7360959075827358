// A made-up run: times of every launch from chosen effects and a chosen noise.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "judge/record/record.h"

namespace pagoda::judge {

// Cases c0, c1, … of 1 ms a call. `spread` is the standard deviation, in ln, of a contrast's launch values;
// each arm has its share of it, and the null arm is one more copy of the baseline.
class RunBuilder {
 public:
  RunBuilder(std::vector<std::string> variants, int cases) {
    manifest_.run_id = "run";
    manifest_.variants = std::move(variants);
    manifest_.baseline = manifest_.variants.front();
    for (int c = 0; c < cases; ++c) {
      ManifestCase item;
      item.name = fmt::format("c{}", c);
      item.bytes = 1e7;
      item.flops = 1e6;
      item.dtype = "bf16";
      manifest_.cases.push_back(item);
    }
  }

  RunBuilder& Baseline(const std::string& variant) {
    manifest_.baseline = variant;
    return *this;
  }
  RunBuilder& Launches(int launches) {
    manifest_.launches = launches;
    return *this;
  }
  RunBuilder& Spread(double spread) {
    spread_ = spread;
    return *this;
  }
  RunBuilder& Seed(uint64_t seed) {
    seed_ = seed;
    return *this;
  }
  // The variant takes exp(theta) times as long as the others on this case, -1: on every case.
  RunBuilder& Effect(const std::string& variant, double theta, int c = -1) {
    for (int i = 0; i < static_cast<int>(manifest_.cases.size()); ++i) {
      if (c < 0 || c == i) device_[{variant, i}] = host_[{variant, i}] = theta;
    }
    return *this;
  }
  RunBuilder& HostEffect(const std::string& variant, double theta, int c) {
    host_[{variant, c}] = theta;
    return *this;
  }

  Manifest& manifest() { return manifest_; }

  // Every gate passed, every launch fine, all as the manifest says by then.
  Records Build() const {
    Records records;
    Random random(seed_);
    for (size_t c = 0; c < manifest_.cases.size(); ++c) {
      for (const std::string& variant : VariantsOf(static_cast<int>(c))) {
        GateRecord gate;
        gate.run_id = manifest_.run_id;
        gate.case_name = manifest_.cases[c].name;
        gate.variant = variant;
        gate.passed = gate.bitwise_repeatable = true;
        records.gates.push_back(gate);
      }
      for (int launch = 0; launch < manifest_.launches; ++launch) {
        records.launches.push_back(Launch(static_cast<int>(c), launch, random));
      }
    }
    return records;
  }

 private:
  // Those that the manifest doesn't call unsupported.
  std::vector<std::string> VariantsOf(int c) const {
    std::vector<std::string> variants = manifest_.variants;
    for (const Unsupported& u : manifest_.unsupported) {
      if (u.case_name == manifest_.cases[static_cast<size_t>(c)].name) std::erase(variants, u.variant);
    }
    return variants;
  }

  ArmSamples Arm(const std::string& variant, int link, int c, Random& random) const {
    const double noise = spread_ / std::sqrt(2.0) * random.Normal();
    const auto effect = [&](const std::map<std::pair<std::string, int>, double>& effects) {
      const auto found = effects.find({variant, c});
      return std::exp(noise + (found == effects.end() ? 0 : found->second));
    };
    ArmSamples arm;
    arm.variant = variant;
    arm.link = link;
    for (int pass = 0; pass < 2 * kBlocks; ++pass) {
      const double pass_noise = 1 + 1e-5 * random.Uniform();
      arm.device_ns.push_back(1e6 * effect(device_) * pass_noise);
      arm.host_ns.push_back(1.1e6 * effect(host_) * pass_noise);
    }
    return arm;
  }

  LaunchRecord Launch(int c, int number, Random& random) const {
    LaunchRecord launch;
    launch.run_id = manifest_.run_id;
    launch.case_name = manifest_.cases[static_cast<size_t>(c)].name;
    launch.launch = number;
    launch.calls_per_epoch = 3;
    launch.blocks = kBlocks;
    launch.clock_resolution_ns = 20;
    launch.cache = manifest_.cases[static_cast<size_t>(c)].cache;
    launch.threads = manifest_.threads;
    for (const std::string& variant : VariantsOf(c)) launch.arms.push_back(Arm(variant, 0, c, random));
    const bool with_null = std::any_of(launch.arms.begin(), launch.arms.end(), [this](const ArmSamples& arm) {
      return arm.variant == manifest_.baseline;
    });
    if (with_null) launch.arms.push_back(Arm(manifest_.baseline, 1, c, random));
    for (size_t i = 0; i < launch.arms.size(); ++i) {
      launch.slot_order.push_back(static_cast<int>(i));
      ArmCheck check;
      check.variant = launch.arms[i].variant;
      check.link = launch.arms[i].link;
      check.passed = true;
      launch.checks.push_back(check);
    }
    return launch;
  }

  static constexpr int kBlocks = 4;
  Manifest manifest_;
  double spread_ = 0.004;
  uint64_t seed_ = 2026;
  std::map<std::pair<std::string, int>, double> device_, host_;
};

}  // namespace pagoda::judge

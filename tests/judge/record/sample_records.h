// A launch, a gate run and a manifest with every field set to something that is not its default.
#pragma once

#include "judge/record/record.h"

namespace pagoda::judge {

inline LaunchRecord SampleLaunch() {
  LaunchRecord record;
  record.run_id = "2026-01-01T00:00:00Z-7";
  record.case_name = "b1_h16_kv8_s4096_bs64_hd128_bf16_decode";
  record.launch = 3;
  record.attempt = 1;
  record.seed = 0xfedcba9876543210U;  // above int64
  record.cache = "warm";
  record.threads = 2;
  record.calls_per_epoch = 40;
  record.blocks = 1;
  record.slot_order = {1, 0};
  record.arms = {{"gather", 0, {1000.125, 1001.0 / 3}, {1100, 1200}},
                 {"gather", 1, {999, 998}, {1099, 1098}}};
  record.checks = {{"gather", 0, true, 1e-3, ""},
                   {"gather", 1, false, 0.5, "row 3: 0.5 above the tolerance"}};
  record.reason = "none";
  record.culprit = "gather";
  record.clock_resolution_ns = 27;
  record.before = {0.25, 0.01, 0.02, 3, 2400, 55.5, 7};
  record.after = {0.5, 0.02, 0.03, 4, 2300, 56.5, 8};
  record.elapsed_s = 1.75;
  return record;
}

inline GateRecord SampleGate() {
  GateRecord record;
  record.run_id = "2026-01-01T00:00:00Z-7";
  record.case_name = "b1_h16_kv8_s4096_bs64_hd128_bf16_decode";
  record.variant = "gather";
  record.seed = 5;
  record.passed = true;
  record.bitwise_repeatable = true;
  record.same_bits_as = "reference";
  record.max_abs_error = 0.002;
  record.fault = "\"quoted\"\nand broken";
  return record;
}

inline Manifest SampleManifest() {
  Manifest manifest;
  manifest.run_id = "2026-01-01T00:00:00Z-7";
  manifest.suite = "smoke";
  manifest.about = "seconds";
  manifest.cases = {{"c0", 2, 1e9, 2e9, 4096, "bf16", "cold", {{"softcap", "0"}}},
                    {"c1", 1, 1e6, 2e6, 256, "f16", "warm", {{"softcap", "30"}}}};
  manifest.sweeps = {{"c*", "context", {{"c0", 64}, {"c1", 128}}}};
  manifest.variants = {"gather", "highperf"};
  manifest.baseline = "gather";
  manifest.programs = {{"highperf", "python3 'a b.py'", "torch 2"}};
  manifest.launches = 16;
  manifest.delta = 0.02;
  manifest.seed = 0xffffffffffffffffU;
  manifest.threads = 2;
  manifest.settings = {{"epoch_ms", "5"}};
  manifest.code = {{"./mine.so", "0123"}};
  manifest.time = "2026-01-01T00:00:00Z";
  manifest.command_line = "pagoda bench smoke --delta 2%";
  manifest.environment = {"cpu",      "avx2", "avx512", "32K/1M/30M", "8 GB", "6.1",
                          "g++ 12.2", "-O3",  "abc",    "def",        true};
  manifest.ceilings.bandwidth = {{4096, 2, 11.5}, {0, 1, 9.25}};
  manifest.ceilings.compute = {{"avx2", "f32", 2, 101.5}};
  manifest.unsupported = {{"c1", "highperf", "head_dim 100"}};
  manifest.not_measured = {"other machines", "prefill"};
  return manifest;
}

}  // namespace pagoda::judge

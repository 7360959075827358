#include "judge/report/run_kinds.h"

#include <ostream>
#include <utility>

namespace pagoda::judge {
namespace {

constexpr double kQuiet = 0.002;

using Times = std::map<std::string, double>;

// Every case with the times of `us`, J = 12.
SampleRun Measured(const std::vector<std::string>& variants, const Times& us) {
  SampleRun run;
  run.manifest = SampleManifest(kCases, variants, 12);
  run.records.gates = SampleGates(run.manifest);
  for (int launch = 0; launch < 12; ++launch) {
    for (const std::string& name : kCases) {
      run.records.launches.push_back(SampleLaunch(run.manifest, name, launch, us, kQuiet));
    }
  }
  return run;
}

SampleRun Judged(SampleRun run) {
  run.verdict = Judge(run.manifest, run.records);
  return run;
}

}  // namespace

const std::vector<std::string> kCases = {"b1_h16_kv8_s512_bs64_hd128_bf16_decode",
                                         "b1_h16_kv8_s4096_bs64_hd128_bf16_decode",
                                         "b4_h16_kv8_s4096_bs64_hd128_bf16_decode"};

SampleRun ClearWin() { return Judged(Measured({"slow", "fast"}, {{"slow", 10}, {"fast", 8}})); }

SampleRun AllTies() { return Judged(Measured({"one", "two"}, {{"one", 10}, {"two", 10}})); }

SampleRun OneVariant() { return Judged(Measured({"alone"}, {{"alone", 10}})); }

SampleRun FiveVariants() {
  return Judged(Measured({"gather", "spmd_paged_attention", "spmd_paged_attention_highperf",
                          "paged_attention_unroll", "paged_attention_unroll_4dims"},
                         {{"gather", 20},
                          {"spmd_paged_attention", 12},
                          {"spmd_paged_attention_highperf", 9},
                          {"paged_attention_unroll", 11},
                          {"paged_attention_unroll_4dims", 11}}));
}

SampleRun Mixed() {
  SampleRun run = Measured({"slow", "fast"}, {{"slow", 10}, {"fast", 7}});
  for (LaunchRecord& launch : run.records.launches) {
    if (launch.case_name != kCases[1]) continue;
    launch = SampleLaunch(run.manifest, kCases[1], launch.launch, {{"slow", 10}, {"fast", 11}}, kQuiet);
  }
  return Judged(std::move(run));
}

SampleRun Interrupted() {
  SampleRun run = Measured({"slow", "fast"}, {{"slow", 10}, {"fast", 8}});
  run.records.launches.resize(7);
  run.records.torn_lines = 1;
  return Judged(std::move(run));
}

SampleRun GateFailed() {
  SampleRun run = Measured({"slow", "fast"}, {{"slow", 10}, {"fast", 8}});
  GateRecord& gate = run.records.gates[2];  // fast on the first case
  gate.passed = gate.bitwise_repeatable = false;
  gate.max_abs_error = 0.25;
  gate.fault = "out[3, 0, 7] = 0.75, expected 0.5";
  return Judged(std::move(run));
}

SampleRun Hung() {
  SampleRun run = Measured({"slow", "fast", "stuck"}, {{"slow", 10}, {"fast", 8}, {"stuck", 5}});
  LaunchRecord& launch = run.records.launches[1];  // the second case
  launch.status = LaunchStatus::kHung;
  launch.reason = "no sign of life for 30 s";
  launch.culprit = "stuck";
  launch.arms.clear();
  launch.slot_order.clear();
  launch.checks.clear();
  return Judged(std::move(run));
}

SampleRun Contaminated() {
  SampleRun run = Measured({"slow", "fast"}, {{"slow", 10}, {"fast", 8}});
  run.records.launches[0].status = LaunchStatus::kContaminated;
  run.records.launches[0].reason = "the hypervisor took 9.0% of the CPU time (limit 5.0%)";
  return Judged(std::move(run));
}

SampleRun NothingTimed() {
  SampleRun run = Measured({"slow", "fast", "third"}, {{"slow", 10}, {"fast", 8}, {"third", 9}});
  run.records.launches.clear();
  return Judged(std::move(run));
}

SampleRun UnsupportedCase() {
  SampleRun run = ClearWin();
  run.manifest.unsupported = {{kCases[2], "fast", "head_dim 128 is more than 64"}};
  for (LaunchRecord& launch : run.records.launches) {
    if (launch.case_name != kCases[2]) continue;
    std::erase_if(launch.arms, [](const ArmSamples& arm) { return arm.variant == "fast"; });
    std::erase_if(launch.checks, [](const ArmCheck& check) { return check.variant == "fast"; });
    launch.slot_order = {0, 1};
  }
  std::erase_if(run.records.gates,
                [](const GateRecord& g) { return g.case_name == kCases[2] && g.variant == "fast"; });
  return Judged(std::move(run));
}

SampleRun Crossing() {
  const std::vector<std::string> variants = {"slow", "fast", "third"};
  SampleRun run = Measured(variants, {{"slow", 10}, {"fast", 8}, {"third", 20}});
  for (LaunchRecord& launch : run.records.launches) {
    if (launch.case_name != kCases[0]) continue;
    launch = SampleLaunch(run.manifest, kCases[0], launch.launch, {{"slow", 10}, {"fast", 12}, {"third", 11}},
                          kQuiet);
  }
  run.manifest.sweeps = {
      {"b1_h16_kv8_s*_bs64_hd128_bf16_decode", "context", {{kCases[0], 512}, {kCases[1], 4096}}},
      {"b*_h16_kv8_s4096_bs64_hd128_bf16_decode", "batch", {{kCases[1], 1}, {kCases[2], 4}}}};
  return Judged(std::move(run));
}

std::vector<RunKind> RunKinds() {
  return {{"ClearWin", ClearWin},
          {"AllTies", AllTies},
          {"OneVariant", OneVariant},
          {"FiveVariants", FiveVariants},
          {"Mixed", Mixed},
          {"Interrupted", Interrupted},
          {"NothingTimed", NothingTimed},
          {"GateFailed", GateFailed},
          {"Hung", Hung},
          {"Contaminated", Contaminated},
          {"Unsupported", UnsupportedCase},
          {"Crossing", Crossing}};
}

void PrintTo(const RunKind& kind, std::ostream* out) { *out << kind.name; }

}  // namespace pagoda::judge

#include "judge/report/sample_run.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace pagoda::judge {
namespace {

constexpr int kBlocks = 16;

Outcome MakeOutcome(Verdict verdict, double speedup, double half_width) {
  Outcome o;
  o.verdict = verdict;
  o.speedup = {speedup, speedup - half_width, speedup + half_width};
  o.speedup_typical = o.speedup;
  o.speedup_floor = o.speedup;
  o.p = 0.0005;
  o.p_adjusted = 0.003;
  o.mde = 0.013;
  o.null = {1.0, 0.998, 1.002};
  o.launches_planned = 12;
  o.launches_used = 12;
  return o;
}

Figures MakeFigures(const std::string& case_name, const std::string& variant, double us, double bound) {
  return {.case_name = case_name,
          .variant = variant,
          .device_us = us,
          .device_floor_us = us * 0.98,
          .host_us = us + 2,
          .samples = 384,
          .gb_per_s = 120 / us,
          .gflop_per_s = 480 / us,
          .bound_us = bound,
          .roofline_fraction = bound / us,
          .memory_bound = true,
          .suspect = bound > us,
          .max_abs_error = 3.14e-5,
          .bitwise = true};
}

CaseRanking MakeRanking(const std::string& case_name, const std::string& leader, const std::string& runner_up,
                        const std::vector<std::string>& winners, const Outcome& lead) {
  return {.case_name = case_name,
          .order = {leader, runner_up},
          .winners = winners,
          .leader = leader,
          .runner_up = runner_up,
          .lead = lead};
}

Contrast MakeContrast() {
  Contrast contrast;
  contrast.variant = "fast";
  contrast.baseline = "slow";
  contrast.cases = {{"b1_s128_bf16_decode", 1, MakeOutcome(Verdict::kWin, 1.25, 0.02),
                     MakeOutcome(Verdict::kTie, 1.004, 0.003), true},
                    {"b1_s512_bf16_decode", 1, MakeOutcome(Verdict::kLoss, 0.9, 0.01),
                     MakeOutcome(Verdict::kLoss, 0.92, 0.01), false},
                    {"b4_s512_bf16_decode", 1, MakeOutcome(Verdict::kInconclusive, 1.01, 0.03),
                     MakeOutcome(Verdict::kInconclusive, 1.008, 0.03), false}};
  Outcome& unsure = contrast.cases[2].device;
  unsure.reason = Reason::kUnderpowered;
  unsure.why = "1.010x [0.980, 1.040] with a spread of 4% between launches";
  unsure.next = "Run again with --launches 40.";
  unsure.launches_needed = 40;
  contrast.overall = MakeOutcome(Verdict::kInconclusive, 1.043, 0.011);
  contrast.overall.reason = Reason::kUnderpowered;
  contrast.overall.why = "one case has no verdict";
  contrast.overall.next = "Settle it first.";
  contrast.overall_host = MakeOutcome(Verdict::kTie, 0.976, 0.011);
  contrast.counts = {.win = 1, .loss = 1, .inconclusive = 1};
  contrast.counts_host = {.loss = 1, .tie = 1, .inconclusive = 1};
  return contrast;
}

// In [-1, 1], the same for the same arguments everywhere.
double Jitter(const std::string& case_name, int launch, int salt) {
  uint64_t hash = 1469598103934665603u;
  const auto mix = [&hash](uint64_t byte) { hash = (hash ^ byte) * 1099511628211u; };
  for (const char c : case_name) mix(static_cast<unsigned char>(c));
  for (int i = 0; i < 4; ++i) mix(static_cast<uint64_t>(launch * 31 + salt) >> (8 * i) & 255);
  return static_cast<double>(hash >> 11) / static_cast<double>(1ull << 52) - 1;
}

ArmSamples SampleArm(const std::string& variant, int link, double us) {
  ArmSamples arm;
  arm.variant = variant;
  arm.link = link;
  for (int i = 0; i < 2 * kBlocks; ++i) {
    const double wave = 1 + 0.001 * ((i * 7) % 5 - 2);
    arm.device_ns.push_back(1e3 * us * wave);
    arm.host_ns.push_back(1e3 * (us * wave + 2));
  }
  return arm;
}

}  // namespace

SampleRun HandMadeRun() {
  SampleRun run;
  run.manifest = SampleManifest({"b1_s128_bf16_decode", "b1_s512_bf16_decode", "b4_s512_bf16_decode"},
                                {"slow", "fast"}, 12);
  for (const ManifestCase& c : run.manifest.cases) {
    for (int launch = 0; launch < 12; ++launch) {
      run.records.launches.push_back(
          SampleLaunch(run.manifest, c.name, launch, {{"slow", 10}, {"fast", 8}}, 0.002));
    }
  }
  run.records.gates = SampleGates(run.manifest);

  RunVerdict& v = run.verdict;
  v.contrasts = {MakeContrast()};
  v.top = v.contrasts.front();
  v.verdict = Verdict::kInconclusive;
  v.reason = Reason::kUnderpowered;
  v.why = "one case has no verdict";
  v.next = "Run again with --launches 40.";
  v.winners = {"fast", "slow"};
  v.leader = "fast";
  v.runner_up = "slow";
  v.lead = v.top->overall.speedup;
  v.baseline = "slow";
  const auto& cases = v.contrasts.front().cases;
  v.cases = {
      MakeRanking(cases[0].case_name, "fast", "slow", {"fast"}, cases[0].device),
      MakeRanking(cases[1].case_name, "slow", "fast", {"slow"}, MakeOutcome(Verdict::kWin, 1.11, 0.01)),
      MakeRanking(cases[2].case_name, "fast", "slow", {"fast", "slow"}, cases[2].device)};
  const std::map<std::string, std::pair<double, double>> us = {
      {cases[0].case_name, {10, 8}}, {cases[1].case_name, {900, 1000}}, {cases[2].case_name, {40.4, 40}}};
  for (const CaseVerdict& c : cases) {
    v.figures.push_back(MakeFigures(c.case_name, "slow", us.at(c.case_name).first, 7.5));
    v.figures.push_back(MakeFigures(c.case_name, "fast", us.at(c.case_name).second, 7.5));
  }
  // The cube roots of 10 x 900 x 40.4 and of 8 x 1000 x 40.
  v.medians = {3, {{"slow", 71.374, 1, 1, 1}, {"fast", 68.399, 1.0435, 0.9, 1.25}}};
  v.null = {1.0, 0.998, 1.002};
  v.null_host = {1.001, 0.997, 1.004};
  v.mde = 0.013;
  v.null_spread_typical = 0.0031;
  v.null_spread_floor = 0.0042;
  v.gates_passed = v.gates_total = static_cast<int>(run.records.gates.size());
  v.bitwise_all = true;
  v.launches = {.planned = 36, .used = 36};
  v.differences = {{"b1_s128_bf16_decode", "fast", "slow", Verdict::kWin, Verdict::kTie}};
  v.recommendation.no_evidence = {"b4_s512_bf16_decode"};
  v.recommendation.sentences = {
      "Keep slow, the baseline: no variant beats it overall; between fast and slow there is no verdict (one "
      "case has no verdict).",
      "There is no evidence for or against it on b4_s512_bf16_decode."};
  return run;
}

Manifest SampleManifest(const std::vector<std::string>& cases, const std::vector<std::string>& variants,
                        int launches) {
  Manifest m;
  m.run_id = "sample";
  m.suite = "sample-suite";
  for (const std::string& name : cases) {
    m.cases.push_back({.name = name, .bytes = 1e5, .flops = 4e5, .run_bytes = 4096, .dtype = "bf16"});
  }
  m.variants = variants;
  m.baseline = variants.front();
  m.launches = launches;
  m.seed = 2026;
  m.threads = 2;
  m.time = "2026-03-01T12:00:00Z";
  m.command_line = "pagoda bench sample-suite --seed 2026";
  m.environment.cpu = "Example CPU";
  m.environment.isa = "avx2";
  m.environment.compiler = "g++ 12.2";
  m.environment.git_commit = "0123abc";
  m.ceilings.bandwidth = {{.run_bytes = 0, .threads = 2, .gb_per_s = 20}};
  m.ceilings.compute = {{.isa = "avx2", .dtype = "bf16", .threads = 2, .gflop_per_s = 100}};
  m.not_measured = {"other machines", "prefill"};
  return m;
}

LaunchRecord SampleLaunch(const Manifest& manifest, const std::string& case_name, int launch,
                          const std::map<std::string, double>& us, double spread) {
  LaunchRecord r;
  r.run_id = manifest.run_id;
  r.case_name = case_name;
  r.launch = launch;
  r.seed = static_cast<uint64_t>(launch) + 1;
  r.threads = manifest.threads;
  r.calls_per_epoch = 200;
  r.blocks = kBlocks;
  int salt = 0;
  for (const std::string& variant : manifest.variants) {
    r.arms.push_back(
        SampleArm(variant, 0, us.at(variant) * std::exp(spread * Jitter(case_name, launch, ++salt))));
  }
  r.arms.push_back(SampleArm(manifest.baseline, 1,
                             us.at(manifest.baseline) * std::exp(spread * Jitter(case_name, launch, 99))));
  for (size_t i = 0; i < r.arms.size(); ++i) {
    r.slot_order.push_back(static_cast<int>(i));
    r.checks.push_back({.variant = r.arms[i].variant,
                        .link = r.arms[i].link,
                        .passed = true,
                        .max_abs_error = 2e-5,
                        .fault = ""});
  }
  r.clock_resolution_ns = 20;
  r.before.load = 0.1;
  r.after.load = 0.25;
  r.after.steal = 0.001;
  r.elapsed_s = 1.5;
  return r;
}

std::vector<GateRecord> SampleGates(const Manifest& manifest) {
  std::vector<GateRecord> gates;
  for (const ManifestCase& c : manifest.cases) {
    for (const std::string& variant : manifest.variants) {
      for (const uint64_t seed : {1u, 2u}) {
        gates.push_back({.run_id = manifest.run_id,
                         .case_name = c.name,
                         .variant = variant,
                         .seed = seed,
                         .passed = true,
                         .bitwise_repeatable = true,
                         .same_bits_as = "",
                         .max_abs_error = 3.14e-5,
                         .fault = "",
                         .place = ""});
      }
    }
  }
  return gates;
}

}  // namespace pagoda::judge

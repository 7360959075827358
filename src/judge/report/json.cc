#include "judge/report/json.h"

#include <nlohmann/json.hpp>

#include "judge/report/facts.h"
#include "judge/report/warnings.h"

namespace pagoda::judge {
namespace {

// Writes a number that isn't finite as null.
using Json = nlohmann::ordered_json;

// For figures whose zero means "not known".
Json Known(double value) { return value > 0 ? Json(value) : Json(nullptr); }

Json ToJson(const Estimate& e) { return {{"value", e.value}, {"low", e.low}, {"high", e.high}}; }

Json ToJson(Reason reason) { return reason == Reason::kNone ? Json(nullptr) : Json(NameOf(reason)); }

Json ToJson(const Counts& c) {
  return {{"win", c.win},         {"tie", c.tie},        {"loss", c.loss}, {"inconclusive", c.inconclusive},
          {"invalid", c.invalid}, {"missing", c.missing}};
}

// Everything of an outcome but the ratio, whose name differs.
void AddOutcome(const Outcome& o, Json& json) {
  json["verdict"] = NameOf(o.verdict);
  json["strong"] = o.strong;
  json["reason"] = ToJson(o.reason);
  json["why"] = o.why;
  json["next"] = o.next;
  json["p"] = o.p;
  json["p_adjusted"] = o.p_adjusted;
  json["mde"] = o.mde;
  json["null"] = ToJson(o.null);
  json["launches"] = {{"planned", o.launches_planned},
                      {"used", o.launches_used},
                      {"left_out", o.launches_left_out},
                      {"needed", o.launches_needed > 0 ? Json(o.launches_needed) : Json(nullptr)}};
}

void AddFigures(const Figures* f, Json& json) {
  if (f == nullptr) return;
  json["host_us"] = f->host_us;
  json["device_us"] = f->device_us;
  json["device_floor_us"] = f->device_floor_us;
  json["gbps"] = f->gb_per_s;
  json["gflops"] = f->gflop_per_s;
  json["bound_us"] = Known(f->bound_us);
  json["roofline_fraction"] = Known(f->roofline_fraction);
  json["suspect"] = f->suspect;
  json["max_abs_error"] = f->max_abs_error;
  json["bitwise"] = f->bitwise;
}

Json ToJson(const RunVerdict& run, const Contrast& contrast, const CaseVerdict& c) {
  Json json = {{"case", c.case_name}, {"weight", c.weight}};
  AddOutcome(c.device, json);
  json["speedup"] = ToJson(c.device.speedup);
  json["speedup_typical"] = ToJson(c.device.speedup_typical);
  json["speedup_floor"] = ToJson(c.device.speedup_floor);
  const Figures* baseline = FindFigures(run, c.case_name, contrast.baseline);
  const Figures* variant = FindFigures(run, c.case_name, contrast.variant);
  json["baseline_us"] = baseline == nullptr ? Json(nullptr) : Json(baseline->device_us);
  json["variant_us"] = variant == nullptr ? Json(nullptr) : Json(variant->device_us);
  json["baseline_host_us"] = baseline == nullptr ? Json(nullptr) : Json(baseline->host_us);
  AddFigures(variant, json);
  AddOutcome(c.host, json["host"]);
  json["host"]["speedup"] = ToJson(c.host.speedup);
  json["host_differs"] = c.host_differs;
  return json;
}

Json ToJson(const RunVerdict& run, const Contrast& contrast) {
  Json json = {{"variant", contrast.variant}, {"baseline", contrast.baseline}};
  AddOutcome(contrast.overall, json);
  json["counts"] = ToJson(contrast.counts);
  json["geomean"] = ToJson(contrast.overall.speedup);
  AddOutcome(contrast.overall_host, json["host"]);
  json["host"]["counts"] = ToJson(contrast.counts_host);
  json["host"]["geomean"] = ToJson(contrast.overall_host.speedup);
  json["cases"] = Json::array();
  for (const CaseVerdict& c : contrast.cases) json["cases"].push_back(ToJson(run, contrast, c));
  return json;
}

Json RankingsToJson(const RunVerdict& run) {
  Json rankings = Json::array();
  for (const CaseRanking& r : run.cases) {
    rankings.push_back({{"case", r.case_name},
                        {"order", r.order},
                        {"winners", r.winners},
                        {"leader", r.leader},
                        {"runner_up", r.runner_up},
                        {"verdict", NameOf(r.lead.verdict)},
                        {"lead", ToJson(r.lead.speedup)}});
  }
  return rankings;
}

Json FiguresToJson(const RunVerdict& run) {
  Json figures = Json::array();
  for (const Figures& f : run.figures) {
    Json json = {{"case", f.case_name}, {"variant", f.variant}};
    AddFigures(&f, json);
    figures.push_back(std::move(json));
  }
  return figures;
}

Json ConditionsToJson(const Conditions& c) {
  if (c.good == 0) return nullptr;
  return {{"load", c.most_load},
          {"steal", c.most_steal},
          {"other_busy", c.most_other_busy},
          {"involuntary_switches", c.most_switches},
          {"frequency_mhz", {{"low", Known(c.least_mhz)}, {"high", Known(c.most_mhz)}}},
          {"temperature_c", Known(c.hottest_c)},
          {"throttle_events", c.throttle_events >= 0 ? Json(c.throttle_events) : Json(nullptr)},
          {"clock_resolution_ns", Known(c.clock_resolution_ns)}};
}

Json CeilingsToJson(const Ceilings& ceilings) {
  Json bandwidth = Json::array(), compute = Json::array();
  for (const BandwidthCeiling& c : ceilings.bandwidth) {
    bandwidth.push_back({{"run_bytes", c.run_bytes}, {"threads", c.threads}, {"gb_per_s", c.gb_per_s}});
  }
  for (const ComputeCeiling& c : ceilings.compute) {
    compute.push_back(
        {{"isa", c.isa}, {"dtype", c.dtype}, {"threads", c.threads}, {"gflop_per_s", c.gflop_per_s}});
  }
  return {{"bandwidth", bandwidth}, {"compute", compute}};
}

Json EnvironmentToJson(const Replay& replay) {
  const EnvironmentFacts& e = replay.manifest.environment;
  return {{"cpu", e.cpu},
          {"cpu_flags", e.cpu_flags},
          {"caches", e.caches},
          {"memory", e.memory},
          {"kernel", e.kernel},
          {"compiler", e.compiler},
          {"build_flags", e.build_flags},
          {"binary_hash", e.binary_hash},
          {"git_commit", e.git_commit},
          {"git_dirty", e.git_dirty},
          {"threads", replay.manifest.threads},
          {"ceilings", CeilingsToJson(replay.manifest.ceilings)},
          {"worst_during_launches", ConditionsToJson(ConditionsOf(replay.records))}};
}

Json ToJson(const LaunchCounts& n) {
  return {{"planned", n.planned}, {"used", n.used},     {"left_out", n.left_out},
          {"rerun", n.rerun},     {"failed", n.failed}, {"never_run", n.never_run}};
}

Json ToJson(const Recommendation& r) {
  Json prefer = Json::array();
  for (const Preference& p : r.prefer) {
    prefer.push_back({{"case", p.case_name}, {"variants", p.variants}, {"speedup", p.speedup}});
  }
  return {{"keep", r.keep.empty() ? Json(nullptr) : Json(r.keep)},
          {"prefer", prefer},
          {"either", r.either},
          {"no_evidence", r.no_evidence},
          {"avoid", r.avoid},
          {"sentences", r.sentences}};
}

Json WarningsToJson(const Replay& replay) {
  Json warnings = Json::array();
  for (const WarningText& w : WarningsOf(replay)) {
    warnings.push_back({{"kind", NameOf(w.kind)}, {"what", w.what}, {"next", w.next}});
  }
  return warnings;
}

Json DifferencesToJson(const RunVerdict& run) {
  Json differences = Json::array();
  for (const Difference& d : run.differences) {
    differences.push_back({{"case", d.case_name.empty() ? Json(nullptr) : Json(d.case_name)},
                           {"variant", d.variant},
                           {"baseline", d.baseline},
                           {"device", NameOf(d.device)},
                           {"host", NameOf(d.host)}});
  }
  return differences;
}

void AddRun(const Replay& replay, Json& json) {
  const Manifest& m = replay.manifest;
  json["run_id"] = m.run_id;
  json["suite"] = m.suite;
  json["time"] = m.time;
  json["command_line"] = m.command_line;
  json["seed"] = m.seed;
  json["delta"] = m.delta;
  json["variants"] = m.variants;
  json["programs"] = Json::array();
  for (const ManifestProgram& p : m.programs) {
    json["programs"].push_back({{"variant", p.name}, {"command", p.command}, {"about", p.about}});
  }
}

void AddVerdict(const RunVerdict& run, Json& json) {
  json["verdict"] = NameOf(run.verdict);
  json["strong"] = run.strong;
  json["reason"] = ToJson(run.reason);
  json["why"] = run.why;
  json["next"] = run.next;
  json["winners"] = run.winners;
  json["leader"] = run.leader;
  json["runner_up"] = run.runner_up;
  json["lead"] = run.top ? ToJson(run.lead) : Json(nullptr);
  json["baseline"] = run.baseline;
  json["statistic"] = NameOf(run.statistic);
  json["null"] = ToJson(run.null);
  json["null_host"] = ToJson(run.null_host);
  json["mde"] = run.mde;
}

}  // namespace

std::string JsonReport(const Replay& replay, const ReportPaths& paths, int indent) {
  const RunVerdict& run = replay.run;
  Json json = {{"schema", kReportSchema}};
  AddRun(replay, json);
  AddVerdict(run, json);
  json["contrasts"] = Json::array();
  for (const Contrast& contrast : run.contrasts) json["contrasts"].push_back(ToJson(run, contrast));
  json["cases"] = RankingsToJson(run);
  json["figures"] = FiguresToJson(run);
  json["gate"] = {{"passed", run.gates_passed},
                  {"missing", run.gates_missing},
                  {"total", run.gates_total},
                  {"bitwise", run.bitwise_all}};
  json["launches"] = ToJson(run.launches);
  json["host_differences"] = DifferencesToJson(run);
  json["warnings"] = WarningsToJson(replay);
  json["environment"] = EnvironmentToJson(replay);
  json["not_measured"] = NotMeasured(replay, kAllNames);
  json["recommendation"] = ToJson(run.recommendation);
  json["records"] = paths.records.empty() ? Json(nullptr) : Json(paths.records);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace pagoda::judge

#include "judge/report/json.h"

#include <nlohmann/json.hpp>

#include "judge/report/facts.h"
#include "judge/report/json_parts.h"
#include "judge/report/warnings.h"

namespace pagoda::judge {
namespace {

void AddFigures(const Figures* f, Json& json) {
  if (f == nullptr) return;
  json["host_us"] = f->host_us;
  json["device_us"] = f->device_us;
  json["device_floor_us"] = f->device_floor_us;
  json["samples"] = f->samples;
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

Json ToJson(const Crossover& x) {
  return {{"below", x.below},
          {"above", x.above},
          {"at", {{"value", Known(x.at.value)}, {"low", Known(x.at.low)}, {"high", Known(x.at.high)}}},
          {"below_until", x.below_until},
          {"above_from", x.above_from},
          {"first", x.first},
          {"last", x.last},
          {"launches", {{"used", x.launches}, {"left_out", x.launches_left_out}}}};
}

Json SweepsToJson(const RunVerdict& run) {
  Json sweeps = Json::array();
  for (const SweepVerdict& sweep : run.sweeps) {
    Json points = Json::array(), duels = Json::array();
    for (const SweepStanding& x : sweep.points) {
      points.push_back({{"case", x.case_name}, {"value", x.value}, {"winners", x.winners}});
    }
    for (const SweepDuel& duel : sweep.duels) {
      Json crossovers = Json::array();
      for (const Crossover& x : duel.crossovers) crossovers.push_back(ToJson(x));
      duels.push_back({{"a", duel.a},
                       {"b", duel.b},
                       {"course", NameOf(duel.course)},
                       {"ahead", duel.ahead.empty() ? Json(nullptr) : Json(duel.ahead)},
                       {"points", duel.points},
                       {"points_ahead", duel.points_ahead},
                       {"crossovers", crossovers}});
    }
    sweeps.push_back({{"sweep", sweep.name}, {"axis", sweep.axis}, {"points", points}, {"duels", duels}});
  }
  return sweeps;
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

Json ToJson(const Medians& medians) {
  Json variants = Json::array();
  for (const Medians::OfVariant& of : medians.variants) {
    variants.push_back({{"variant", of.variant},
                        {"geomean_us", of.geomean_us},
                        {"ratio", of.ratio},
                        {"least", of.least},
                        {"most", of.most}});
  }
  return {{"cases", medians.cases}, {"variants", variants}};
}

Json GateToJson(const Replay& replay) {
  const RunVerdict& run = replay.run;
  Json variants = Json::array();
  for (const GateTally& tally : GateTallies(replay.records)) {
    const bool promised = tally.same_bits > 0;
    variants.push_back({{"variant", tally.variant},
                        {"passed", tally.passed},
                        {"total", tally.total},
                        {"same_bits_as", promised ? Json(tally.same_bits_as) : Json(nullptr)},
                        {"same_bits", promised ? Json(tally.same_bits) : Json(nullptr)}});
  }
  return {{"passed", run.gates_passed},
          {"missing", run.gates_missing},
          {"total", run.gates_total},
          {"bitwise", run.bitwise_all},
          {"variants", variants}};
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
          {"isa", e.isa.empty() ? Json(nullptr) : Json(e.isa)},
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

Json RegretsToJson(const RunVerdict& run) {
  Json regrets = Json::array();
  for (const Regret& r : run.regrets) {
    Json cases = Json::array();
    for (const CaseRegret& c : r.cases)
      cases.push_back({{"case", c.case_name}, {"best", c.best}, {"regret", ToJson(c.regret)}});
    regrets.push_back(
        {{"chooser", r.chooser},
         {"median", r.median},
         {"worst", {{"case", r.worst.case_name}, {"best", r.worst.best}, {"regret", ToJson(r.worst.regret)}}},
         {"cases", cases}});
  }
  return regrets;
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

}  // namespace

std::string JsonReport(const Replay& replay, const ReportPaths& paths, int indent) {
  const RunVerdict& run = replay.run;
  Json json = {{"schema", kReportSchema}};
  AddRun(replay.manifest, json);
  AddVerdict(run, json);
  json["contrasts"] = Json::array();
  for (const Contrast& contrast : run.contrasts) json["contrasts"].push_back(ToJson(run, contrast));
  json["cases"] = RankingsToJson(run);
  json["regrets"] = RegretsToJson(run);
  json["sweeps"] = SweepsToJson(run);
  json["figures"] = FiguresToJson(run);
  json["medians"] = ToJson(run.medians);
  json["gate"] = GateToJson(replay);
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

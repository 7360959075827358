#include "judge/report/json_parts.h"

#include <nlohmann/json.hpp>

namespace pagoda::judge {

Json Known(double value) { return value > 0 ? Json(value) : Json(nullptr); }

Json ToJson(const Estimate& e) { return {{"value", e.value}, {"low", e.low}, {"high", e.high}}; }

Json ToJson(Reason reason) { return reason == Reason::kNone ? Json(nullptr) : Json(NameOf(reason)); }

Json ToJson(const Counts& c) {
  return {{"win", c.win},         {"tie", c.tie},        {"loss", c.loss}, {"inconclusive", c.inconclusive},
          {"invalid", c.invalid}, {"missing", c.missing}};
}

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

void AddRun(const Manifest& m, Json& json) {
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

}  // namespace pagoda::judge

#include <nlohmann/json.hpp>

#include "judge/report/comparison.h"
#include "judge/report/comparison_tables.h"
#include "judge/report/json_parts.h"

namespace pagoda::judge {
namespace {

Json RunToJson(const NamedReplay& run) {
  Json json = {{"directory", run.name}};
  AddRun(run.replay.manifest, json);
  AddVerdict(run.replay.run, json);
  return json;
}

// What a run said by itself.
Json OwnToJson(const Outcome& outcome) {
  return {{"verdict", NameOf(outcome.verdict)}, {"speedup", ToJson(outcome.speedup)}};
}

Json CaseToJson(const Change& change, const CaseVerdict& c) {
  Json json = {{"case", c.case_name}, {"weight", c.weight}};
  AddOutcome(c.device, json);
  json["change"] = ToJson(c.device.speedup);
  const CaseVerdict* before = FindCase(change.before, c.case_name);
  const CaseVerdict* after = FindCase(change.after, c.case_name);
  json["before"] = before == nullptr ? Json(nullptr) : OwnToJson(before->device);
  json["after"] = after == nullptr ? Json(nullptr) : OwnToJson(after->device);
  AddOutcome(c.host, json["host"]);
  json["host"]["change"] = ToJson(c.host.speedup);
  return json;
}

Json ChangeToJson(const Change& change) {
  Json json = {{"variant", change.change.variant}};
  AddOutcome(change.change.overall, json);
  json["counts"] = ToJson(change.change.counts);
  json["change"] = ToJson(change.change.overall.speedup);
  json["before"] = OwnToJson(change.before.overall);
  json["after"] = OwnToJson(change.after.overall);
  AddOutcome(change.change.overall_host, json["host"]);
  json["host"]["counts"] = ToJson(change.change.counts_host);
  json["host"]["change"] = ToJson(change.change.overall_host.speedup);
  json["cases"] = Json::array();
  for (const CaseVerdict& c : change.change.cases) json["cases"].push_back(CaseToJson(change, c));
  return json;
}

Json TimesToJson(const ComparedReplays& runs) {
  Json times = Json::array();
  for (const std::string& name : runs.comparison.cases) {
    for (const std::string& variant : runs.comparison.variants) {
      Json json = {{"case", name}, {"variant", variant}};
      for (const auto& [key, replay] : {std::pair{"before", &runs.before}, std::pair{"after", &runs.after}}) {
        const Figures* f = FindFigures(replay->run, name, variant);
        json[key] = f == nullptr ? Json(nullptr)
                                 : Json{{"device_us", f->device_us},
                                        {"host_us", f->host_us},
                                        {"roofline_fraction", Known(f->roofline_fraction)}};
      }
      times.push_back(std::move(json));
    }
  }
  return times;
}

Json WinnersToJson(const ComparedReplays& runs) {
  Json winners = Json::array();
  for (const CaseWinners& w : WinnersOf(runs)) {
    winners.push_back({{"case", w.case_name}, {"before", w.before}, {"after", w.after}, {"agree", w.agree}});
  }
  return winners;
}

Json DifferingToJson(const ComparedReplays& runs) {
  Json differing = Json::array();
  for (const DifferingFact& fact : DifferingFacts(runs.before.manifest, runs.after.manifest)) {
    differing.push_back({{"what", fact.what}, {"before", fact.before}, {"after", fact.after}});
  }
  return differing;
}

Json ToJson(const ComparisonReport& report, size_t i) {
  const Comparison& comparison = report.comparisons[i];
  const ComparedReplays runs{report.runs.front().replay, report.runs[i + 1].replay, comparison};
  Json json = {
      {"before", report.runs.front().name},
      {"after", report.runs[i + 1].name},
      {"baseline", comparison.baseline},
      {"statistic", NameOf(comparison.statistic)},
      {"only_before",
       {{"cases", comparison.cases_only_before}, {"variants", comparison.variants_only_before}}},
      {"only_after", {{"cases", comparison.cases_only_after}, {"variants", comparison.variants_only_after}}}};
  json["changes"] = Json::array();
  for (const Change& change : comparison.changes) json["changes"].push_back(ChangeToJson(change));
  json["times"] = TimesToJson(runs);
  json["winners"] = WinnersToJson(runs);
  json["differing"] = DifferingToJson(runs);
  return json;
}

}  // namespace

std::string ComparisonJson(const ComparisonReport& report) {
  Json json = {{"schema", kComparisonSchema}, {"kind", "comparison"}};
  json["runs"] = Json::array();
  for (const NamedReplay& run : report.runs) json["runs"].push_back(RunToJson(run));
  json["comparisons"] = Json::array();
  for (size_t i = 0; i < report.comparisons.size(); ++i) json["comparisons"].push_back(ToJson(report, i));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace pagoda::judge

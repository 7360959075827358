#include "judge/report/several.h"

#include <cmath>

#include "judge/report/numbers.h"
#include "judge/report/tables.h"

namespace pagoda::judge {
namespace {

std::string WithInterval(const Estimate& ratio) {
  return std::isfinite(ratio.value) ? RatioWithInterval(ratio.value, ratio.low, ratio.high) : "";
}

}  // namespace

Table RunsTable(const std::vector<NamedReplay>& runs) {
  Table table{
      .columns = {{"run"}, {"suite"}, {"verdict"}, {"leader"}, {"runner-up"}, {"lead"}, {"null arm"}}};
  for (const auto& [name, replay] : runs) {
    const RunVerdict& run = replay.run;
    table.rows.push_back({{.text = name, .code = true},
                          {replay.manifest.suite},
                          {std::string(NameOf(run.verdict)), InkOf(run.verdict)},
                          {.text = run.leader, .code = true},
                          {.text = run.runner_up, .code = true},
                          {run.top ? WithInterval(run.lead) : ""},
                          {WithInterval(run.null)}});
  }
  return table;
}

}  // namespace pagoda::judge

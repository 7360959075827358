// `pagoda list`: what there is.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/command.h"
#include "app/commands/console.h"
#include "app/commands/launch.h"
#include "app/commands/suite_source.h"
#include "app/subjects/attention_subject.h"
#include "app/subjects/case_facts.h"
#include "app/subjects/variant_info.h"
#include "base/listed.h"
#include "judge/bench/setup.h"
#include "judge/bench/suite.h"
#include "judge/bench/sweeps.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"

namespace pagoda::app {
namespace {

using nlohmann::json;

void ListVariants(bool as_json) {
  const std::vector<VariantInfo> variants = DescribeVariants();
  if (as_json) {
    json list = json::array();
    for (const VariantInfo& v : variants) {
      list.push_back({{"name", v.name},
                      {"operator", v.op},
                      {"summary", v.summary},
                      {"guarantees", v.guarantees},
                      {"limits", v.limits}});
    }
    fmt::print("{}\n", json({{"schema", 1}, {"variants", list}}).dump(2));
    return;
  }
  const bool colour = UsesColour(stdout);
  for (const VariantInfo& v : variants) {
    fmt::print("{}\n", judge::Inked(v.name, judge::Ink::kBold, colour));
    fmt::print("{}", judge::Wrapped(v.summary, 100, "  ", "  "));
    fmt::print("  operator:   {}\n", v.op);
    fmt::print("  guarantees: {}\n", v.guarantees.empty() ? "none" : Listed(v.guarantees));
    fmt::print("  limits:     {}\n", v.limits.empty() ? "none" : Listed(v.limits));
  }
}

void ListSuites(bool as_json) {
  json list = json::array();
  judge::Table table{{{"suite"}, {"cases", true}, {"about"}}, {}};
  for (const std::string& name : judge::SuiteNames()) {
    const judge::Suite suite = judge::LoadSuite(name);
    list.push_back({{"name", suite.name},
                    {"about", suite.about},
                    {"cases", suite.cases.size()},
                    {"variants", suite.variants},
                    {"baseline", suite.baseline}});
    table.rows.push_back({{suite.name}, {std::to_string(suite.cases.size())}, {suite.about}});
  }
  if (as_json) {
    fmt::print("{}\n", json({{"schema", 1}, {"suites", list}}).dump(2));
  } else {
    fmt::print("{}", judge::PlainTable(table, "", UsesColour(stdout)));
  }
}

json SweepsJson(const std::vector<judge::Sweep>& sweeps) {
  json list = json::array();
  for (const judge::Sweep& sweep : sweeps) {
    json points = json::array();
    for (const judge::SweepPoint& x : sweep.points)
      points.push_back({{"case", x.case_name}, {"value", x.value}});
    list.push_back({{"sweep", sweep.name}, {"axis", sweep.axis}, {"points", points}});
  }
  return list;
}

judge::Table SweepTable(const std::vector<judge::Sweep>& sweeps) {
  judge::Table table{{{"sweep"}, {"over"}, {"points"}}, {}};
  for (const judge::Sweep& sweep : sweeps) {
    std::vector<std::string> values;
    values.reserve(sweep.points.size());
    for (const judge::SweepPoint& point : sweep.points) values.push_back(judge::Count(point.value));
    table.rows.push_back({{sweep.name}, {sweep.axis}, {Listed(values)}});
  }
  return table;
}

void ListCases(const std::string& name, const std::string& trace_file, bool as_json) {
  const judge::Suite suite = OpenSuite(name, trace_file).suite;
  // A suite that no bench would take isn't shown as if it were fine.
  judge::MakeSetup(suite, {}, AttentionSubject({}, AskCommand()));
  const std::vector<judge::Sweep> sweeps = judge::SweepsOf(suite.cases);
  json list = json::array();
  judge::Table table{{{"case"}, {"operator"}, {"bytes", true}, {"MFLOP", true}, {"cache"}, {"weight", true}},
                     {}};
  for (const judge::CaseSpec& spec : suite.cases) {
    const judge::CaseFacts facts = FactsOf(spec);
    const char* cache = spec.cold ? "cold" : "warm";
    list.push_back({{"name", spec.name},
                    {"operator", NameOf(spec.op)},
                    {"bytes", facts.bytes},
                    {"flops", facts.flops},
                    {"run_bytes", facts.run_bytes},
                    {"cache", cache},
                    {"weight", spec.weight},
                    {"contexts", spec.contexts},
                    {"queries", spec.queries}});
    table.rows.push_back({{spec.name},
                          {std::string(NameOf(spec.op))},
                          {judge::Bytes(facts.bytes)},
                          {judge::Significant(facts.flops / 1e6)},
                          {cache},
                          {judge::Significant(spec.weight)}});
  }
  if (as_json) {
    fmt::print("{}\n",
               json({{"schema", 1}, {"suite", suite.name}, {"cases", list}, {"sweeps", SweepsJson(sweeps)}})
                   .dump(2));
    return;
  }
  fmt::print("{}", judge::PlainTable(table, "", UsesColour(stdout)));
  if (!sweeps.empty()) fmt::print("\n{}", judge::PlainTable(SweepTable(sweeps), "", UsesColour(stdout)));
}

CLI::App* AddPart(CLI::App& list, const std::string& name, const std::string& about,
                  const std::string& examples, bool& as_json) {
  CLI::App* part = list.add_subcommand(name, about);
  part->add_flag("--json", as_json, "One JSON object instead of a table");
  part->footer("Examples:\n" + examples);
  return part;
}

}  // namespace

void AddList(CLI::App& app, CommandContext&) {
  struct Options {
    bool json = false;
    std::string suite, trace;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* list = app.add_subcommand("list", "What there is: variants, suites, the cases of a suite");
  list->require_subcommand(1);
  list->footer("Examples:\n  pagoda list variants\n  pagoda list cases smoke --json");
  AddPart(*list, "variants", "Implementations with what they guarantee and what they can't do",
          "  pagoda list variants\n  pagoda list variants --json", options->json)
      ->callback([options] { ListVariants(options->json); });
  AddPart(*list, "suites", "Built-in suites of cases", "  pagoda list suites\n  pagoda list suites --json",
          options->json)
      ->callback([options] { ListSuites(options->json); });
  CLI::App* cases = AddPart(
      *list, "cases", "The cases of a suite with their bytes and FLOPs",
      "  pagoda list cases seed-paged-attention\n  pagoda list cases my-suite.toml --json", options->json);
  cases->add_option("SUITE", options->suite, "Name of a built-in suite, a TOML file, or a case file")
      ->required();
  cases->add_option("--trace", options->trace, kTraceHelp)->type_name("FILE");
  cases->callback([options] { ListCases(options->suite, options->trace, options->json); });
}

}  // namespace pagoda::app

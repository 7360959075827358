// `pagoda gate`: only the correctness gate.
#include "judge/bench/gate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/command.h"
#include "app/commands/console.h"
#include "app/commands/launch.h"
#include "app/commands/suite_source.h"
#include "app/commands/usage.h"
#include "app/subjects/attention_subject.h"
#include "app/subjects/program.h"
#include "base/sys/process.h"
#include "judge/bench/process_runner.h"
#include "judge/bench/setup.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"

namespace pagoda::app {
namespace {

using nlohmann::json;

struct GateOptions {
  std::string suite, trace;
  judge::Selection selection;
  std::vector<std::string> programs;
  bool json = false;
};

struct GateReport {
  std::vector<judge::GateRecord> results;
  std::vector<judge::Unsupported> skipped;
};

// In processes of its own, so that a variant that crashes or hangs is named and the others go on.
GateReport RunAll(const judge::RunSetup& setup, const std::vector<ProgramCommand>& programs,
                  const CommandContext& context) {
  KernelLibraryPath(0);  // one error of this process, where each of the others would have its own
  GateReport report{.results = {}, .skipped = setup.unsupported};
  const std::vector<judge::GateCase> cases = setup.GateCases();
  Progress progress("gate", cases.size(), context.quiet);
  const std::string mark = fmt::format("pagoda-gate-{}.mark", sys::OwnPid());
  judge::ProcessRunner runner(LaunchCommand(programs), std::filesystem::temp_directory_path() / mark,
                              [] { return false; });
  std::string shown;
  judge::RunGate("gate", cases, context.Threads(), {},
                 {.runner = runner,
                  .append = [&](const judge::GateRecord& record) { report.results.push_back(record); },
                  .stop = [] { return false; },
                  .progress =
                      [&](int64_t, int64_t, std::string_view case_name) {
                        if (shown != case_name) progress.Step(case_name);
                        shown = case_name;
                      }});
  return report;
}

void PrintJson(const GateOptions& options, const GateReport& report) {
  json runs = json::array();
  int64_t passed = 0;
  for (const judge::GateRecord& r : report.results) {
    passed += r.passed ? 1 : 0;
    runs.push_back({{"case", r.case_name},
                    {"variant", r.variant},
                    {"seed", r.seed},
                    {"passed", r.passed},
                    {"bitwise_repeatable", r.bitwise_repeatable},
                    {"same_bits_as", r.same_bits_as.empty() ? json(nullptr) : json(r.same_bits_as)},
                    {"max_abs_error", std::isfinite(r.max_abs_error) ? json(r.max_abs_error) : json(nullptr)},
                    {"fault", r.fault}});
  }
  json skipped = json::array();
  for (const judge::Unsupported& s : report.skipped) {
    skipped.push_back({{"case", s.case_name}, {"variant", s.variant}, {"reason", s.reason}});
  }
  fmt::print("{}\n", json({{"schema", 1},
                           {"suite", options.suite},
                           {"passed", passed},
                           {"total", report.results.size()},
                           {"runs", runs},
                           {"skipped", skipped}})
                         .dump(2));
}

// One row per case and variant, over all seeds.
void PrintTable(const GateReport& report, bool verbose) {
  const bool colour = UsesColour(stdout);
  judge::Table table{{{"case"}, {"variant"}, {"seeds", true}, {"largest error", true}, {"repeats"}, {""}},
                     {}};
  struct Row {
    std::string case_name, variant;
    int passed = 0, total = 0;
    double error = 0;
    bool bitwise = true;
  };
  std::vector<Row> rows;
  for (const judge::GateRecord& r : report.results) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& seen) {
      return seen.case_name == r.case_name && seen.variant == r.variant;
    });
    if (row == rows.end()) row = rows.insert(row, Row{r.case_name, r.variant});
    row->passed += r.passed ? 1 : 0;
    ++row->total;
    row->error = std::max(row->error, r.max_abs_error);
    row->bitwise = row->bitwise && r.bitwise_repeatable;
  }
  for (const Row& row : rows) {
    const bool ok = row.passed == row.total;
    if (ok && !verbose && rows.size() > 60) continue;
    table.rows.push_back({{row.case_name},
                          {row.variant},
                          {fmt::format("{}/{}", row.passed, row.total)},
                          {judge::Scientific(row.error)},
                          {row.bitwise ? "bitwise"
                           : ok        ? "within tolerance"
                                       : "n/a"},
                          {ok ? "ok" : "WRONG", ok ? judge::Ink::kGood : judge::Ink::kBad}});
  }
  if (!table.rows.empty()) fmt::print("{}\n", judge::PlainTable(table, "", colour));
  for (const judge::GateRecord& r : report.results) {
    if (!r.passed) fmt::print("{} {} seed {}: {}\n", r.case_name, r.variant, r.seed, judge::OneLine(r.fault));
  }
  for (const judge::Unsupported& s : report.skipped)
    fmt::print("not run: {} {}: {}\n", s.case_name, s.variant, s.reason);
}

int RunGateCommand(const GateOptions& options, const CommandContext& context) {
  const std::vector<ProgramCommand> programs = ParsePrograms(options.programs);
  AttentionSubject subject(programs, AskCommand());
  const SuiteSource source = OpenSuite(options.suite, options.trace);
  const judge::RunSetup setup =
      judge::MakeSetup(source.suite, WithPrograms(options.selection, programs), subject);
  subject.StopPrograms();
  RequireRunnable(setup);
  if (!OwnTensorsHold(source, setup.variants, context.Threads())) return kGateFailed;
  const GateReport report = RunAll(setup, programs, context);
  const auto passed = std::count_if(report.results.begin(), report.results.end(),
                                    [](const judge::GateRecord& r) { return r.passed; });
  const auto total = std::ssize(report.results);
  if (options.json) {
    PrintJson(options, report);
  } else {
    PrintTable(report, context.verbose);
    fmt::print("{}: {}/{} gate runs correct (seeds 2026, 2029, 2039)\n",
               passed == total ? "Correct" : "Wrong", passed, total);
  }
  return passed < total ? kGateFailed : kDone;
}

}  // namespace

void AddGate(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<GateOptions>();
  CLI::App* gate = app.add_subcommand("gate", "Prove variants correct on a suite; times nothing");
  gate->add_option("SUITE", options->suite, "Name of a built-in suite, a TOML file, or a case file")
      ->required();
  AddListOption(*gate, "--variants", options->selection.variants,
                "Variants, comma-separated (default: the suite's, else all)")
      ->type_name("A,B,...");
  AddProgramOption(*gate, options->programs);
  gate->add_option("--only", options->selection.only, "Cases whose name this regular expression (RE2) finds")
      ->type_name("REGEX");
  gate->add_option("--trace", options->trace, kTraceHelp)->type_name("FILE");
  gate->add_flag("--json", options->json, "One JSON object instead of a table");
  gate->footer(
      "Examples:\n"
      "  pagoda gate smoke\n"
      "  pagoda gate llm --variants gather,spmd_paged_attention --only s4096\n"
      "  pagoda gate smoke --program mine='python3 examples/external.py'\n"
      "Exit codes: 0 all correct, 2 bad usage or input, 3 a run failed, 5 it can't run here, 6 I/O or\n"
      "internal error.");
  gate->callback([options, &context] { context.exit_code = RunGateCommand(*options, context); });
}

}  // namespace pagoda::app

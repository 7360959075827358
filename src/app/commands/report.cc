// `pagoda report`: any format from saved records. It never measures.
#include "app/commands/report.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <system_error>
#include <utility>

#include "app/commands/command.h"
#include "app/commands/console.h"
#include "base/io/mapped_file.h"
#include "judge/record/jsonl.h"
#include "judge/report/comparison.h"
#include "judge/report/html.h"
#include "judge/report/json.h"
#include "judge/report/markdown.h"
#include "judge/report/terminal.h"
#include "judge/verdict/comparison.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr const char* kManifestFile = "manifest.json";
constexpr const char* kRecordsFile = "records.jsonl";

struct ReportOptions {
  std::vector<std::string> directories;
  std::string format = "terminal";
  bool json = false;

  ReportFormat Format() const {
    if (json || format == "json") return ReportFormat::kJson;
    if (format == "html") return ReportFormat::kHtml;
    return format == "markdown" ? ReportFormat::kMarkdown : ReportFormat::kTerminal;
  }
};

void RequireRunDirectory(const std::filesystem::path& directory) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, directory.string(),
                "is not a directory; `pagoda bench SUITE --out DIR` makes one");
  }
  for (const char* file : {kManifestFile, kRecordsFile}) {
    if (std::filesystem::exists(directory / file, ignored)) continue;
    throw Error(ErrorCode::kInvalidArgument, directory.string(),
                fmt::format("holds no {}; give a directory that `pagoda bench` wrote", file));
  }
}

std::string SeveralRuns(const std::vector<SavedRun>& runs, ReportFormat format, bool colour) {
  std::vector<judge::ComparedRun> compared;
  std::vector<judge::NamedReplay> named;
  for (const SavedRun& run : runs) {
    compared.push_back({run.directory.string(), run.manifest, run.records});
    named.push_back({run.directory.string(), run.AsReplay()});
  }
  const std::vector<judge::Comparison> comparisons = judge::CompareRuns(compared);
  const judge::ComparisonReport report{named, comparisons};
  switch (format) {
    case ReportFormat::kTerminal:
      return judge::ComparisonTerminal(report, colour);
    case ReportFormat::kMarkdown:
      return judge::ComparisonMarkdown(report);
    case ReportFormat::kJson:
      return judge::ComparisonJson(report);
    case ReportFormat::kHtml:
      break;
  }
  throw Error(ErrorCode::kInvalidArgument, "--format html",
              "makes a page of one run; take terminal, markdown or json for several");
}

std::string OneRun(const SavedRun& run, ReportFormat format, bool colour) {
  const judge::ReportPaths paths{.records = run.RecordsPath(), .reports = {}};
  switch (format) {
    case ReportFormat::kTerminal:
      return judge::TerminalReport(run.AsReplay(), paths, {.colour = colour});
    case ReportFormat::kMarkdown:
      return judge::MarkdownReport(run.AsReplay(), paths);
    case ReportFormat::kJson:
      return judge::JsonReport(run.AsReplay(), paths, 2);
    case ReportFormat::kHtml:
      return judge::HtmlReport(run.AsReplay(), paths);
  }
  return "";
}

void Print(const ReportOptions& options) {
  std::vector<SavedRun> runs;
  runs.reserve(options.directories.size());
  for (const std::string& directory : options.directories) runs.push_back(LoadRun(directory));
  fmt::print("{}", ReportText(runs, options.Format(), UsesColour(stdout)));
}

}  // namespace

std::string SavedRun::RecordsPath() const { return (directory / kRecordsFile).string(); }

SavedRun LoadRun(const std::filesystem::path& directory) {
  RequireRunDirectory(directory);
  SavedRun run;
  run.directory = directory;
  run.manifest = judge::ReadManifest(directory / kManifestFile);
  run.records = judge::ReadRecords(directory / kRecordsFile);
  if (run.records.launches.empty() && run.records.gates.empty()) {
    throw Error(ErrorCode::kInvalidArgument, run.RecordsPath(),
                "holds no record yet; run the bench command again with --resume");
  }
  run.verdict = judge::Judge(run.manifest, run.records);
  return run;
}

std::string ReportText(const std::vector<SavedRun>& runs, ReportFormat format, bool colour) {
  return runs.size() == 1 ? OneRun(runs.front(), format, colour) : SeveralRuns(runs, format, colour);
}

std::vector<std::string> WriteReports(const SavedRun& run) {
  std::vector<std::string> written;
  for (const auto& [file, format] :
       {std::pair{"report.md", ReportFormat::kMarkdown}, std::pair{"report.json", ReportFormat::kJson},
        std::pair{"report.html", ReportFormat::kHtml}}) {
    const std::filesystem::path path = run.directory / file;
    io::WriteFileAtomically(path, OneRun(run, format, false));
    written.push_back(path.string());
  }
  return written;
}

void AddReport(CLI::App& app, CommandContext& context) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand(
      "report", "Report on a saved run, or compare later runs with the first; never measures");
  command
      ->add_option("DIR", options->directories,
                   "Directories that `pagoda bench` wrote: one to report on, or OLD NEW ... to compare")
      ->required();
  auto* format = command
                     ->add_option("--format", options->format,
                                  "Of the report; a page (html) is of one run (default: terminal)")
                     ->check(CLI::IsMember({"terminal", "markdown", "json", "html"}).description(""))
                     ->type_name("terminal|markdown|json|html");
  command->add_flag("--json", options->json, "The same as --format json")->excludes(format);
  command->footer(
      "Examples:\n"
      "  pagoda report runs/2026-03-01\n"
      "  pagoda report runs/2026-03-01 --format markdown > report.md\n"
      "  pagoda report runs/2026-03-01 --format html > report.html   (opens without a network)\n"
      "  pagoda report runs/yesterday runs/today     (or: machine A, machine B)\n"
      "Several runs: did the speed-up of a variant over the baseline change since the first run? By the rule "
      "of\n"
      "`bench`, over all cases of both. Raw times stand beside it without a verdict: two runs aren't paired "
      "in\n"
      "time. Of one change of code, `bench --baseline-lib` sees more. Runs of another delta, without a "
      "common\n"
      "case or the first run's baseline, or with another problem under a common name are refused.\n"
      "Exit codes: 0 done, 2 no such run, a broken record (its line is named) or runs that can't be "
      "compared,\n"
      "6 I/O error.");
  command->callback([options, &context] {
    Print(*options);
    context.exit_code = kDone;
  });
}

}  // namespace pagoda::app

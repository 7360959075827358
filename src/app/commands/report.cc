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
#include "judge/report/html.h"
#include "judge/report/json.h"
#include "judge/report/markdown.h"
#include "judge/report/several.h"
#include "judge/report/terminal.h"
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
  std::vector<judge::NamedReplay> named;
  named.reserve(runs.size());
  for (const SavedRun& run : runs) named.push_back({run.directory.string(), run.AsReplay()});
  const judge::Table table = judge::RunsTable(named);
  return (format == ReportFormat::kMarkdown ? judge::MarkdownTable(table)
                                            : judge::PlainTable(table, "", colour)) +
         '\n';
}

std::string OneRun(const SavedRun& run, ReportFormat format, bool colour, bool alone) {
  const judge::ReportPaths paths{.records = run.RecordsPath(), .reports = {}};
  switch (format) {
    case ReportFormat::kTerminal:
      return judge::TerminalReport(run.AsReplay(), paths, {.colour = colour});
    case ReportFormat::kMarkdown:
      return judge::MarkdownReport(run.AsReplay(), paths);
    case ReportFormat::kJson:
      return judge::JsonReport(run.AsReplay(), paths, alone ? 2 : -1);
    case ReportFormat::kHtml:
      return judge::HtmlReport(run.AsReplay(), paths);
  }
  return "";
}

void Print(const ReportOptions& options) {
  if (options.Format() == ReportFormat::kHtml && options.directories.size() > 1) {
    throw Error(ErrorCode::kInvalidArgument, "--format html", "makes a page of one run; give one directory");
  }
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
  const bool alone = runs.size() == 1;
  std::string text;
  if (!alone && format != ReportFormat::kJson) text = SeveralRuns(runs, format, colour);
  for (const SavedRun& run : runs) {
    if (!alone && format == ReportFormat::kTerminal) {
      text += judge::Inked(judge::OneLine(run.directory.string()), judge::Ink::kBold, colour) + '\n';
    }
    text += OneRun(run, format, colour, alone);
    if (&run != &runs.back() && format != ReportFormat::kJson) text += '\n';
  }
  return text;
}

std::vector<std::string> WriteReports(const SavedRun& run) {
  std::vector<std::string> written;
  for (const auto& [file, format] :
       {std::pair{"report.md", ReportFormat::kMarkdown}, std::pair{"report.json", ReportFormat::kJson},
        std::pair{"report.html", ReportFormat::kHtml}}) {
    const std::filesystem::path path = run.directory / file;
    io::WriteFileAtomically(path, OneRun(run, format, false, true));
    written.push_back(path.string());
  }
  return written;
}

void AddReport(CLI::App& app, CommandContext& context) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Report on saved runs; never measures");
  command->add_option("DIR", options->directories, "Directories that `pagoda bench` wrote")->required();
  auto* format = command->add_option("--format", options->format, "terminal, markdown, json or html")
                     ->check(CLI::IsMember({"terminal", "markdown", "json", "html"}).description(""))
                     ->type_name("FORMAT");
  command->add_flag("--json", options->json, "The same as --format json")->excludes(format);
  command->footer(
      "Examples:\n"
      "  pagoda report runs/2026-03-01\n"
      "  pagoda report runs/2026-03-01 --format markdown > report.md\n"
      "  pagoda report runs/2026-03-01 --format html > report.html   (opens without a network)\n"
      "Exit codes: 0 done, 2 no such run or a broken record (its line is named), 6 I/O error.\n"
      "--json of several runs is one object a line.");
  command->callback([options, &context] {
    Print(*options);
    context.exit_code = kDone;
  });
}

}  // namespace pagoda::app

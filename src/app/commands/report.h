// Saved runs and their reports: what `pagoda report` prints and what `pagoda bench` writes into its
// directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/report/replay.h"

namespace pagoda::app {

// A run read back from its directory and judged again.
struct SavedRun {
  std::filesystem::path directory;
  judge::Manifest manifest;
  judge::Records records;
  judge::RunVerdict verdict;

  judge::Replay AsReplay() const { return {manifest, records, verdict}; }
  std::string RecordsPath() const;
};

// Reads manifest.json and records.jsonl. Throws Error (kInvalidArgument) when the directory or one of the
// files isn't there, when there is no record yet, and for a broken line, which it names.
SavedRun LoadRun(const std::filesystem::path& directory);

enum class ReportFormat : unsigned char { kTerminal, kMarkdown, kJson, kHtml };

// The report of one run, or each later run compared with the first, as printed; at least one. HTML is a page
// of one run. Throws Error (kInvalidArgument) for runs that can't be compared.
std::string ReportText(const std::vector<SavedRun>& runs, ReportFormat format, bool colour);

// Writes report.md, report.json and report.html into the run's directory and returns their paths.
std::vector<std::string> WriteReports(const SavedRun& run);

}  // namespace pagoda::app

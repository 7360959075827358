// Several runs, each against the first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "judge/report/several.h"
#include "judge/verdict/comparison.h"

namespace pagoda::judge {

// Raised whenever a reader of the old version would misread the new one. New fields don't raise it.
inline constexpr int kComparisonSchema = 1;

// `comparisons` is CompareRuns of `runs`, at least two. They outlive the call.
struct ComparisonReport {
  const std::vector<NamedReplay>& runs;
  const std::vector<Comparison>& comparisons;
};

// The table of runs; then for each later run what differs, what changed, what can't be said, raw times, and
// where another variant is fastest.
std::string ComparisonTerminal(const ComparisonReport& report, bool colour, size_t width = 100);
std::string ComparisonMarkdown(const ComparisonReport& report);
// One indented object; its fields are listed in docs/report-json.md.
std::string ComparisonJson(const ComparisonReport& report);

}  // namespace pagoda::judge

// report.json: one object, for programs.
#pragma once

#include <string>

#include "judge/report/replay.h"

namespace pagoda::judge {

// Raised whenever a reader of the old version would misread the new one. New fields don't raise it.
inline constexpr int kReportSchema = 1;

// An object, indented by `indent` spaces, or on one line if it is negative. Numbers are not rounded; a number
// that isn't known or isn't finite is null. Ratios are t_baseline / t_variant. Times are microseconds of one
// call. The fields are listed in docs/report-json.md.
std::string JsonReport(const Replay& replay, const ReportPaths& paths, int indent);

}  // namespace pagoda::judge

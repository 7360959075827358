// A report to paste into an issue or a pull request (GitHub Flavored Markdown).
#pragma once

#include <string>

#include "judge/report/replay.h"

namespace pagoda::judge {

// Headline, answer, losses and inconclusives with reasons, tables; then, folded, environment, command,
// protocol and the path of the raw data; then what was not measured.
std::string MarkdownReport(const Replay& replay, const ReportPaths& paths);

}  // namespace pagoda::judge

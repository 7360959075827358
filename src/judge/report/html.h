// report.html: one page with plots, for a browser. It needs no network, and no script to be read.
#pragma once

#include <string>

#include "judge/report/replay.h"

namespace pagoda::judge {

// The answer, correctness and warnings; then speedups, losses and inconclusives with reasons, the table of
// cases, roofline and host time; then, folded, environment, command, protocol and the path of the raw data;
// then what was not measured. The same arguments give the same bytes.
std::string HtmlReport(const Replay& replay, const ReportPaths& paths);

}  // namespace pagoda::judge

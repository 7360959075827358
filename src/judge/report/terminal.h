// A report for a terminal: the answer first, then how sure it is, then the tables.
#pragma once

#include <cstddef>
#include <string>

#include "judge/report/replay.h"

namespace pagoda::judge {

struct TerminalOptions {
  bool colour = false;  // the caller knows whether it writes to a terminal, and NO_COLOR
  bool full = true;  // a row per case and variant with intervals, host time and roofline; else a row per case
  size_t width = 100;        // sentences break here; tables are as wide as their cells
  size_t most_troubles = 8;  // entries of each verdict; the rest is counted
};

std::string TerminalReport(const Replay& replay, const ReportPaths& paths, const TerminalOptions& options);

}  // namespace pagoda::judge

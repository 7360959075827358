// The table of cases of report.html.
#pragma once

#include <string>

#include "judge/report/replay.h"

namespace pagoda::judge {

// A row for each case and variant with every figure, and the form that report.js filters the rows by. It is
// hidden where no script runs; the table is complete without. HTML.
std::string CaseTable(const Replay& replay);

}  // namespace pagoda::judge

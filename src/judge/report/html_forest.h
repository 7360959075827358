// The forest plot of report.html.
#pragma once

#include <string>

#include "judge/report/replay.h"

namespace pagoda::judge {

// Every case with its variants' speedups over the baseline and their intervals on one logarithmic axis, the
// null arm below them, all cases together last. A sentence when there is no speedup. HTML.
std::string ForestPlot(const Replay& replay);

}  // namespace pagoda::judge

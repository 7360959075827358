// The plots of report.html with a point for each case and variant.
#pragma once

#include <string>

#include "judge/report/replay.h"

namespace pagoda::judge {

// GFLOP/s over FLOP/byte under the machine's ceilings (Williams, Waterman and Patterson, CACM 52, 2009). A
// sentence when there are no ceilings or nothing was timed. HTML.
std::string RooflinePlot(const Replay& replay);

// Host time / device time over device time. A sentence when nothing was timed. HTML.
std::string HostPlot(const Replay& replay);

}  // namespace pagoda::judge

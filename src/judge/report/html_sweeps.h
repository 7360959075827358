// The sweeps of report.html.
#pragma once

#include <string>

#include "judge/report/replay.h"

namespace pagoda::judge {

// For each sweep whose lead changes what it says, its curves with the crossovers marked, and who is ahead
// where; for all others one sentence, and their curves folded. Empty where the run has no sweep. HTML.
std::string SweepSection(const Replay& replay);

}  // namespace pagoda::judge

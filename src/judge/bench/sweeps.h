// Sweeps: cases of a suite that differ in one number only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "judge/bench/suite.h"
#include "judge/record/record.h"

namespace pagoda::judge {

// What a suite may sweep over: "context", "batch", "page_size", "ratio" (query heads / kv heads), "queries".
std::vector<std::string> SweepAxisNames();

// Makes the cases of one grid points of sweeps over an axis of this name. Throws Error(phase) where sequences
// of a batch differ, and Error(heads) where neither query heads nor kv heads stay the same over a ratio.
void MarkSwept(std::string_view axis, std::vector<CaseSpec>& cases);

// Cases that are marked for an axis and alike in all else are one sweep, wherever they stand in the list; a
// case without such neighbours is on none. In the order of their first cases. Throws Error(sweep) where two
// cases of a sweep have one value.
std::vector<Sweep> SweepsOf(const std::vector<CaseSpec>& cases);

// Whether one of the sweeps over an axis of this name passes through the case.
bool IsSwept(std::string_view case_name, std::string_view axis, const std::vector<Sweep>& sweeps);

}  // namespace pagoda::judge

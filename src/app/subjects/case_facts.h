// What the formulas of a case give.
#pragma once

#include <cstdint>

#include "judge/bench/subject.h"

namespace pagoda::app {

// 2 * Hq * (D + Dv) FLOPs for each visible (row, key) pair, by a dense mask for each query head that sees it;
// Hk * (D + Dv) elements for each key that any row sees, one that sequences share counted once; runs of one
// page of K (of K and V where they are combined), contiguous keys a stream.
judge::CaseFacts FactsOf(const judge::CaseSpec& spec);

// Bytes that calls must rotate over to find the caches cold: four times the last-level cache or 256 MB.
int64_t ColdBytes();

}  // namespace pagoda::app

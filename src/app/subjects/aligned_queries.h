// Queries that look at chosen keys, so that a lost one shows in a long context.
#pragma once

#include <cstdint>
#include <vector>

#include "app/subjects/page_layout.h"
#include "base/random.h"
#include "judge/bench/suite.h"
#include "pagoda/softmax.h"

namespace pagoda::app {

// Overwrites, in the last query row of each sequence that sees a key, the queries of up to four heads, spread
// over the kv heads: aligned with the first key that the row sees, one in the middle, one in the last full
// page and the last key. With fewer than four heads, earlier rows help, then one query is aligned with
// several keys. Returns the rows.
std::vector<int64_t> AlignQueries(const judge::CaseSpec& spec, const PageLayout& layout,
                                  const SoftmaxCall& call, Random random);

}  // namespace pagoda::app

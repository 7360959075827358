// Lengths of the sequences of a batch: drawn from a distribution, or taken from a trace of requests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/io/trace.h"

namespace pagoda::judge {

// A distribution of lengths: the share shares[i] of all sequences is at most tokens[i] long.
struct LengthQuantiles {
  std::vector<double> shares;   // rising, from 0 to 1
  std::vector<int64_t> tokens;  // as many, from 1 on, not falling
};

// Throws Error(quantiles) or Error(tokens).
void CheckQuantiles(const LengthQuantiles& quantiles);

// One length from each of `batch` equally likely parts of the distribution, in random order: a batch of 16
// then has long and short sequences as the whole has. By the inverse of the distribution, with straight lines
// between the quantiles on a log axis: against the published means of request traces that is off by 0 to 3%,
// on a linear axis by 4 to 7%.
std::vector<int64_t> DrawLengths(const LengthQuantiles& quantiles, int64_t batch, uint64_t seed);

struct TraceBatch {
  std::vector<int64_t> contexts;             // input tokens
  std::vector<std::vector<int64_t>> blocks;  // as in CaseSpec; empty where the trace has none
};

// `batch` requests one after the other from a row that the seed draws: what arrives together is served
// together, and shares its prefixes. Throws Error(--trace) where the trace has fewer.
TraceBatch TakeBatch(const io::RequestTrace& trace, int64_t batch, uint64_t seed);

// The trace's file name without folders and ending, fit for the name of a case.
std::string TraceLabel(const io::RequestTrace& trace);

}  // namespace pagoda::judge

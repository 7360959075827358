// The fp64 oracle of softmax attention: the formulas, and nothing of any variant.
#pragma once

#include <cstdint>
#include <vector>

#include "pagoda/softmax.h"

namespace pagoda {

struct OracleOptions {
  // Above this many floating-point operations only a sample of query rows is computed: the first and the last
  // of the batch, those of `rows`, and `sample` more drawn from `seed`.
  double max_flops = 20e9;
  int64_t sample = 32;
  uint64_t seed = 0;
  std::vector<int64_t> rows;  // rows of q that a sample has to hold; others may be added
};

struct OracleResult {
  std::vector<int64_t> rows;  // the rows of q that were computed, ascending; all of them unless sampled
  std::vector<double> out;    // [rows, Hq, Dv]
  std::vector<double> lse;    // [rows, Hq], natural log, counts the sink; -inf where nothing is visible
  // [rows, Hq], as root mean square over Dv: the row, or the root of the sum of (p * v)^2 over its keys where
  // that is larger, because the terms happen to cancel. What rounding errors of a right kernel are relative
  // to.
  std::vector<double> magnitude;
  bool sampled = false;
};

// Floating-point operations of a batch: 2 * Hq * (D + Dv) for each visible (row, key) pair.
double SoftmaxFlops(const SoftmaxBatch& batch);

// Softmax attention of `call` in fp64 over the values as stored. `batch` has passed Normalise. Only q, kv,
// alibi_slopes and sinks of the call are read, never out or lse. A pool, if given, shares the work.
OracleResult SoftmaxOracle(const SoftmaxBatch& batch, const SoftmaxCall& call,
                           const OracleOptions& options = {}, ThreadPool* pool = nullptr);

}  // namespace pagoda

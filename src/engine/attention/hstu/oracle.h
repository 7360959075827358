// The fp64 oracle of HSTU attention: the formulas, and nothing of any variant.
#pragma once

#include "engine/attention/oracle.h"
#include "pagoda/hstu.h"

namespace pagoda {

// Floating-point operations of a batch: 2 * Hq * (D + Dv) for each visible (row, key) pair.
double HstuFlops(const HstuBatch& batch);

// HSTU attention of `call` in fp64 over the values as stored, as SoftmaxOracle; there is no lse. `batch` has
// passed Normalise.
OracleResult HstuOracle(const HstuBatch& batch, const HstuCall& call, const OracleOptions& options = {},
                        ThreadPool* pool = nullptr);

}  // namespace pagoda

// Query rows in the panels that the GEMM reads: [rows / lanes][dim][lanes].
#pragma once

#include <cstdint>

#include "engine/attention/kernels/kernels.h"
#include "engine/attention/keys.h"

namespace pagoda {

// Puts a row of q, times `scale`, into its lane. `panels` are those of its head, each dim_pad(dim) * lanes
// long so that packed rows need the same room; `natural` has room for dim_pad(dim) floats.
inline void PackIntoPanel(const AttentionKernels& kernels, const void* row, DType dtype, int64_t dim,
                          float scale, int64_t nth, float* natural, float* panels) {
  const int64_t ld = kernels.dim_pad(dim);
  kernels.widen_rows(dtype, DenseRun(row, 1, dim), natural, ld);
  const int64_t lane = nth % kernels.lanes;
  float* panel = panels + (nth - lane) * ld + lane;
  for (int64_t d = 0; d < dim; ++d) panel[d * kernels.lanes] = scale * natural[d];
}

}  // namespace pagoda

// What the oracles read with: conversions of their own, so that a wrong one elsewhere can't hide by being
// used on both sides.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/attention/oracle.h"
#include "pagoda/tensor.h"

namespace pagoda {

// Element `i` (an offset in elements) of a float array.
double FloatAt(const void* data, DType dtype, int64_t i);
// Of an i32 or i64 tensor.
int64_t IndexAt(const TensorView& t, int64_t i, int64_t j = 0);
double Dot(const double* a, const double* b, int64_t n);
// All rows of [0, total), or a sample by the options.
std::vector<int64_t> RowsToCompute(int64_t total, const OracleOptions& options, bool sampled);

}  // namespace pagoda

// Random and poisoned contents of tensors.
#pragma once

#include <cstdint>

#include "pagoda/tensor.h"

namespace pagoda::app {

// Normal values with variance 1, rounded to `dtype` (f32, f16, bf16). Fast enough for pools of gigabytes:
// values come from 4,096 quantiles.
void FillNormal(void* data, DType dtype, int64_t elements, uint64_t seed);
// `count` NaNs from element `first` on.
void FillNaN(void* data, DType dtype, int64_t first, int64_t count);

double ReadElement(const void* data, DType dtype, int64_t i);
// Rounded to `dtype`.
void WriteElement(void* data, DType dtype, int64_t i, double value);

}  // namespace pagoda::app

// An output against what it should be, element by element.
#pragma once

#include <cstdint>
#include <string>

#include "engine/attention/oracle.h"
#include "pagoda/tensor.h"

namespace pagoda::app {

// |got - want| <= atol + rtol * |want|.
struct Tolerance {
  double atol = 0;
  double rtol = 0;
  // Multiplies atol by min(1, the wanted row's magnitude): outputs shrink with the number of keys, and at a
  // fixed atol a whole missing page passes at 16,384 of them. Not for the LSE.
  bool scale_by_row = false;
};

// What a gate allows for a dtype: f32 1e-5, f16 1e-3, bf16 8e-3, both atol and rtol.
Tolerance GateTolerance(DType dtype);

struct Comparison {
  int64_t compared = 0;
  int64_t outside = 0;       // elements outside the tolerance; NaN always is
  double max_abs_error = 0;  // infinite if something is NaN
  // The element furthest outside or, if all are inside, the one with the largest error.
  bool of_lse = false;
  int64_t row = 0, head = 0, dim = 0;
  double got = 0, want = 0, allowed = 0;

  bool passed() const { return outside == 0; }
};

// Compares out [total_q, Hq, Dv] (f32, f16, bf16, f64) and, where both are there, lse [total_q, Hq] with the
// rows that `want` holds. Equal infinities agree.
Comparison Compare(const TensorView& out, const TensorView& lse, const OracleResult& want,
                   const Tolerance& tolerance);

// "o[3][12][5] = 0.113, expected 0.25 +- 0.0031": the element of a comparison.
std::string DescribeElement(const Comparison& comparison);

}  // namespace pagoda::app

// Index tensors for tests: i32 or i64, dense or strided, ending where memory ends.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/memory.h"
#include "pagoda/tensor.h"

namespace pagoda::testing {

class IndexTensor {
 public:
  // One dimension. Between elements that are |stride| apart lies garbage; a negative stride runs backwards.
  explicit IndexTensor(const std::vector<int64_t>& values, DType dtype = DType::kI32, int64_t stride = 1);
  // [rows, columns], row-major values.
  IndexTensor(const std::vector<int64_t>& values, int64_t rows, int64_t columns, DType dtype,
              int64_t row_stride, int64_t column_stride);

  const TensorView& view() const { return view_; }

 private:
  GuardedMemory memory_;
  TensorView view_;
};

}  // namespace pagoda::testing

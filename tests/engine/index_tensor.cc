#include "engine/index_tensor.h"

#include <cstdlib>

namespace pagoda::testing {
namespace {

void Put(std::byte* base, DType dtype, int64_t at, int64_t value) {
  if (dtype == DType::kI32) {
    reinterpret_cast<int32_t*>(base)[at] = static_cast<int32_t>(value);
  } else {
    reinterpret_cast<int64_t*>(base)[at] = value;
  }
}

// Elements between the first and one past the last of `count` that are |stride| apart.
int64_t Extent(int64_t count, int64_t stride) { return count == 0 ? 0 : (count - 1) * std::abs(stride) + 1; }

}  // namespace

IndexTensor::IndexTensor(const std::vector<int64_t>& values, DType dtype, int64_t stride)
    : memory_(static_cast<size_t>(Extent(static_cast<int64_t>(values.size()), stride) * SizeOf(dtype))) {
  const auto count = static_cast<int64_t>(values.size());
  const int64_t extent = Extent(count, stride);
  for (int64_t i = 0; i < extent; ++i) Put(memory_.data(), dtype, i, -123456789);
  const int64_t first = stride < 0 && count > 0 ? extent - 1 : 0;
  for (int64_t i = 0; i < count; ++i) Put(memory_.data(), dtype, first + i * stride, values[i]);
  view_ = TensorView::Dense(memory_.data() + first * SizeOf(dtype), dtype, {count});
  view_.strides[0] = stride;
}

IndexTensor::IndexTensor(const std::vector<int64_t>& values, int64_t rows, int64_t columns, DType dtype,
                         int64_t row_stride, int64_t column_stride)
    : memory_(static_cast<size_t>(
          (rows == 0 || columns == 0 ? 0 : (rows - 1) * row_stride + (columns - 1) * column_stride + 1) *
          SizeOf(dtype))) {
  const auto room = static_cast<int64_t>(memory_.size()) / SizeOf(dtype);
  for (int64_t i = 0; i < room; ++i) Put(memory_.data(), dtype, i, -123456789);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      Put(memory_.data(), dtype, r * row_stride + c * column_stride, values[r * columns + c]);
    }
  }
  view_ = TensorView::Dense(memory_.data(), dtype, {rows, columns});
  view_.strides[0] = row_stride;
  view_.strides[1] = column_stride;
}

}  // namespace pagoda::testing

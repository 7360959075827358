#include "pagoda/tensor.h"

namespace pagoda {

std::string_view NameOf(DType t) {
  switch (t) {
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kF64:
      return "f64";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
  }
  return "?";
}

TensorView TensorView::Dense(void* data, DType dtype, std::initializer_list<int64_t> shape) {
  TensorView view;
  view.data = data;
  view.dtype = dtype;
  view.rank = static_cast<int>(shape.size());
  int i = 0;
  for (const int64_t n : shape) view.shape[i++] = n;
  int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.strides[d] = stride;
    // A shape too large for any memory wraps here, and is refused by whoever allocates or reads it.
    (void)__builtin_mul_overflow(stride, view.shape[d], &stride);
  }
  return view;
}

int64_t TensorView::elements() const {
  int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= shape[d];
  return n;
}

bool TensorView::dense() const {
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    if (shape[d] != 1 && strides[d] != stride) return false;
    stride *= shape[d];
  }
  return true;
}

}  // namespace pagoda

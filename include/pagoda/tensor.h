// Element types and a non-owning view of a strided array.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace pagoda {

enum class DType : uint8_t { kF32, kF16, kBF16, kF64, kI32, kI64 };

// Bytes of one element.
constexpr int64_t SizeOf(DType t) {
  switch (t) {
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF64:
    case DType::kI64:
      return 8;
  }
  return 0;
}

// "f32", "f16", "bf16", "f64", "i32", "i64".
std::string_view NameOf(DType t);
constexpr bool IsFloat(DType t) { return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16; }
constexpr bool IsIndex(DType t) { return t == DType::kI32 || t == DType::kI64; }

inline constexpr int kMaxRank = 5;

// Pointer, element type, shape and strides (in elements). Owns nothing; copying copies the view.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int rank = 0;
  std::array<int64_t, kMaxRank> shape{};
  std::array<int64_t, kMaxRank> strides{};

  // A dense row-major view.
  static TensorView Dense(void* data, DType dtype, std::initializer_list<int64_t> shape);

  bool empty() const { return data == nullptr && rank == 0; }
  int64_t elements() const;  // product of the shape
  bool dense() const;        // strides are those of a row-major array
};

}  // namespace pagoda

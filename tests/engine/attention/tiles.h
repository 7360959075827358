// Inputs of single kernels: rows in memory that ends where they end, NaN in every gap.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/random.h"
#include "engine/attention/kernels/kernels.h"
#include "engine/memory.h"

namespace pagoda::testing {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr DType kFloatTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

inline void Put(void* base, DType dtype, int64_t i, float value) {
  if (dtype == DType::kF32) {
    static_cast<float*>(base)[i] = value;
  } else {
    static_cast<uint16_t*>(base)[i] = dtype == DType::kF16 ? F32ToF16(value) : F32ToBF16(value);
  }
}

inline float Get(const void* base, DType dtype, int64_t i) {
  if (dtype == DType::kF32) return static_cast<const float*>(base)[i];
  const uint16_t bits = static_cast<const uint16_t*>(base)[i];
  return dtype == DType::kF16 ? F16ToF32(bits) : BF16ToF32(bits);
}

// `count` elements that end at a page that faults.
class Elements {
 public:
  Elements(DType dtype, int64_t count, float fill)
      : dtype_(dtype), count_(count), memory_(static_cast<size_t>(count * SizeOf(dtype))) {
    for (int64_t i = 0; i < count; ++i) Put(memory_.data(), dtype, i, fill);
  }
  explicit Elements(int64_t count, float fill = kNaN) : Elements(DType::kF32, count, fill) {}

  void* data() const { return memory_.data(); }
  float* floats() const { return memory_.as<float>(); }
  int64_t count() const { return count_; }
  float at(int64_t i) const { return Get(memory_.data(), dtype_, i); }
  void Set(int64_t i, float value) { Put(memory_.data(), dtype_, i, value); }

 private:
  DType dtype_;
  int64_t count_;
  GuardedMemory memory_;
};

// K or V of one tile.
class Tile {
 public:
  Tile(Random& random, DType dtype, int64_t keys, int64_t heads, int64_t dim) : memory_(dtype, 0, 0) {
    const auto gap = [&] { return random.Chance(0.5) ? 0 : random.Between(1, 9); };
    run.keys = keys;
    run.heads = heads;
    run.dim = dim;
    if (random.Chance(0.5)) {
      run.head_stride = dim + gap();
      run.slot_stride = heads * run.head_stride + gap();
    } else {
      run.slot_stride = dim + gap();
      run.head_stride = keys * run.slot_stride + gap();
    }
    const bool any = keys > 0 && heads > 0;
    memory_ =
        Elements(dtype, any ? (keys - 1) * run.slot_stride + (heads - 1) * run.head_stride + dim : 0, kNaN);
    run.base = memory_.data();
    for (int64_t j = 0; j < keys; ++j) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t d = 0; d < dim; ++d) memory_.Set(Index(j, h, d), static_cast<float>(random.Normal()));
      }
    }
    if (random.Chance(0.5)) {
      const int64_t size = SizeOf(dtype);
      run.ahead = {run.base, run.slot_stride * size, run.head_stride * size, dim * size, keys};
    }
  }

  float at(int64_t key, int64_t head, int64_t d) const { return memory_.at(Index(key, head, d)); }
  void Set(int64_t key, int64_t head, int64_t d, float value) { memory_.Set(Index(key, head, d), value); }

  KeyRun run;

 private:
  int64_t Index(int64_t key, int64_t head, int64_t d) const {
    return key * run.slot_stride + head * run.head_stride + d;
  }
  Elements memory_;
};

// What a sum of `terms` f32 products of total size `magnitude` may be off by, in any order of addition.
inline double SumError(int64_t terms, double magnitude) {
  return (static_cast<double>(terms) + 8) * 0x1p-23 * magnitude + 1e-30;
}

// Distance in units of the last place of `want` as f32.
inline double Ulps(float got, double want) {
  const auto nearest = static_cast<float>(want);
  const double step =
      std::max<double>(std::nextafter(std::abs(nearest), kInfinity) - std::abs(nearest), 0x1p-149);
  return std::abs(double{got} - want) / step;
}

}  // namespace pagoda::testing

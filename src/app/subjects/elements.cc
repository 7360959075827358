#include "app/subjects/elements.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "base/random.h"

namespace pagoda::app {
namespace {

constexpr size_t kQuantiles = 4096;
constexpr int kBitsPerDraw = 12;

// A sorted sample is as good as exact quantiles here, and needs no inverse of the normal distribution.
std::array<double, kQuantiles> NormalQuantiles() {
  constexpr int kRounds = 64;
  Random random(1);
  std::array<double, kQuantiles> mean{};
  std::array<double, kQuantiles> draw{};
  for (int round = 0; round < kRounds; ++round) {
    for (double& x : draw) x = random.Normal();
    std::sort(draw.begin(), draw.end());
    for (size_t i = 0; i < kQuantiles; ++i) mean[i] += draw[i] / kRounds;
  }
  return mean;
}

template <typename T>
void Fill(T* out, int64_t elements, DType dtype, uint64_t seed) {
  static const std::array<double, kQuantiles> quantiles = NormalQuantiles();
  std::array<T, kQuantiles> table;
  for (size_t i = 0; i < kQuantiles; ++i)
    WriteElement(table.data(), dtype, static_cast<int64_t>(i), quantiles[i]);
  Random random(seed);
  uint64_t bits = 0;
  int left = 0;
  for (int64_t i = 0; i < elements; ++i) {
    if (left == 0) {
      bits = random.Bits();
      left = 64 / kBitsPerDraw;
    }
    out[i] = table[bits % kQuantiles];
    bits >>= kBitsPerDraw;
    --left;
  }
}

}  // namespace

void FillNormal(void* data, DType dtype, int64_t elements, uint64_t seed) {
  if (dtype == DType::kF32) {
    Fill(static_cast<float*>(data), elements, dtype, seed);
  } else {
    Fill(static_cast<uint16_t*>(data), elements, dtype, seed);
  }
}

void FillNaN(void* data, DType dtype, int64_t first, int64_t count) {
  for (int64_t i = first; i < first + count; ++i) {
    WriteElement(data, dtype, i, std::numeric_limits<double>::quiet_NaN());
  }
}

double ReadElement(const void* data, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<const float*>(data)[i];
    case DType::kF64:
      return static_cast<const double*>(data)[i];
    case DType::kF16:
      return F16ToF32(static_cast<const uint16_t*>(data)[i]);
    case DType::kBF16:
      return BF16ToF32(static_cast<const uint16_t*>(data)[i]);
    case DType::kI32:
      return static_cast<const int32_t*>(data)[i];
    case DType::kI64:
      return static_cast<double>(static_cast<const int64_t*>(data)[i]);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void WriteElement(void* data, DType dtype, int64_t i, double value) {
  if (dtype == DType::kF32) {
    static_cast<float*>(data)[i] = static_cast<float>(value);
  } else if (dtype == DType::kF16) {
    static_cast<uint16_t*>(data)[i] = F32ToF16(static_cast<float>(value));
  } else {
    static_cast<uint16_t*>(data)[i] = F32ToBF16(static_cast<float>(value));
  }
}

}  // namespace pagoda::app

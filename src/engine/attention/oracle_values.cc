#include "engine/attention/oracle_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace pagoda {
namespace {

double Bf16ToDouble(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

double F16ToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace

double FloatAt(const void* data, DType dtype, int64_t i) {
  if (dtype == DType::kF32) return static_cast<const float*>(data)[i];
  const uint16_t bits = static_cast<const uint16_t*>(data)[i];
  return dtype == DType::kF16 ? F16ToDouble(bits) : Bf16ToDouble(bits);
}

int64_t IndexAt(const TensorView& t, int64_t i, int64_t j) {
  const int64_t offset = i * t.strides[0] + (t.rank > 1 ? j * t.strides[1] : 0);
  return t.dtype == DType::kI64 ? static_cast<const int64_t*>(t.data)[offset]
                                : static_cast<const int32_t*>(t.data)[offset];
}

// Eight partial sums, because one would make each addition wait for the last.
double Dot(const double* a, const double* b, int64_t n) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

std::vector<int64_t> RowsToCompute(int64_t total, const OracleOptions& options, bool sampled) {
  std::vector<int64_t> rows;
  if (!sampled) {
    for (int64_t row = 0; row < total; ++row) rows.push_back(row);
    return rows;
  }
  rows = options.rows;
  rows.push_back(0);
  rows.push_back(total - 1);
  std::mt19937_64 random(options.seed);
  for (int64_t i = 0; i < options.sample; ++i) {
    rows.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(total)));
  }
  std::erase_if(rows, [&](int64_t row) { return row < 0 || row >= total; });
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace pagoda

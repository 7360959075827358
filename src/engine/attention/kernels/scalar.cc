// The readable definition of every kernel: plain loops, natural order, the standard library's exp and tanh.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "engine/attention/kernels/kernels.h"
#include "engine/attention/kernels/tables.h"

namespace pagoda {
namespace {

constexpr int64_t kLanes = 8;
constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

float Load(const void* base, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::kF16:
      return F16ToF32(static_cast<const uint16_t*>(base)[i]);
    case DType::kBF16:
      return BF16ToF32(static_cast<const uint16_t*>(base)[i]);
    default:
      return static_cast<const float*>(base)[i];
  }
}

void Store(void* base, DType dtype, int64_t i, float value) {
  switch (dtype) {
    case DType::kF16:
      static_cast<uint16_t*>(base)[i] = F32ToF16(value);
      return;
    case DType::kBF16:
      static_cast<uint16_t*>(base)[i] = F32ToBF16(value);
      return;
    default:
      static_cast<float*>(base)[i] = value;
  }
}

int64_t Pad(int64_t dim) { return (dim + kLanes - 1) / kLanes * kLanes; }

void PackRow(const void* row, DType dtype, int64_t dim, float* out) {
  for (int64_t d = 0; d < dim; ++d) out[d] = Load(row, dtype, d);
  std::fill(out + dim, out + Pad(dim), 0.0F);
}

void Qk(DType dtype, const KeyRun& k, const float* q, int64_t rows, int64_t q_ld, float scale, float* scores,
        int64_t scores_ld) {
  for (int64_t h = 0; h < k.heads; ++h) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < k.keys; ++j) {
        const int64_t at = j * k.slot_stride + h * k.head_stride;
        float sum = 0;
        for (int64_t d = 0; d < k.dim; ++d) sum += q[(h * rows + r) * q_ld + d] * Load(k.base, dtype, at + d);
        scores[(h * rows + r) * scores_ld + j] = scale * sum;
      }
    }
  }
}

void Pv(DType dtype, const KeyRun& v, const float* p, int64_t rows, int64_t p_ld, float* acc,
        int64_t acc_ld) {
  for (int64_t h = 0; h < v.heads; ++h) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < v.keys; ++j) {
        const int64_t at = j * v.slot_stride + h * v.head_stride;
        const float weight = p[(h * rows + r) * p_ld + j];
        for (int64_t d = 0; d < v.dim; ++d)
          acc[(h * rows + r) * acc_ld + d] += weight * Load(v.base, dtype, at + d);
      }
    }
  }
}

float SoftmaxRow(float* s, int64_t keys, const RowWindow& w, const ScoreRule& rule, RowState* state) {
  float max = state->max;
  for (int64_t j = w.begin; j < w.end; ++j) {
    if (rule.softcap > 0) s[j] = rule.softcap * std::tanh(s[j] / rule.softcap);
    s[j] += w.slope * (w.distance + static_cast<float>(j));
    max = std::max(max, s[j]);
  }
  // A row that has seen nothing yet keeps max = -inf: shifting by 0 instead keeps inf - inf out of the
  // arithmetic, and a score that is no number makes the sum none.
  const float shift = max == kMinusInf ? 0.0F : max;
  const float factor = max == kMinusInf ? 1.0F : std::exp(state->max - max);
  float sum = 0;
  for (int64_t j = 0; j < keys; ++j) {
    s[j] = j >= w.begin && j < w.end ? std::exp(s[j] - shift) : 0.0F;
    sum += s[j];
  }
  state->sum = state->sum * factor + sum;
  state->max = max;
  return factor;
}

void ScaleRow(float* row, int64_t n, float factor) {
  for (int64_t i = 0; i < n; ++i) row[i] *= factor;
}

void AddScaledRow(const float* from, int64_t n, float weight, float* row) {
  for (int64_t i = 0; i < n; ++i) row[i] += weight * from[i];
}

void Silu(float* x, int64_t n, float scale) {
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] < -87.0F ? 0.0F : scale * (x[i] / (1.0F + std::exp(-x[i])));
}

void CopyRows(DType dtype, const KeyRun& from, void* to, int64_t slot_stride, int64_t head_stride) {
  const int64_t size = SizeOf(dtype);
  for (int64_t j = 0; j < from.keys; ++j) {
    for (int64_t h = 0; h < from.heads; ++h) {
      std::memcpy(static_cast<char*>(to) + (j * slot_stride + h * head_stride) * size,
                  static_cast<const char*>(from.base) + (j * from.slot_stride + h * from.head_stride) * size,
                  static_cast<size_t>(from.dim * size));
    }
  }
}

void StoreRow(const float* row, DType /*order*/, int64_t dim, float factor, DType out_dtype, void* out) {
  for (int64_t d = 0; d < dim; ++d) Store(out, out_dtype, d, factor * row[d]);
}

void LoadK(DType dtype, const KeyRun& k, float* out, int64_t ld) {
  for (int64_t j = 0; j < k.keys; ++j) {
    for (int64_t d = 0; d < k.dim; ++d) out[j * ld + d] = Load(k.base, dtype, j * k.slot_stride + d);
  }
}

void LoadV(DType dtype, const KeyRun& v, float* out, int64_t /*tile_keys*/, int64_t first_key) {
  LoadK(dtype, v, out + first_key * Pad(v.dim), Pad(v.dim));
}

void PackLane(DType dtype, const void* row, int64_t dim, int64_t lane, float* panel) {
  for (int64_t d = 0; d < dim; ++d) panel[d * kLanes + lane] = Load(row, dtype, d);
}

void QkTile(DType /*dtype*/, const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t panel_stride,
            int64_t rows, int64_t dim, float scale, float* scores, int64_t ld,
            const PrefetchList& /*ahead*/) {
  for (int64_t j = 0; j < keys; ++j) {
    for (int64_t r = 0; r < Pad(rows); ++r) {
      const float* lane = q + r / kLanes * panel_stride + r % kLanes;
      float sum = 0;
      for (int64_t d = 0; d < dim; ++d) sum += k[j * k_ld + d] * lane[d * kLanes];
      scores[j * ld + r] = scale * sum;
    }
  }
}

void PvTile(DType /*dtype*/, const float* weights, int64_t ld, int64_t keys, const float* v,
            int64_t /*tile_keys*/, int64_t rows, int64_t dim, float* acc, int64_t acc_ld,
            const PrefetchList& /*ahead*/) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < keys; ++j) {
      for (int64_t d = 0; d < dim; ++d) acc[r * acc_ld + d] += weights[j * ld + r] * v[j * Pad(dim) + d];
    }
  }
}

void SoftmaxColumns(float* s, int64_t keys, int64_t rows, int64_t ld, const RowWindow* windows, bool /*edge*/,
                    bool /*alibi*/, const ScoreRule& rule, RowState* states, float* factors) {
  for (int64_t r = 0; r < rows; ++r) {
    const RowWindow& w = windows[r];
    float max = states[r].max;
    for (int64_t j = w.begin; j < w.end; ++j) {
      float& x = s[j * ld + r];
      if (rule.softcap > 0) x = rule.softcap * std::tanh(x / rule.softcap);
      x += w.slope * (w.distance + static_cast<float>(j));
      max = std::max(max, x);
    }
    const float shift = max == kMinusInf ? 0.0F : max;
    factors[r] = max == kMinusInf ? 1.0F : std::exp(states[r].max - max);
    float sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      float& x = s[j * ld + r];
      x = j >= w.begin && j < w.end ? std::exp(x - shift) : 0.0F;
      sum += x;
    }
    states[r] = {max, states[r].sum * factors[r] + sum};
  }
}

}  // namespace

const AttentionKernels kAttentionKernelsScalar = {
    .isa = Isa::kScalar,
    .lanes = kLanes,
    .row_lanes = kLanes,
    .pack_row = PackRow,
    .qk = Qk,
    .pv = Pv,
    .softmax_row = SoftmaxRow,
    .scale_row = ScaleRow,
    .add_scaled_row = AddScaledRow,
    .silu = Silu,
    .store_row = StoreRow,
    .copy_rows = CopyRows,
    .load_k = LoadK,
    .load_v = LoadV,
    .pack_lane = PackLane,
    .qk_tile = QkTile,
    .pv_tile = PvTile,
    .softmax_columns = SoftmaxColumns,
};

}  // namespace pagoda

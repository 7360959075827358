// The inner loops of attention, once per instruction set behind one table.
//
// Two shapes of the same mathematics:
//   few rows:  scores [row][key]. K and V are read where they lie, widened in registers, and each element is
//              used for every row at once. Right when memory is the limit (decode).
//   many rows: scores [key][row]. K and V tiles are widened to f32 once and multiplied by a register-blocked
//              GEMM. With rows in the vector lanes neither K nor the scores are ever transposed. Right when
//              arithmetic is the limit (prefill).
#pragma once

#include <cstdint>

#include "engine/simd/isa.h"
#include "pagoda/tensor.h"

namespace pagoda {

// Blocks of up to this many rows per kv head take the few-row loops. Above it a tile is worth widening.
inline constexpr int64_t kFewRows = 8;

// Rows of memory to ask for while something else is computed; count 0 asks for nothing.
struct Prefetch {
  const void* base = nullptr;
  int64_t slot_bytes = 0;
  int64_t head_bytes = 0;
  int64_t row_bytes = 0;
  int64_t keys = 0;
};

// K or V of consecutive slots of one page, for one or more kv heads. Strides in elements.
struct KeyRun {
  const void* base = nullptr;
  int64_t slot_stride = 0;
  int64_t head_stride = 0;
  int64_t keys = 0;
  int64_t heads = 0;
  int64_t dim = 0;
  Prefetch ahead;
};

// How a row's scores become weights.
struct ScoreRule {
  float softcap = 0;  // 0: none
};

// The part of a tile that one row sees, and its ALiBi term slope * (distance + key).
struct RowWindow {
  int32_t begin = 0;  // first visible key of the tile
  int32_t end = 0;    // one past the last
  float slope = 0;
  float distance = 0;  // (first key of the tile) - r
};

// Running softmax of one row: sum(exp(s - max)) and max. Empty: {-inf, 0}.
struct RowState {
  float max;
  float sum;
};

// Everything but sizes is dense f32. `dim_pad(dim)` is dim rounded up to the table's `lanes`.
struct AttentionKernels {
  Isa isa;
  // Elements that the few-row loops take at a time; padded rows are multiples of it. Also the width of a GEMM
  // panel.
  int64_t lanes;

  // --- few rows. Packed rows and accumulators are in the order in which the loops widen `dtype`; store_row
  // undoes it. out[dim_pad] = row, zero-padded; only qk of the same table reads it.
  void (*pack_row)(const void* row, DType dtype, int64_t dim, float* out);
  // scores[(head * rows + r) * scores_ld + key] = scale * q[(head * rows + r) * q_ld ..] . k(head, key)
  void (*qk)(DType dtype, const KeyRun& k, const float* q, int64_t rows, int64_t q_ld, float scale,
             float* scores, int64_t scores_ld);
  // acc[(head * rows + r) * acc_ld ..] += p[(head * rows + r) * p_ld + key] * v(head, key)
  void (*pv)(DType dtype, const KeyRun& v, const float* p, int64_t rows, int64_t p_ld, float* acc,
             int64_t acc_ld);
  // Turns one row's scores [0, keys) into exp(score - max) with the running max, zero outside the window;
  // updates the state and returns the factor by which what was accumulated before has to be multiplied.
  float (*softmax_row)(float* scores, int64_t keys, const RowWindow& window, const ScoreRule& rule,
                       RowState* state);
  void (*scale_row)(float* row, int64_t n, float factor);
  // row[0, n) += weight * from[0, n)
  void (*add_scaled_row)(const float* from, int64_t n, float weight, float* row);
  // x[0, n) = scale * SiLU(x), SiLU(x) = x / (1 + e^-x), for n a multiple of `lanes`. SiLU is within 4 ulp
  // from -87 on (measured: 2.31 scalar, 3.73 Highway) and 0 below, less than 1.5e-36 off; NaN stays NaN.
  void (*silu)(float* x, int64_t n, float scale);
  // out[dim] = factor * row, in natural order and of out_dtype; `dtype` is the order's.
  void (*store_row)(const float* row, DType dtype, int64_t dim, float factor, DType out_dtype, void* out);

  // Element (key, head, d) of `from` to to + key * slot_stride + head * head_stride + d, in the cache's own
  // dtype.
  void (*copy_rows)(DType dtype, const KeyRun& from, void* to, int64_t slot_stride, int64_t head_stride);

  // --- many rows. Natural order throughout.
  // out[key * ld + d] = row, f32, zero-padded to dim_pad.
  void (*widen_rows)(DType dtype, const KeyRun& k, float* out, int64_t ld);
  // out[(panel * panel_keys + first_key + key) * lanes + lane], dim split into panels, zero-padded.
  void (*widen_panels)(DType dtype, const KeyRun& v, float* out, int64_t panel_keys, int64_t first_key);
  // c[i * c_ld + j] (+)= sum_k a[i * a_row + k * a_col] * b[((j / lanes) * b_rows + k) * lanes + j % lanes];
  // n is a multiple of lanes. Asks for the rows of `ahead`, of one head, evenly over its run.
  void (*gemm)(const float* a, int64_t a_row, int64_t a_col, const float* b, int64_t b_rows, int64_t m,
               int64_t n, int64_t k, float* c, int64_t c_ld, bool accumulate, const Prefetch& ahead);
  // As softmax_row for rows [0, rows) in the lanes: scores[key * ld + row], ld a multiple of lanes.
  // factor[row] is written. `edge`: some row's window is not the whole tile.
  void (*softmax_columns)(float* scores, int64_t keys, int64_t rows, int64_t ld, const RowWindow* windows,
                          bool edge, bool alibi, const ScoreRule& rule, RowState* states, float* factors);

  int64_t dim_pad(int64_t dim) const { return (dim + lanes - 1) / lanes * lanes; }
};

// The table of one instruction set; `isa` is usable.
const AttentionKernels& AttentionKernelsFor(Isa isa);
// The table of ActiveIsa().
const AttentionKernels& ActiveAttentionKernels();

}  // namespace pagoda

// The inner loops of attention, once per instruction set behind one table.
//
// Two shapes of the same mathematics:
//   few rows:  scores [row][key]. K and V are read where they lie, widened in registers, and each element is
//              used for every row at once. Right when memory is the limit (decode).
//   many rows: scores [key][row]. K and V tiles are loaded once into the form in which the table multiplies
//              their type - widened to f32, or in pairs of bf16 where there are instructions for those -
//              and multiplied by a register-blocked GEMM. With rows in the vector lanes neither K nor the
//              scores are ever transposed. Right when arithmetic is the limit (prefill).
#pragma once

#include <cstdint>

#include "engine/simd/isa.h"
#include "pagoda/tensor.h"

namespace pagoda {

// Blocks of up to this many rows per kv head take the few-row loops. Above it a tile is worth widening.
inline constexpr int64_t kFewRows = 8;

// pv_tile may add up so many keys of a tile, counted from its first, before it adds the sum to the others.
// What is promised the same bits whatever it is computed with begins its tiles at multiples of this.
inline constexpr int64_t kKeyChunk = 32;

// Rows of memory to ask for while something else is computed; count 0 asks for nothing.
struct Prefetch {
  const void* base = nullptr;
  int64_t slot_bytes = 0;
  int64_t head_bytes = 0;
  int64_t row_bytes = 0;
  int64_t keys = 0;
};

// The same for several pieces of memory.
struct PrefetchList {
  const Prefetch* pieces = nullptr;
  int64_t count = 0;
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
  // Elements that the few-row loops take at a time; padded rows are multiples of it. Also the width of a
  // panel of rows.
  int64_t lanes;
  // Rows of a panel that are multiplied at a time; divides `lanes`.
  int64_t row_lanes;

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
  // x[0, n) = scale * SiLU(x), SiLU(x) = x / (1 + e^-x), for n a multiple of `row_lanes`. SiLU is within 5
  // ulp from -87 on (the worst of all: 2.38 scalar, 4.55 Highway) and 0 below, less than 1.5e-36 off; NaN
  // stays NaN.
  void (*silu)(float* x, int64_t n, float scale);
  // out[dim] = factor * row, in natural order and of out_dtype; `dtype` is the order's.
  void (*store_row)(const float* row, DType dtype, int64_t dim, float factor, DType out_dtype, void* out);

  // Element (key, head, d) of `from` to to + key * slot_stride + head * head_stride + d, in the cache's own
  // dtype.
  void (*copy_rows)(DType dtype, const KeyRun& from, void* to, int64_t slot_stride, int64_t head_stride);

  // --- many rows of one head, natural order. What load_* and pack_lane write is in the table's own form for
  // `dtype`, never larger than f32; only qk_tile and pv_tile of the same table and dtype read it.
  // Row j of K to out + j * ld, ld >= dim_pad(dim).
  void (*load_k)(DType dtype, const KeyRun& k, float* out, int64_t ld);
  // V of keys first_key.. of a tile of `tile_keys` to out, which holds tile_keys * dim_pad(dim) floats.
  // All keys of a tile are loaded, in order, before it is multiplied.
  void (*load_v)(DType dtype, const KeyRun& v, float* out, int64_t tile_keys, int64_t first_key);
  // A row of q to lane `lane` of a panel of `lanes` rows, dim_pad(dim) * lanes in all, which begins as zeros.
  void (*pack_lane)(DType dtype, const void* row, int64_t dim, int64_t lane, float* panel);
  // scores[key * ld + row] = scale * k(key) . q(row) for keys [0, keys) and rows [0, rows) rounded up to
  // row_lanes. Panel i of q begins at q + i * panel_stride. Asks for the rows of `ahead`, evenly over its
  // run.
  void (*qk_tile)(DType dtype, const float* k, int64_t k_ld, int64_t keys, const float* q,
                  int64_t panel_stride, int64_t rows, int64_t dim, float scale, float* scores, int64_t ld,
                  const PrefetchList& ahead);
  // acc[row * acc_ld + d] += sum over keys [0, keys) of weights[key * ld + row] * v(key, d) for rows
  // [0, rows) and d up to dim_pad(dim). Weights up to the next multiple of row_lanes rows are read, whatever
  // they are.
  void (*pv_tile)(DType dtype, const float* weights, int64_t ld, int64_t keys, const float* v,
                  int64_t tile_keys, int64_t rows, int64_t dim, float* acc, int64_t acc_ld,
                  const PrefetchList& ahead);
  // As softmax_row for rows [0, rows) in the lanes: scores[key * ld + row], ld a multiple of row_lanes.
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

// bf16 with the dot-product instruction of AVX-512 BF16, which Highway 1.0.3 does not reach.
//
// Two products and two adds per lane and instruction, products exact: half the arithmetic of widening to f32
// where the processor starts it as often (docs/decisions/0013), which counts from about six rows per kv head
// on. The including file provides the handful of vector operations below as static members of a struct `Vec`:
// intrinsics in kernels/avx512bf16.cc, arrays in the test that runs this on any machine. It follows the rule
// for files compiled with wider flags: nothing of std, nothing with linkage.
#pragma once

#include <cstdint>

#include "engine/attention/kernels/kernels.h"
#include "engine/attention/kernels/portions.h"

namespace pagoda::avx512bf16 {
namespace {

constexpr int64_t kPairLanes = 32;  // bf16 elements of one vector

template <class Vec, int kRows, int kKeys>
inline void DotBlock(const uint16_t* k, int64_t slot_stride, int64_t dim, const uint16_t* q, int64_t q_ld,
                     float scale, float* scores, int64_t scores_ld) {
  typename Vec::F32 acc[kRows][kKeys];
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kKeys; ++j) acc[r][j] = Vec::Zero();
  }
  for (int64_t x = 0; x < dim; x += kPairLanes) {
    // q is padded with zeros; of k only what belongs to the row may be read.
    const int64_t left = dim - x;
    for (int j = 0; j < kKeys; ++j) {
      const uint16_t* at = k + j * slot_stride + x;
      const typename Vec::Pairs b = left >= kPairLanes ? Vec::Load(at) : Vec::LoadFirst(at, left);
      for (int r = 0; r < kRows; ++r) acc[r][j] = Vec::Dot(acc[r][j], b, Vec::Load(q + r * q_ld + x));
    }
  }
  for (int r = 0; r < kRows; ++r) {
    if constexpr (kKeys == 4) {
      Vec::StoreSums4(acc[r][0], acc[r][1], acc[r][2], acc[r][3], scale, scores + r * scores_ld);
    } else {
      for (int j = 0; j < kKeys; ++j) scores[r * scores_ld + j] = scale * Vec::Sum(acc[r][j]);
    }
  }
}

template <class Vec, int kRows>
inline void DotKeys(const uint16_t* k, int64_t slot_stride, int64_t keys, int64_t dim, const uint16_t* q,
                    int64_t q_ld, float scale, float* scores, int64_t scores_ld) {
  int64_t j = 0;
  for (; j + 4 <= keys; j += 4) {
    DotBlock<Vec, kRows, 4>(k + j * slot_stride, slot_stride, dim, q, q_ld, scale, scores + j, scores_ld);
  }
  for (; j < keys; ++j) {
    DotBlock<Vec, kRows, 1>(k + j * slot_stride, slot_stride, dim, q, q_ld, scale, scores + j, scores_ld);
  }
}

template <class Vec>
inline void DotHead(const KeyRun& run, int64_t key, int64_t keys, int64_t head, const float* q, int64_t rows,
                    int64_t q_ld, float scale, float* scores, int64_t scores_ld) {
  const Prefetch& ahead = run.ahead;
  for (int64_t j = key; j < key + keys && j < ahead.keys; ++j) {
    const char* row = static_cast<const char*>(ahead.base) + j * ahead.slot_bytes + head * ahead.head_bytes;
    for (int64_t byte = 0; byte < ahead.row_bytes; byte += 64) __builtin_prefetch(row + byte, 0, 2);
  }
  const uint16_t* k = static_cast<const uint16_t*>(run.base) + key * run.slot_stride + head * run.head_stride;
  // A packed row is bf16 in the first half of the room that f32 would take.
  const auto* packed = reinterpret_cast<const uint16_t*>(q + head * rows * q_ld);
  const int64_t packed_ld = 2 * q_ld;
  float* out = scores + head * rows * scores_ld + key;
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    DotKeys<Vec, 4>(k, run.slot_stride, keys, run.dim, packed + r * packed_ld, packed_ld, scale,
                    out + r * scores_ld, scores_ld);
  }
  packed += r * packed_ld;
  out += r * scores_ld;
  if (rows - r == 3)
    DotKeys<Vec, 3>(k, run.slot_stride, keys, run.dim, packed, packed_ld, scale, out, scores_ld);
  if (rows - r == 2)
    DotKeys<Vec, 2>(k, run.slot_stride, keys, run.dim, packed, packed_ld, scale, out, scores_ld);
  if (rows - r == 1)
    DotKeys<Vec, 1>(k, run.slot_stride, keys, run.dim, packed, packed_ld, scale, out, scores_ld);
}

// AttentionKernels::qk for bf16.
template <class Vec>
inline void DotQk(const KeyRun& run, const float* q, int64_t rows, int64_t q_ld, float scale, float* scores,
                  int64_t scores_ld) {
  constexpr int64_t kKeyBlock = 8;
  const bool slots_outside = run.slot_stride >= run.head_stride;
  const int64_t blocks = (run.keys + kKeyBlock - 1) / kKeyBlock;
  for (int64_t i = 0; i < blocks * run.heads; ++i) {
    const int64_t block = slots_outside ? i / run.heads : i % blocks;
    const int64_t head = slots_outside ? i % run.heads : i / blocks;
    const int64_t key = block * kKeyBlock;
    const int64_t keys = run.keys - key < kKeyBlock ? run.keys - key : kKeyBlock;
    DotHead<Vec>(run, key, keys, head, q, rows, q_ld, scale, scores, scores_ld);
  }
}

// AttentionKernels::pack_row for bf16: the row as it is, padded with zeros to `pad` elements.
inline void DotPackRow(const uint16_t* row, int64_t dim, int64_t pad, float* out) {
  auto* to = reinterpret_cast<uint16_t*>(out);
  for (int64_t d = 0; d < pad; ++d) to[d] = d < dim ? row[d] : uint16_t{0};
}

// --- many rows. A word is a pair of bf16; panels are [pair][kPanelLanes] words.

constexpr int64_t kWordLanes = 16;
constexpr int64_t kPanelLanes = 2 * kWordLanes;

// AttentionKernels::load_k for bf16: rows as they are, with a zero behind an odd last element.
template <class Vec>
inline void DotLoadK(const KeyRun& k, float* out, int64_t ld) {
  for (int64_t j = 0; j < k.keys; ++j) {
    const uint16_t* row = static_cast<const uint16_t*>(k.base) + j * k.slot_stride;
    auto* to = reinterpret_cast<uint16_t*>(out + j * ld);
    for (int64_t x = 0; x < k.dim; x += kPairLanes) {
      const int64_t left = k.dim - x;
      Vec::Store(left >= kPairLanes ? Vec::Load(row + x) : Vec::LoadFirst(row + x, left), to + x);
    }
  }
}

// AttentionKernels::pack_lane for bf16.
inline void DotPackLane(const uint16_t* row, int64_t dim, int64_t lane, float* panel) {
  auto* words = reinterpret_cast<uint16_t*>(panel);
  for (int64_t d = 0; d < dim; d += 2) {
    uint16_t* to = words + 2 * (d / 2 * kPanelLanes + lane);
    to[0] = row[d];
    to[1] = d + 1 < dim ? row[d + 1] : uint16_t{0};
  }
}

// scores = scale * k.q, as GemmBlock of hwy.cc: three rows of K share a pointer. Strides in words.
template <class Vec, int kRows, int kVectors>
inline void DotGemmBlock(const float* k, int64_t k_ld, const float* q, int64_t pairs, float* scores,
                         int64_t ld, float scale, Portions& portions) {
  constexpr int kPointers = (kRows + 2) / 3;
  typename Vec::F32 sum[kRows][kVectors];
  // GCC leaves loops of more than 16 rounds alone unless told.
#pragma GCC unroll 24
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v) sum[i][v] = Vec::Zero();
  }
  const float* rows[kPointers];
  for (int64_t p = 0; p < kPointers; ++p) rows[p] = k + 3 * p * k_ld;
  for (int64_t x = 0; x < pairs;) {
    portions.AskForNext();
    const int64_t end = x + Portions::kSteps < pairs ? x + Portions::kSteps : pairs;
    for (; x < end; ++x, q += kPanelLanes) {
      typename Vec::Pairs part[kVectors];
      for (int v = 0; v < kVectors; ++v)
        part[v] = Vec::Load(reinterpret_cast<const uint16_t*>(q + v * kWordLanes));
#pragma GCC unroll 24
      for (int i = 0; i < kRows; ++i) {
        const typename Vec::Pairs word = Vec::Broadcast(rows[i / 3] + i % 3 * k_ld);
        for (int v = 0; v < kVectors; ++v) sum[i][v] = Vec::Dot(sum[i][v], word, part[v]);
      }
      for (int p = 0; p < kPointers; ++p) ++rows[p];
    }
  }
#pragma GCC unroll 24
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v)
      Vec::StoreF32(Vec::Scale(sum[i][v], scale), scores + i * ld + v * kWordLanes);
  }
}

template <class Vec, int kRows, int kVectors>
inline void DotGemmRows(int64_t keys, const float* k, int64_t k_ld, const float* q, int64_t pairs,
                        float* scores, int64_t ld, float scale, Portions& portions) {
  if constexpr (kRows > 0) {
    if (keys == kRows)
      return DotGemmBlock<Vec, kRows, kVectors>(k, k_ld, q, pairs, scores, ld, scale, portions);
    DotGemmRows<Vec, kRows - 1, kVectors>(keys, k, k_ld, q, pairs, scores, ld, scale, portions);
  }
}

// Keys of a block: 24 sums hide the latency of the instruction, 12 don't.
constexpr int64_t kDotSums = 24;

template <class Vec, int kVectors>
inline void DotGemmPanel(const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t pairs,
                         float* scores, int64_t ld, float scale, Portions& portions) {
  constexpr int64_t kMost = kDotSums / kVectors;
  for (int64_t blocks = (keys + kMost - 1) / kMost; blocks > 0; --blocks) {
    const int64_t rows = (keys + blocks - 1) / blocks;
    DotGemmRows<Vec, kMost, kVectors>(rows, k, k_ld, q, pairs, scores, ld, scale, portions);
    k += rows * k_ld;
    scores += rows * ld;
    keys -= rows;
  }
}

// AttentionKernels::qk_tile for bf16.
template <class Vec>
inline void DotQkTile(const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t panel_stride,
                      int64_t rows, int64_t dim, float scale, float* scores, int64_t ld,
                      const PrefetchList& ahead) {
  if (keys == 0 || rows == 0) return;
  const int64_t pairs = (dim + 1) / 2;
  const int64_t vectors = (rows + kWordLanes - 1) / kWordLanes;
  Portions portions(ahead, (keys * vectors + kDotSums - 1) / kDotSums, pairs);
  for (; rows > kWordLanes; rows -= kPanelLanes, scores += kPanelLanes, q += panel_stride)
    DotGemmPanel<Vec, 2>(k, k_ld, keys, q, pairs, scores, ld, scale, portions);
  if (rows > 0) DotGemmPanel<Vec, 1>(k, k_ld, keys, q, pairs, scores, ld, scale, portions);
}

}  // namespace
}  // namespace pagoda::avx512bf16

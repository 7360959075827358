#include "engine/attention/kernels/kernels.h"

#include <atomic>

#include "engine/attention/kernels/tables.h"

namespace pagoda {
namespace {

std::atomic<const AttentionKernels*> g_override = nullptr;

#if defined(__x86_64__)
// The AVX-512 table with the bf16 products of q.k on the dot-product unit. P.V stays in f32: weights rounded
// to bf16 would cost more accuracy than the gate leaves (docs/decisions/0011).
const AttentionKernels& Wide() { return *HighwayAttentionKernels(Isa::kAvx512); }

void DotQk(DType dtype, const KeyRun& k, const float* q, int64_t rows, int64_t q_ld, float scale,
           float* scores, int64_t scores_ld) {
  if (dtype == DType::kBF16) return avx512bf16::Qk(k, q, rows, q_ld, scale, scores, scores_ld);
  Wide().qk(dtype, k, q, rows, q_ld, scale, scores, scores_ld);
}

void DotPackRow(const void* row, DType dtype, int64_t dim, float* out) {
  if (dtype == DType::kBF16) return avx512bf16::PackRow(row, dim, Wide().dim_pad(dim), out);
  Wide().pack_row(row, dtype, dim, out);
}

void DotLoadK(DType dtype, const KeyRun& k, float* out, int64_t ld) {
  if (dtype == DType::kBF16) return avx512bf16::LoadK(k, out, ld);
  Wide().load_k(dtype, k, out, ld);
}

void DotPackLane(DType dtype, const void* row, int64_t dim, int64_t lane, float* panel) {
  if (dtype == DType::kBF16) return avx512bf16::PackLane(row, dim, lane, panel);
  Wide().pack_lane(dtype, row, dim, lane, panel);
}

void DotQkTile(DType dtype, const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t panel_stride,
               int64_t rows, int64_t dim, float scale, float* scores, int64_t ld, const PrefetchList& ahead) {
  if (dtype == DType::kBF16)
    return avx512bf16::QkTile(k, k_ld, keys, q, panel_stride, rows, dim, scale, scores, ld, ahead);
  Wide().qk_tile(dtype, k, k_ld, keys, q, panel_stride, rows, dim, scale, scores, ld, ahead);
}

const AttentionKernels& DotKernels() {
  static const AttentionKernels table = [] {
    AttentionKernels kernels = Wide();
    kernels.isa = Isa::kAvx512Bf16;
    kernels.qk = DotQk;
    kernels.pack_row = DotPackRow;
    kernels.load_k = DotLoadK;
    kernels.pack_lane = DotPackLane;
    kernels.qk_tile = DotQkTile;
    return kernels;
  }();
  return table;
}

// The AVX-512 table with the products of many rows in bf16 on tiles. K and q stand as the dot products take
// them.
void TileQkTile(DType dtype, const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t panel_stride,
                int64_t rows, int64_t dim, float scale, float* scores, int64_t ld,
                const PrefetchList& ahead) {
  if (dtype == DType::kBF16)
    return amx::QkTile(k, k_ld, keys, q, panel_stride, rows, dim, scale, scores, ld, ahead);
  Wide().qk_tile(dtype, k, k_ld, keys, q, panel_stride, rows, dim, scale, scores, ld, ahead);
}

void TileLoadV(DType dtype, const KeyRun& v, float* out, int64_t tile_keys, int64_t first_key) {
  if (dtype == DType::kBF16) return amx::LoadV(v, out, tile_keys, first_key);
  Wide().load_v(dtype, v, out, tile_keys, first_key);
}

void TilePvTile(DType dtype, const float* weights, int64_t ld, int64_t keys, const float* v,
                int64_t tile_keys, int64_t rows, int64_t dim, float* acc, int64_t acc_ld,
                const PrefetchList& ahead) {
  if (dtype == DType::kBF16)
    return amx::PvTile(weights, ld, keys, v, tile_keys, rows, dim, acc, acc_ld, ahead);
  Wide().pv_tile(dtype, weights, ld, keys, v, tile_keys, rows, dim, acc, acc_ld, ahead);
}

const AttentionKernels& TileKernels() {
  static const AttentionKernels table = [] {
    AttentionKernels kernels = Wide();
    kernels.isa = Isa::kAmx;
    kernels.load_k = DotLoadK;
    kernels.pack_lane = DotPackLane;
    kernels.qk_tile = TileQkTile;
    kernels.load_v = TileLoadV;
    kernels.pv_tile = TilePvTile;
    return kernels;
  }();
  return table;
}
#endif

}  // namespace

const AttentionKernels& AttentionKernelsFor(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512Bf16) return DotKernels();
  if (isa == Isa::kAmx) return TileKernels();
#endif
  const AttentionKernels* vector = HighwayAttentionKernels(isa);
  return vector != nullptr ? *vector : kAttentionKernelsScalar;
}

const AttentionKernels& ActiveAttentionKernels() {
  if (const AttentionKernels* kernels = g_override.load(std::memory_order_relaxed)) return *kernels;
  static const AttentionKernels& active = AttentionKernelsFor(ActiveIsa());
  return active;
}

void OverrideAttentionKernels(const AttentionKernels* kernels) {
  g_override.store(kernels, std::memory_order_relaxed);
}

}  // namespace pagoda

#include "engine/attention/kernels/kernels.h"

#include <atomic>

#include "engine/attention/kernels/tables.h"

namespace pagoda {
namespace {

std::atomic<const AttentionKernels*> g_override = nullptr;

#if defined(__x86_64__)
const AttentionKernels& Wide() { return *HighwayAttentionKernels(Isa::kAvx512); }

// An entry of a table that takes the element type first: kOfBf16 for bf16, else that of the AVX-512 table.
template <auto kEntry, auto kOfBf16>
struct ForBf16;
template <typename... Args, void (*AttentionKernels::*kEntry)(DType, Args...), auto kOfBf16>
struct ForBf16<kEntry, kOfBf16> {
  static void Call(DType dtype, Args... args) {
    if (dtype == DType::kBF16) return kOfBf16(args...);
    (Wide().*kEntry)(dtype, args...);
  }
};

void DotPackRow(const void* row, DType dtype, int64_t dim, float* out) {
  if (dtype == DType::kBF16) return avx512bf16::PackRow(row, dim, Wide().dim_pad(dim), out);
  Wide().pack_row(row, dtype, dim, out);
}

// The AVX-512 table with the bf16 products of q.k on the dot-product unit. P.V stays in f32: weights rounded
// to bf16 would cost more accuracy than the gate leaves (docs/decisions/0011).
const AttentionKernels& DotKernels() {
  static const AttentionKernels table = [] {
    AttentionKernels kernels = Wide();
    kernels.isa = Isa::kAvx512Bf16;
    kernels.qk = ForBf16<&AttentionKernels::qk, avx512bf16::Qk>::Call;
    kernels.pack_row = DotPackRow;
    kernels.load_k = ForBf16<&AttentionKernels::load_k, avx512bf16::LoadK>::Call;
    kernels.pack_lane = ForBf16<&AttentionKernels::pack_lane, avx512bf16::PackLane>::Call;
    kernels.qk_tile = ForBf16<&AttentionKernels::qk_tile, avx512bf16::QkTile>::Call;
    return kernels;
  }();
  return table;
}

// The AVX-512 table with the products of many rows in bf16 on tiles. K and q stand as the dot products take
// them.
const AttentionKernels& TileKernels() {
  static const AttentionKernels table = [] {
    AttentionKernels kernels = Wide();
    kernels.isa = Isa::kAmx;
    kernels.load_k = ForBf16<&AttentionKernels::load_k, avx512bf16::LoadK>::Call;
    kernels.pack_lane = ForBf16<&AttentionKernels::pack_lane, avx512bf16::PackLane>::Call;
    kernels.qk_tile = ForBf16<&AttentionKernels::qk_tile, amx::QkTile>::Call;
    kernels.load_v = ForBf16<&AttentionKernels::load_v, amx::LoadV>::Call;
    kernels.pv_tile = ForBf16<&AttentionKernels::pv_tile, amx::PvTile>::Call;
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

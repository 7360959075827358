#include "engine/attention/kernels/kernels.h"

#include <atomic>

#include "engine/attention/kernels/tables.h"

namespace pagoda {
namespace {

std::atomic<const AttentionKernels*> g_override = nullptr;

#if defined(__x86_64__)
// The AVX-512 table with the bf16 products of q.k on the dot-product unit. P.V stays in f32: weights rounded
// to bf16 would cost accuracy for a product that memory limits at the usual group sizes.
void DotQk(DType dtype, const KeyRun& k, const float* q, int64_t rows, int64_t q_ld, float scale,
           float* scores, int64_t scores_ld) {
  if (dtype == DType::kBF16) return avx512bf16::Qk(k, q, rows, q_ld, scale, scores, scores_ld);
  HighwayAttentionKernels(Isa::kAvx512)->qk(dtype, k, q, rows, q_ld, scale, scores, scores_ld);
}

void DotPackRow(const void* row, DType dtype, int64_t dim, float* out) {
  const AttentionKernels& wide = *HighwayAttentionKernels(Isa::kAvx512);
  if (dtype == DType::kBF16) return avx512bf16::PackRow(row, dim, wide.dim_pad(dim), out);
  wide.pack_row(row, dtype, dim, out);
}

const AttentionKernels& DotKernels() {
  static const AttentionKernels table = [] {
    AttentionKernels kernels = *HighwayAttentionKernels(Isa::kAvx512);
    kernels.isa = Isa::kAvx512Bf16;
    kernels.qk = DotQk;
    kernels.pack_row = DotPackRow;
    return kernels;
  }();
  return table;
}
#endif

}  // namespace

const AttentionKernels& AttentionKernelsFor(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512Bf16) return DotKernels();
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

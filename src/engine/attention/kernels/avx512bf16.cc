// The vector operations of dot_bf16.h in intrinsics. The only file compiled with -mavx512bf16: everything in
// it has internal linkage but the functions that kernels.cc puts into a table, so that no other code can
// end up here.
#include <immintrin.h>

#include <cstdint>

#include "engine/attention/kernels/dot_bf16.h"

namespace pagoda::avx512bf16 {
namespace {
struct Vec {
  using F32 = __m512;
  using Pairs = __m512i;

  static F32 Zero() { return _mm512_setzero_ps(); }
  static Pairs Load(const uint16_t* p) { return _mm512_loadu_si512(p); }
  static Pairs LoadFirst(const uint16_t* p, int64_t count) {
    return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((1ULL << count) - 1), p);
  }
  static void Store(Pairs v, uint16_t* p) { _mm512_storeu_si512(p, v); }
  static Pairs Broadcast(const float* word) { return _mm512_castps_si512(_mm512_set1_ps(*word)); }
  static void StoreF32(F32 v, float* p) { _mm512_storeu_ps(p, v); }
  static F32 Scale(F32 v, float factor) { return _mm512_mul_ps(v, _mm512_set1_ps(factor)); }
  static F32 Dot(F32 acc, Pairs a, Pairs b) { return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b); }

  static __m128 Fold(F32 v) {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  }
  // In the order of StoreSums4, so that a score doesn't depend on which keys it is computed with.
  static float Sum(F32 v) {
    const __m128 s = Fold(v);
    const __m128 pairs = _mm_hadd_ps(s, s);
    return _mm_cvtss_f32(_mm_hadd_ps(pairs, pairs));
  }
  static void StoreSums4(F32 a, F32 b, F32 c, F32 d, float scale, float* out) {
    __m128 w = Fold(a);
    __m128 x = Fold(b);
    __m128 y = Fold(c);
    __m128 z = Fold(d);
    _MM_TRANSPOSE4_PS(w, x, y, z);
    _mm_storeu_ps(out, _mm_mul_ps(_mm_set1_ps(scale), _mm_add_ps(_mm_add_ps(w, x), _mm_add_ps(y, z))));
  }
};
}  // namespace

void Qk(const KeyRun& k, const float* q, int64_t rows, int64_t q_ld, float scale, float* scores,
        int64_t scores_ld) {
  DotQk<Vec>(k, q, rows, q_ld, scale, scores, scores_ld);
}

void PackRow(const void* row, int64_t dim, int64_t pad, float* out) {
  DotPackRow(static_cast<const uint16_t*>(row), dim, pad, out);
}

void LoadK(const KeyRun& k, float* out, int64_t ld) { DotLoadK<Vec>(k, out, ld); }

void PackLane(const void* row, int64_t dim, int64_t lane, float* panel) {
  DotPackLane(static_cast<const uint16_t*>(row), dim, lane, panel);
}

void QkTile(const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t panel_stride, int64_t rows,
            int64_t dim, float scale, float* scores, int64_t ld, const PrefetchList& ahead) {
  DotQkTile<Vec>(k, k_ld, keys, q, panel_stride, rows, dim, scale, scores, ld, ahead);
}

}  // namespace pagoda::avx512bf16

// The operations of tile_bf16.h in instructions. The only file compiled with -mamx-tile and -mamx-bf16:
// everything in it has internal linkage but the functions that kernels.cc puts into a table, so that no other
// code can end up here.
//
// Tiles are written as assembler: GCC's intrinsics take the numbers of tiles as tokens of the preprocessor.
#include <immintrin.h>

#include <cstdint>

#include "engine/attention/kernels/tile_bf16.h"

namespace pagoda::amx {
namespace {

struct Unit {
  static constexpr __mmask32 kUpper = 0xAAAAAAAA;  // the upper half of each word

  static void Configure(const TileShapes& shapes) { asm volatile("ldtilecfg %0" : : "m"(shapes)); }
  static void Release() { asm volatile("tilerelease" : :); }
  template <int kTile>
  static void Zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  // Rows are `stride` bytes apart.
  template <int kTile>
  static void Load(const void* from, int64_t stride) {
    asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(from), "r"(stride) : "memory");
  }
  template <int kTile>
  static void Store(void* to, int64_t stride) {
    asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(kTile), "r"(to), "r"(stride) : "memory");
  }
  template <int kSum, int kLeft, int kRight>
  static void Dot() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kLeft), "i"(kRight));
  }

  static void Scale(float* row, float factor) {
    _mm512_storeu_ps(row, _mm512_mul_ps(_mm512_loadu_ps(row), _mm512_set1_ps(factor)));
  }

  static __m512i LoadFirst(const uint16_t* p, int64_t count) {
    return count >= kTileDepth ? _mm512_loadu_si512(p)
                               : _mm512_maskz_loadu_epi16(static_cast<__mmask32>((1ULL << count) - 1), p);
  }
  // 32 elements of two keys as words, the even ones and the odd ones.
  static void StorePair(const uint16_t* first, const uint16_t* second, int64_t count, float* to) {
    const __m512i a = LoadFirst(first, count);
    const __m512i b = LoadFirst(second, count);
    _mm512_storeu_si512(to, _mm512_mask_mov_epi16(a, kUpper, _mm512_slli_epi32(b, 16)));
    _mm512_storeu_si512(to + kTileRows, _mm512_mask_mov_epi16(_mm512_srli_epi32(a, 16), kUpper, b));
  }
  static void StoreFirst(const uint16_t* first, int64_t count, float* to) {
    const __m512i a = LoadFirst(first, count);
    _mm512_storeu_si512(to, _mm512_and_si512(a, _mm512_set1_epi32(0xFFFF)));
    _mm512_storeu_si512(to + kTileRows, _mm512_srli_epi32(a, 16));
  }
  static void StoreSecond(const uint16_t* second, int64_t count, float* to) {
    const __m512i b = LoadFirst(second, count);
    const __m512i even = _mm512_loadu_si512(to);
    const __m512i odd = _mm512_loadu_si512(to + kTileRows);
    _mm512_storeu_si512(to, _mm512_mask_mov_epi16(even, kUpper, _mm512_slli_epi32(b, 16)));
    _mm512_storeu_si512(to + kTileRows, _mm512_mask_mov_epi16(odd, kUpper, b));
  }

  [[gnu::always_inline]] static inline void Transpose16(__m512i* m) {
    __m512i t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) {
      t[i] = _mm512_unpacklo_epi32(m[i], m[i + 1]);
      t[i + 1] = _mm512_unpackhi_epi32(m[i], m[i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 4) {
      m[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
      m[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
      m[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
      m[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    // m[4 * g + c] holds, in each 128-bit block b, column 4 * b + c of rows 4 * g to 4 * g + 3.
#pragma GCC unroll 16
    for (int c = 0; c < 4; ++c) {
      const __m512i even01 = _mm512_shuffle_i32x4(m[c], m[4 + c], 0x88);
      const __m512i odd01 = _mm512_shuffle_i32x4(m[c], m[4 + c], 0xDD);
      const __m512i even23 = _mm512_shuffle_i32x4(m[8 + c], m[12 + c], 0x88);
      const __m512i odd23 = _mm512_shuffle_i32x4(m[8 + c], m[12 + c], 0xDD);
      t[c] = _mm512_shuffle_i32x4(even01, even23, 0x88);
      t[8 + c] = _mm512_shuffle_i32x4(even01, even23, 0xDD);
      t[4 + c] = _mm512_shuffle_i32x4(odd01, odd23, 0x88);
      t[12 + c] = _mm512_shuffle_i32x4(odd01, odd23, 0xDD);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) m[i] = t[i];
  }

  // weights[key * ld + row] of up to 32 keys and 16 rows as two tiles of [row][pair of keys] words: the upper
  // half of each weight, and what is left of it, rounded; nothing where there is no number left.
  static void SplitColumns(const float* weights, int64_t ld, int64_t keys, uint32_t* upper, uint32_t* rest) {
    StoreWords(weights, ld, keys, upper, [](__m512 v) { return _mm512_castps_si512(v); });
    StoreWords(weights, ld, keys, rest, [](__m512 v) { return Rest(v); });
  }
  template <class Part>
  static void StoreWords(const float* weights, int64_t ld, int64_t keys, uint32_t* to, Part part) {
    __m512i m[kTileRows];
    const auto upper_half = [&](int64_t key) {
      return _mm512_srli_epi32(part(_mm512_loadu_ps(weights + key * ld)), 16);
    };
    const auto pair = [&](int64_t key) {
      return _mm512_mask_mov_epi16(upper_half(key), kUpper, part(_mm512_loadu_ps(weights + (key + 1) * ld)));
    };
    if (keys == kTileDepth) {
#pragma GCC unroll 16
      for (int64_t p = 0; p < kTileRows; ++p) m[p] = pair(2 * p);
    } else {
      for (int64_t p = 0; p < kTileRows; ++p) {
        m[p] = 2 * p + 1 < keys    ? pair(2 * p)
               : 2 * p + 1 == keys ? upper_half(2 * p)
                                   : _mm512_setzero_si512();
      }
    }
    Transpose16(m);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kTileRows; ++i) _mm512_store_si512(to + i * kTileRows, m[i]);
  }
  [[gnu::always_inline]] static inline __m512i Rest(__m512 weight) {
    const __m512i upper =
        _mm512_and_si512(_mm512_castps_si512(weight), _mm512_set1_epi32(static_cast<int>(0xFFFF0000)));
    const __m512 rest = _mm512_sub_ps(weight, _mm512_castsi512_ps(upper));
    const __m512i zero_for_nan = _mm512_set1_epi32(0x88);
    const __m512 number = _mm512_fixupimm_ps(rest, rest, zero_for_nan, 0);
    return _mm512_add_epi32(_mm512_castps_si512(number), _mm512_set1_epi32(0x8000));
  }
};

}  // namespace

void QkTile(const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t panel_stride, int64_t rows,
            int64_t dim, float scale, float* scores, int64_t ld, const PrefetchList& ahead) {
  QkTile<Unit>(k, k_ld, keys, q, panel_stride, rows, dim, scale, scores, ld, ahead);
}

void LoadV(const KeyRun& v, float* out, int64_t tile_keys, int64_t first_key) {
  LoadV<Unit>(v, out, tile_keys, first_key);
}

void PvTile(const float* weights, int64_t ld, int64_t keys, const float* v, int64_t tile_keys, int64_t rows,
            int64_t dim, float* acc, int64_t acc_ld, const PrefetchList& ahead) {
  PvTile<Unit>(weights, ld, keys, v, tile_keys, rows, dim, acc, acc_ld, ahead);
}

}  // namespace pagoda::amx

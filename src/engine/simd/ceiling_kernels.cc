// What the machine can do at most, without any algorithm in the way.
// read:  8 independent vector loads per step and one add each; nothing is written. 1 byte read per byte.
// copy:  loads and non-temporal stores, so that the target is not read first. 1 byte read and 1 written.
//
// flops: 12 independent chains (4 of tiles), more than latency x ports of any core so far (4 x 2 on Zen).
//        Each step is one fused multiply-add per chain. No memory.
// Functions carry their instruction set as an attribute, and call nothing that is compiled for another.
#include "engine/simd/ceiling_kernels.h"

#include <array>
#include <cstring>
#include <vector>

#include "base/sys/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace pagoda {
namespace {

constexpr int kChains = 12;
// Every chain goes from kStart + j towards kAddend / (1 - kFactor) = 1 for as long as it runs: no subnormals,
// no overflow. None begins at 1, where a compiler would see that it stays.
constexpr float kStart = 2.0F;
constexpr float kFactor = 0.999999F;
constexpr float kAddend = 1e-6F;
constexpr int64_t kLine = 64;

// Prefetches into the first-level cache.
inline void Prefetch(const std::byte* p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(p + i);
}

void ReadRuns(const std::byte* base, const uint32_t* order, int64_t runs, int64_t run_bytes) {
  uint64_t sums[8] = {};
  for (int64_t r = 0; r < runs; ++r) {
    const std::byte* p = base + order[r] * run_bytes;
    for (int64_t i = 0; i < run_bytes; i += 64) {
      uint64_t words[8];
      std::memcpy(words, p + i, sizeof words);
      for (int64_t j = 0; j < 8; ++j) sums[j] += words[j];
    }
  }
  for (const uint64_t& sum : sums) asm volatile("" ::"r"(sum));
}

void ReadRunsAhead(const std::byte* base, const uint32_t* order, int64_t runs, int64_t run_bytes,
                   int64_t ahead) {
  for (int64_t r = 0; r < runs; ++r) {
    Prefetch(base + order[r + ahead] * run_bytes, run_bytes);
    ReadRuns(base, order + r, 1, run_bytes);
  }
}

void Copy(std::byte* to, const std::byte* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

// Four lanes: what every x86-64 and every AArch64 has, so that plain C++ compiled for them can't do more.
using F32x4 __attribute__((vector_size(16))) = float;

void FmaF32(int64_t steps) {
  F32x4 chains[kChains];
  for (int64_t j = 0; j < kChains; ++j) chains[j] = F32x4{} + (kStart + static_cast<float>(j));
  const F32x4 factor = F32x4{} + kFactor, addend = F32x4{} + kAddend;
  for (int64_t i = 0; i < steps; ++i) {
#if defined(__aarch64__)
    for (F32x4& chain : chains) chain = vfmaq_f32(addend, chain, factor);
#else
    for (F32x4& chain : chains) chain = chain * factor + addend;
#endif
  }
  for (const F32x4& chain : chains) asm volatile("" ::"m"(chain));
}

#if defined(__x86_64__)
#define PAGODA_AVX2 __attribute__((target("avx2,fma")))
#define PAGODA_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define PAGODA_AVX512_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define PAGODA_AMX __attribute__((target("amx-tile,amx-bf16")))

PAGODA_AVX2 void ReadRunsAvx2(const std::byte* base, const uint32_t* order, int64_t runs, int64_t run_bytes) {
  __m256i sums[8];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (int64_t r = 0; r < runs; ++r) {
    const std::byte* p = base + order[r] * run_bytes;
    for (int64_t i = 0; i < run_bytes; i += 256) {
      for (int64_t j = 0; j < 8; ++j) {
        const auto* from = reinterpret_cast<const __m256i*>(p + i + 32 * j);
        sums[j] = _mm256_add_epi64(sums[j], _mm256_load_si256(from));
      }
    }
  }
  for (const __m256i& sum : sums) asm volatile("" ::"x"(sum));
}

PAGODA_AVX2 void ReadRunsAheadAvx2(const std::byte* base, const uint32_t* order, int64_t runs,
                                   int64_t run_bytes, int64_t ahead) {
  __m256i sums[8];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (int64_t r = 0; r < runs; ++r) {
    const std::byte* p = base + order[r] * run_bytes;
    const std::byte* next = base + order[r + ahead] * run_bytes;
    for (int64_t i = 0; i < run_bytes; i += 256) {
      Prefetch(next + i, 256);
      for (int64_t j = 0; j < 8; ++j) {
        const auto* from = reinterpret_cast<const __m256i*>(p + i + 32 * j);
        sums[j] = _mm256_add_epi64(sums[j], _mm256_load_si256(from));
      }
    }
  }
  for (const __m256i& sum : sums) asm volatile("" ::"x"(sum));
}

PAGODA_AVX2 void CopyAvx2(std::byte* to, const std::byte* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 256) {
    __m256i block[8];
    for (int64_t j = 0; j < 8; ++j) {
      block[j] = _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i + 32 * j));
    }
    for (int64_t j = 0; j < 8; ++j)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + 32 * j), block[j]);
  }
  _mm_sfence();
}

PAGODA_AVX2 void FmaF32Avx2(int64_t steps) {
  __m256 chains[kChains];
  for (int64_t j = 0; j < kChains; ++j) chains[j] = _mm256_set1_ps(kStart + static_cast<float>(j));
  const __m256 factor = _mm256_set1_ps(kFactor), addend = _mm256_set1_ps(kAddend);
  for (int64_t i = 0; i < steps; ++i) {
    for (__m256& chain : chains) chain = _mm256_fmadd_ps(chain, factor, addend);
  }
  for (const __m256& chain : chains) asm volatile("" ::"x"(chain));
}

PAGODA_AVX512 void ReadRunsAvx512(const std::byte* base, const uint32_t* order, int64_t runs,
                                  int64_t run_bytes) {
  __m512i sums[8];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  const int64_t whole = run_bytes / 512 * 512;
  for (int64_t r = 0; r < runs; ++r) {
    const std::byte* p = base + order[r] * run_bytes;
    for (int64_t i = 0; i < whole; i += 512) {
      for (int64_t j = 0; j < 8; ++j) sums[j] = _mm512_add_epi64(sums[j], _mm512_load_si512(p + i + 64 * j));
    }
    if (whole == run_bytes) continue;
    for (int64_t j = 0; j < 4; ++j)
      sums[j] = _mm512_add_epi64(sums[j], _mm512_load_si512(p + whole + 64 * j));
  }
  for (const __m512i& sum : sums) asm volatile("" ::"v"(sum));
}

PAGODA_AVX512 void ReadRunsAheadAvx512(const std::byte* base, const uint32_t* order, int64_t runs,
                                       int64_t run_bytes, int64_t ahead) {
  __m512i sums[4];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (int64_t r = 0; r < runs; ++r) {
    const std::byte* p = base + order[r] * run_bytes;
    const std::byte* next = base + order[r + ahead] * run_bytes;
    for (int64_t i = 0; i < run_bytes; i += 256) {
      Prefetch(next + i, 256);
      for (int64_t j = 0; j < 4; ++j) sums[j] = _mm512_add_epi64(sums[j], _mm512_load_si512(p + i + 64 * j));
    }
  }
  for (const __m512i& sum : sums) asm volatile("" ::"v"(sum));
}

PAGODA_AVX512 void CopyAvx512(std::byte* to, const std::byte* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 256) {
    __m512i block[4];
    for (int64_t j = 0; j < 4; ++j) block[j] = _mm512_load_si512(from + i + 64 * j);
    for (int64_t j = 0; j < 4; ++j)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 64 * j), block[j]);
  }
  _mm_sfence();
}

PAGODA_AVX512 void FmaF32Avx512(int64_t steps) {
  __m512 chains[kChains];
  for (int64_t j = 0; j < kChains; ++j) chains[j] = _mm512_set1_ps(kStart + static_cast<float>(j));
  const __m512 factor = _mm512_set1_ps(kFactor), addend = _mm512_set1_ps(kAddend);
  for (int64_t i = 0; i < steps; ++i) {
    for (__m512& chain : chains) chain = _mm512_fmadd_ps(chain, factor, addend);
  }
  for (const __m512& chain : chains) asm volatile("" ::"v"(chain));
}

PAGODA_AVX512_BF16 void DotBf16Avx512(int64_t steps) {
  __m512 chains[kChains];
  for (int64_t j = 0; j < kChains; ++j) chains[j] = _mm512_set1_ps(kStart + static_cast<float>(j));
  // Zeros in one operand: the chains keep their values however long this runs.
  const auto zeros = reinterpret_cast<__m512bh>(_mm512_setzero_si512());
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80));
  for (int64_t i = 0; i < steps; ++i) {
    for (__m512& chain : chains) chain = _mm512_dpbf16_ps(chain, zeros, ones);
  }
  for (const __m512& chain : chains) asm volatile("" ::"v"(chain));
}

// Products of 16 x 32 and 32 x 16 zeros for four sums: one is 16 cycles, and its latency 52.
constexpr double kFlopsOfTiles = 2.0 * 4 * 16 * 32 * 16;

PAGODA_AMX void DotBf16Amx(int64_t steps) {
  struct {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } const shapes;
  // GCC's intrinsic says that it reads eight bytes, and the others aren't written.
  asm volatile("ldtilecfg %0" ::"m"(shapes));
  for (int64_t i = 0; i < steps; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}
#endif

std::vector<FlopLoop> FindFlopLoops() {
  const sys::CpuFeatures features = sys::DetectCpuFeatures();
  std::vector<FlopLoop> loops = {{"f32", features.neon ? "neon" : "scalar", 2.0 * 4 * kChains, FmaF32}};
#if defined(__x86_64__)
  if (features.avx2) loops.push_back({"f32", "avx2", 2.0 * 8 * kChains, FmaF32Avx2});
  if (features.avx512) loops.push_back({"f32", "avx512", 2.0 * 16 * kChains, FmaF32Avx512});
  if (features.avx512_bf16) loops.push_back({"bf16", "avx512bf16", 2.0 * 32 * kChains, DotBf16Avx512});
  if (features.amx_bf16) loops.push_back({"bf16", "amx", kFlopsOfTiles, DotBf16Amx});
#endif
  return loops;
}

MemoryLoops FindMemoryLoops() {
#if defined(__x86_64__)
  const sys::CpuFeatures features = sys::DetectCpuFeatures();
  if (features.avx512) return {ReadRunsAvx512, ReadRunsAheadAvx512, CopyAvx512};
  if (features.avx2) return {ReadRunsAvx2, ReadRunsAheadAvx2, CopyAvx2};
#endif
  return {ReadRuns, ReadRunsAhead, Copy};
}

}  // namespace

std::span<const uint32_t> SideBySideOrder() {
  static const auto order = [] {
    constexpr uint32_t kStreams = 8;
    std::array<uint32_t, kSideBySideBytes / kSideBySideRun> runs;
    for (uint32_t i = 0; i < runs.size(); ++i)
      runs[i] = i % kStreams * (runs.size() / kStreams) + i / kStreams;
    return runs;
  }();
  return order;
}

std::span<const FlopLoop> UsableFlopLoops() {
  static const std::vector<FlopLoop> loops = FindFlopLoops();
  return loops;
}

const MemoryLoops& WidestMemoryLoops() {
  static const MemoryLoops loops = FindMemoryLoops();
  return loops;
}

}  // namespace pagoda

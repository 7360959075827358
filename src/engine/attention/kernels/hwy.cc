// The kernels of kernels.h in Highway, compiled for AVX2, AVX-512 and NEON from this one source.
//
// bf16 is widened without shuffles: two neighbours are one 32-bit lane, a shift gives the even element as f32
// and a mask the odd one. Packed rows and accumulators of bf16 therefore stand in the order (evens, odds)
// within every 2N elements, and store_row puts them back once.
#include <cstdint>
#include <cstring>
#include <limits>

#include "engine/attention/kernels/kernels.h"
#include "engine/attention/kernels/portions.h"
#include "engine/attention/kernels/tables.h"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/attention/kernels/hwy.cc"
#include <hwy/foreach_target.h>  // must precede highway.h
#include <hwy/highway.h>

#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace pagoda::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using DU16 = hn::Rebind<uint16_t, DF>;
using VF = hn::Vec<DF>;

constexpr int64_t kN = HWY_LANES(float);
constexpr int64_t kChunk = 2 * kN;
constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

HWY_INLINE int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
HWY_INLINE int64_t PadToChunk(int64_t dim) { return (dim + kChunk - 1) / kChunk * kChunk; }

// --- element types

struct F32 {
  using Raw = float;
  static constexpr bool kEvenOdd = false;
  static HWY_INLINE void LoadChunk(const Raw* p, VF& a, VF& b) {
    const DF d;
    a = hn::LoadU(d, p);
    b = hn::LoadU(d, p + kN);
  }
  static HWY_INLINE VF LoadN(const Raw* p) { return hn::LoadU(DF(), p); }
};

struct F16 {
  using Raw = uint16_t;
  static constexpr bool kEvenOdd = false;
  static HWY_INLINE VF LoadN(const Raw* p) {
    const hn::Rebind<hwy::float16_t, DF> d16;
    return hn::PromoteTo(DF(), hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(p)));
  }
  static HWY_INLINE void LoadChunk(const Raw* p, VF& a, VF& b) {
    a = LoadN(p);
    b = LoadN(p + kN);
  }
};

struct BF16 {
  using Raw = uint16_t;
  static constexpr bool kEvenOdd = true;
  static HWY_INLINE void LoadChunk(const Raw* p, VF& a, VF& b) {
    const DU du;
    const auto pair = hn::LoadU(du, reinterpret_cast<const uint32_t*>(p));
    a = hn::BitCast(DF(), hn::ShiftLeft<16>(pair));
    b = hn::BitCast(DF(), hn::And(pair, hn::Set(du, 0xFFFF0000U)));
  }
  static HWY_INLINE VF LoadN(const Raw* p) {
    return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU(), hn::LoadU(DU16(), p))));
  }
};

// The last, shorter chunk of a row: reading past the row could meet a NaN of somebody else, or the end of
// memory.
template <class T>
HWY_INLINE void LoadTail(const typename T::Raw* p, int64_t count, VF& a, VF& b) {
  HWY_ALIGN typename T::Raw padded[kChunk] = {};
  std::memcpy(padded, p, static_cast<size_t>(count) * sizeof(*p));
  T::LoadChunk(padded, a, b);
}

// --- elementary functions

// exp(x) for x <= 88; 0 below -87 and for NaN; within 2 ulp. x * log2(e) = n + f with |f| <= 1/2; 2^f by a
// minimax polynomial of degree 5 that is exact at 0; 2^n by adding n to the exponent. Adding 1.5 * 2^23
// rounds to the integer n and leaves it in the low bits of the sum, where no conversion with its overflow
// checks is needed.
HWY_INLINE VF ExpOfNumber(VF x) {
  const DF d;
  const DU du;
  const VF round = hn::Set(d, 12582912.0F);
  const VF log2e = hn::Set(d, 1.44269502F);
  const auto in_range = hn::Ge(x, hn::Set(d, -87.0F));
  x = hn::Max(x, hn::Set(d, -87.0F));
  const VF shifted = hn::MulAdd(x, log2e, round);
  const VF n = hn::Sub(shifted, round);
  const VF f = hn::MulAdd(x, hn::Set(d, 1.92596299e-8F), hn::MulSub(x, log2e, n));
  VF y = hn::Set(d, 1.326472861e-3F);
  y = hn::MulAdd(y, f, hn::Set(d, 9.671513720e-3F));
  y = hn::MulAdd(y, f, hn::Set(d, 5.550733750e-2F));
  y = hn::MulAdd(y, f, hn::Set(d, 2.402224207e-1F));
  y = hn::MulAdd(y, f, hn::Set(d, 6.931469776e-1F));
  y = hn::MulAdd(y, f, hn::Set(d, 1.0F));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(du, shifted));
  return hn::IfThenElseZero(in_range, hn::BitCast(d, hn::Add(hn::BitCast(du, y), exponent)));
}

// NaN stays NaN.
HWY_INLINE VF Exp(VF x) { return hn::IfThenElse(hn::IsNaN(x), x, ExpOfNumber(x)); }

// tanh(x): Cephes' tanhf. A polynomial below 0.625, where 1 - 2/(exp(2x)+1) would lose relative accuracy.
HWY_INLINE VF Tanh(VF x) {
  const DF d;
  const VF size = hn::Abs(x);
  const VF z = hn::Mul(x, x);
  VF y = hn::Set(d, -5.70498872745e-3F);
  y = hn::MulAdd(y, z, hn::Set(d, 2.06390887954e-2F));
  y = hn::MulAdd(y, z, hn::Set(d, -5.37397155531e-2F));
  y = hn::MulAdd(y, z, hn::Set(d, 1.33314422036e-1F));
  y = hn::MulAdd(y, z, hn::Set(d, -3.33332819422e-1F));
  const VF small = hn::MulAdd(hn::Mul(y, z), x, x);
  const VF e = ExpOfNumber(hn::Min(hn::Add(size, size), hn::Set(d, 80.0F)));
  const VF large = hn::Sub(hn::Set(d, 1.0F), hn::Div(hn::Set(d, 2.0F), hn::Add(e, hn::Set(d, 1.0F))));
  // Asked this way round, NaN takes the polynomial and stays NaN; Min above would have made it a number.
  return hn::IfThenElse(hn::Ge(size, hn::Set(d, 0.625F)), hn::CopySignToAbs(large, x), small);
}

// --- few rows: q.k

// The 128-bit blocks of v added up.
template <class D>
HWY_INLINE auto FoldTo128(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    return FoldTo128(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    (void)d;
    return v;
  }
}

// The sums of four vectors, side by side: three add levels instead of four separate reductions. Each is added
// up in the same order, so that a score doesn't depend on which keys it is computed with.
HWY_INLINE void StoreSums4(VF v0, VF v1, VF v2, VF v3, float scale, float* out) {
  const DF d;
  const hn::RepartitionToWide<DF> d64;
  const VF s01 = hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1));
  const VF s23 = hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3));
  const auto w01 = hn::BitCast(d64, s01);
  const auto w23 = hn::BitCast(d64, s23);
  const VF sums = hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, w01, w23)),
                          hn::BitCast(d, hn::InterleaveUpper(d64, w01, w23)));
  const hn::FixedTag<float, 4> d4;
  hn::StoreU(hn::Mul(hn::Set(d4, scale), FoldTo128(d, sums)), d4, out);
}

// Rows to ask memory for while others are multiplied. A few lines with every chunk: all of them in a burst
// would occupy the core's miss buffers, and loads of what lies in L2 already would queue behind them.
struct Ahead {
  const char* rows = nullptr;  // null: nothing
  int64_t slot_bytes = 0;

  static HWY_INLINE Ahead Of(const Prefetch& all, int64_t key, int64_t keys, int64_t head) {
    if (key + keys > all.keys) return {};
    return {static_cast<const char*>(all.base) + key * all.slot_bytes + head * all.head_bytes,
            all.slot_bytes};
  }
  HWY_INLINE Ahead From(int64_t slot) const {
    return rows == nullptr ? Ahead{} : Ahead{rows + slot * slot_bytes, slot_bytes};
  }
  // The line that `byte` begins, of kKeys rows; nothing inside a line.
  template <int kKeys>
  HWY_INLINE void Ask(int64_t byte) const {
    if (rows == nullptr || byte % 64 != 0) return;
    for (int j = 0; j < kKeys; ++j) __builtin_prefetch(rows + j * slot_bytes + byte, 0, 2);
  }
};

// kRows rows against kKeys keys of one head.
template <class T, int kRows, int kKeys>
HWY_INLINE void QkBlock(const typename T::Raw* k, int64_t slot_stride, Ahead ahead, int64_t dim,
                        const float* q, int64_t q_ld, float scale, float* scores, int64_t scores_ld) {
  const DF d;
  VF acc[kRows][kKeys];
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kKeys; ++j) acc[r][j] = hn::Zero(d);
  }
  int64_t x = 0;
  for (; x + kChunk <= dim; x += kChunk) {
    ahead.Ask<kKeys>(x * static_cast<int64_t>(sizeof(*k)));
    for (int j = 0; j < kKeys; ++j) {
      VF a;
      VF b;
      T::LoadChunk(k + j * slot_stride + x, a, b);
      for (int r = 0; r < kRows; ++r) {
        acc[r][j] = hn::MulAdd(hn::Load(d, q + r * q_ld + x), a, acc[r][j]);
        acc[r][j] = hn::MulAdd(hn::Load(d, q + r * q_ld + x + kN), b, acc[r][j]);
      }
    }
  }
  if (x < dim) {
    for (int j = 0; j < kKeys; ++j) {
      VF a;
      VF b;
      LoadTail<T>(k + j * slot_stride + x, dim - x, a, b);
      for (int r = 0; r < kRows; ++r) {
        acc[r][j] = hn::MulAdd(hn::Load(d, q + r * q_ld + x), a, acc[r][j]);
        acc[r][j] = hn::MulAdd(hn::Load(d, q + r * q_ld + x + kN), b, acc[r][j]);
      }
    }
  }
  if constexpr (kKeys % 4 == 0) {
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < kKeys; j += 4)
        StoreSums4(acc[r][j], acc[r][j + 1], acc[r][j + 2], acc[r][j + 3], scale, scores + r * scores_ld + j);
    }
  } else if constexpr (kKeys == 2 && kRows % 2 == 0) {
    for (int r = 0; r < kRows; r += 2) {
      HWY_ALIGN float four[4];
      StoreSums4(acc[r][0], acc[r][1], acc[r + 1][0], acc[r + 1][1], scale, four);
      std::memcpy(scores + r * scores_ld, four, 2 * sizeof(float));
      std::memcpy(scores + (r + 1) * scores_ld, four + 2, 2 * sizeof(float));
    }
  } else {
    static_assert(kKeys == 1);
    for (int r = 0; r < kRows; ++r) {
      HWY_ALIGN float four[4];
      StoreSums4(acc[r][0], acc[r][0], acc[r][0], acc[r][0], scale, four);
      scores[r * scores_ld] = four[0];
    }
  }
}

// All keys of a block of kBlock for kRows rows, in steps that keep the accumulators in registers.
template <class T, int kRows, int kStep>
HWY_INLINE void QkKeys(const typename T::Raw* k, int64_t slot_stride, Ahead ahead, int64_t keys, int64_t dim,
                       const float* q, int64_t q_ld, float scale, float* scores, int64_t scores_ld) {
  int64_t j = 0;
  for (; j + kStep <= keys; j += kStep) {
    QkBlock<T, kRows, kStep>(k + j * slot_stride, slot_stride, ahead.From(j), dim, q, q_ld, scale, scores + j,
                             scores_ld);
  }
  for (; j < keys; ++j)
    QkBlock<T, kRows, 1>(k + j * slot_stride, slot_stride, ahead.From(j), dim, q, q_ld, scale, scores + j,
                         scores_ld);
}

// With four rows: their sums, a key and rows of q fill the register file. NEON, whose is as large, was never
// measured.
constexpr int kKeysOfFourRows = HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86 ? 4 : 2;

template <class T>
HWY_INLINE void QkHead(const typename T::Raw* k, int64_t slot_stride, Ahead ahead, int64_t keys, int64_t dim,
                       const float* q, int64_t rows, int64_t q_ld, float scale, float* scores,
                       int64_t scores_ld) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    QkKeys<T, 4, kKeysOfFourRows>(k, slot_stride, ahead, keys, dim, q + r * q_ld, q_ld, scale,
                                  scores + r * scores_ld, scores_ld);
    ahead = {};  // asked for once, whatever the number of rows
  }
  q += r * q_ld;
  scores += r * scores_ld;
  if (rows - r == 3) QkKeys<T, 3, 4>(k, slot_stride, ahead, keys, dim, q, q_ld, scale, scores, scores_ld);
  if (rows - r == 2) QkKeys<T, 2, 4>(k, slot_stride, ahead, keys, dim, q, q_ld, scale, scores, scores_ld);
  if (rows - r == 1) QkKeys<T, 1, 8>(k, slot_stride, ahead, keys, dim, q, q_ld, scale, scores, scores_ld);
}

// Calls body(first key, keys, head) in the order in which rows lie in memory: where a slot's heads are
// neighbours, a few slots at a time over all heads; where a head's slots are, head after head.
template <class Body>
HWY_INLINE void WalkRows(const KeyRun& run, int64_t block, Body body) {
  if (run.slot_stride >= run.head_stride) {
    for (int64_t j = 0; j < run.keys; j += block) {
      for (int64_t h = 0; h < run.heads; ++h) body(j, Least(block, run.keys - j), h);
    }
  } else {
    for (int64_t h = 0; h < run.heads; ++h) {
      for (int64_t j = 0; j < run.keys; j += block) body(j, Least(block, run.keys - j), h);
    }
  }
}

template <class T>
struct QkStep {
  const KeyRun& k;
  const float* q;
  int64_t rows;
  int64_t q_ld;
  float scale;
  float* scores;
  int64_t scores_ld;
  HWY_INLINE void operator()(int64_t key, int64_t keys, int64_t head) const {
    QkHead<T>(static_cast<const typename T::Raw*>(k.base) + key * k.slot_stride + head * k.head_stride,
              k.slot_stride, Ahead::Of(k.ahead, key, keys, head), keys, k.dim, q + head * rows * q_ld, rows,
              q_ld, scale, scores + head * rows * scores_ld + key, scores_ld);
  }
};

constexpr int64_t kKeyBlock = 8;

void Qk(DType dtype, const KeyRun& k, const float* q, int64_t rows, int64_t q_ld, float scale, float* scores,
        int64_t scores_ld) {
  if (dtype == DType::kBF16)
    return WalkRows(k, kKeyBlock, QkStep<BF16>{k, q, rows, q_ld, scale, scores, scores_ld});
  if (dtype == DType::kF16)
    return WalkRows(k, kKeyBlock, QkStep<F16>{k, q, rows, q_ld, scale, scores, scores_ld});
  WalkRows(k, kKeyBlock, QkStep<F32>{k, q, rows, q_ld, scale, scores, scores_ld});
}

// --- few rows: p.v

// acc[kRows][dim] += p[kRows][kKeys] * v[kKeys][dim].
template <class T, int kRows, int kKeys>
HWY_INLINE void PvBlock(const typename T::Raw* v, int64_t slot_stride, Ahead ahead, int64_t dim,
                        const float* p, int64_t p_ld, float* acc, int64_t acc_ld) {
  const DF d;
  for (int64_t x = 0; x < dim; x += kChunk) {
    ahead.Ask<kKeys>(x * static_cast<int64_t>(sizeof(*v)));
    VF lo[kRows];
    VF hi[kRows];
    for (int r = 0; r < kRows; ++r) {
      lo[r] = hn::Load(d, acc + r * acc_ld + x);
      hi[r] = hn::Load(d, acc + r * acc_ld + x + kN);
    }
    const bool whole = x + kChunk <= dim;
    for (int j = 0; j < kKeys; ++j) {
      VF a;
      VF b;
      if (HWY_LIKELY(whole)) {
        T::LoadChunk(v + j * slot_stride + x, a, b);
      } else {
        LoadTail<T>(v + j * slot_stride + x, dim - x, a, b);
      }
      for (int r = 0; r < kRows; ++r) {
        const VF weight = hn::Set(d, p[r * p_ld + j]);
        lo[r] = hn::MulAdd(weight, a, lo[r]);
        hi[r] = hn::MulAdd(weight, b, hi[r]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      hn::Store(lo[r], d, acc + r * acc_ld + x);
      hn::Store(hi[r], d, acc + r * acc_ld + x + kN);
    }
  }
}

template <class T, int kRows>
HWY_INLINE void PvKeys(const typename T::Raw* v, int64_t slot_stride, Ahead ahead, int64_t keys, int64_t dim,
                       const float* p, int64_t p_ld, float* acc, int64_t acc_ld) {
  int64_t j = 0;
  for (; j + 8 <= keys; j += 8) {
    PvBlock<T, kRows, 8>(v + j * slot_stride, slot_stride, ahead.From(j), dim, p + j, p_ld, acc, acc_ld);
  }
  for (; j < keys; ++j)
    PvBlock<T, kRows, 1>(v + j * slot_stride, slot_stride, ahead.From(j), dim, p + j, p_ld, acc, acc_ld);
}

template <class T>
struct PvStep {
  const KeyRun& v;
  const float* p;
  int64_t rows;
  int64_t p_ld;
  float* acc;
  int64_t acc_ld;
  HWY_INLINE void operator()(int64_t key, int64_t keys, int64_t head) const {
    Ahead ahead = Ahead::Of(v.ahead, key, keys, head);
    const auto* rows_of_v =
        static_cast<const typename T::Raw*>(v.base) + key * v.slot_stride + head * v.head_stride;
    const float* weights = p + head * rows * p_ld + key;
    float* out = acc + head * rows * acc_ld;
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      PvKeys<T, 4>(rows_of_v, v.slot_stride, ahead, keys, v.dim, weights + r * p_ld, p_ld, out + r * acc_ld,
                   acc_ld);
      ahead = {};
    }
    weights += r * p_ld;
    out += r * acc_ld;
    if (rows - r == 3) PvKeys<T, 3>(rows_of_v, v.slot_stride, ahead, keys, v.dim, weights, p_ld, out, acc_ld);
    if (rows - r == 2) PvKeys<T, 2>(rows_of_v, v.slot_stride, ahead, keys, v.dim, weights, p_ld, out, acc_ld);
    if (rows - r == 1) PvKeys<T, 1>(rows_of_v, v.slot_stride, ahead, keys, v.dim, weights, p_ld, out, acc_ld);
  }
};

void Pv(DType dtype, const KeyRun& v, const float* p, int64_t rows, int64_t p_ld, float* acc,
        int64_t acc_ld) {
  if (dtype == DType::kBF16) return WalkRows(v, kKeyBlock, PvStep<BF16>{v, p, rows, p_ld, acc, acc_ld});
  if (dtype == DType::kF16) return WalkRows(v, kKeyBlock, PvStep<F16>{v, p, rows, p_ld, acc, acc_ld});
  WalkRows(v, kKeyBlock, PvStep<F32>{v, p, rows, p_ld, acc, acc_ld});
}

// --- few rows: packing, softmax, storing

template <class T>
HWY_INLINE void PackRowOf(const void* row, int64_t dim, float* out) {
  const DF d;
  const auto* p = static_cast<const typename T::Raw*>(row);
  for (int64_t x = 0; x < dim; x += kChunk) {
    VF a;
    VF b;
    if (x + kChunk <= dim) {
      T::LoadChunk(p + x, a, b);
    } else {
      LoadTail<T>(p + x, dim - x, a, b);
    }
    hn::Store(a, d, out + x);
    hn::Store(b, d, out + x + kN);
  }
}

void PackRow(const void* row, DType dtype, int64_t dim, float* out) {
  if (dtype == DType::kBF16) return PackRowOf<BF16>(row, dim, out);
  if (dtype == DType::kF16) return PackRowOf<F16>(row, dim, out);
  PackRowOf<F32>(row, dim, out);
}

template <bool kCap, bool kAlibi>
HWY_INLINE VF Shape(VF s, VF cap, VF inverse_cap, VF slope, VF offset) {
  if constexpr (kCap) s = hn::Mul(cap, Tanh(hn::Mul(s, inverse_cap)));
  if constexpr (kAlibi) s = hn::MulAdd(slope, offset, s);
  return s;
}

template <bool kCap, bool kAlibi>
HWY_INLINE float SoftmaxRowOf(float* scores, int64_t keys, const RowWindow& window, float softcap,
                              RowState* state) {
  const DF d;
  const VF cap = hn::Set(d, softcap);
  const VF inverse_cap = hn::Set(d, kCap ? 1.0F / softcap : 0.0F);
  const VF slope = hn::Set(d, window.slope);
  const VF distance = hn::Set(d, window.distance);
  const VF lane = hn::Iota(d, 0.0F);
  const VF nothing = hn::Set(d, kMinusInf);
  VF top = nothing;
  for (int64_t j = 0; j < keys; j += kN) {
    const VF at = hn::Add(lane, hn::Set(d, static_cast<float>(j)));
    VF s = Shape<kCap, kAlibi>(hn::Load(d, scores + j), cap, inverse_cap, slope, hn::Add(distance, at));
    // Lanes against what is left of the window: keys past 2^24 are no exact floats.
    const VF begin = hn::Set(d, static_cast<float>(window.begin - j));
    const VF end = hn::Set(d, static_cast<float>(window.end - j));
    s = hn::IfThenElse(hn::And(hn::Ge(lane, begin), hn::Lt(lane, end)), s, nothing);
    hn::Store(s, d, scores + j);
    top = hn::Max(top, s);
  }
  float max = hn::GetLane(hn::MaxOfLanes(d, top));
  if (state->max > max) max = state->max;
  // A row that has seen nothing yet keeps max = -inf: shifting by 0 instead keeps inf - inf out of the
  // arithmetic, its weights are exp(-inf) = 0, and a score that is no number makes the sum none.
  const VF shift = hn::Set(d, max == kMinusInf ? 0.0F : max);
  VF sum = hn::Zero(d);
  for (int64_t j = 0; j < keys; j += kN) {
    const VF p = Exp(hn::Sub(hn::Load(d, scores + j), shift));
    hn::Store(p, d, scores + j);
    sum = hn::Add(sum, p);
  }
  const float factor =
      state->max == max
          ? 1.0F
          : hn::GetLane(Exp(hn::Set(d, state->max == kMinusInf ? kMinusInf : state->max - max)));
  state->sum = state->sum * factor + hn::GetLane(hn::SumOfLanes(d, sum));
  state->max = max;
  return factor;
}

float SoftmaxRow(float* scores, int64_t keys, const RowWindow& window, const ScoreRule& rule,
                 RowState* state) {
  const bool cap = rule.softcap > 0;
  const bool alibi = window.slope != 0;
  if (cap && alibi) return SoftmaxRowOf<true, true>(scores, keys, window, rule.softcap, state);
  if (cap) return SoftmaxRowOf<true, false>(scores, keys, window, rule.softcap, state);
  if (alibi) return SoftmaxRowOf<false, true>(scores, keys, window, rule.softcap, state);
  return SoftmaxRowOf<false, false>(scores, keys, window, rule.softcap, state);
}

void ScaleRow(float* row, int64_t n, float factor) {
  const DF d;
  const VF f = hn::Set(d, factor);
  for (int64_t i = 0; i < n; i += kN) hn::Store(hn::Mul(f, hn::Load(d, row + i)), d, row + i);
}

void AddScaledRow(const float* from, int64_t n, float weight, float* row) {
  const DF d;
  const VF w = hn::Set(d, weight);
  for (int64_t i = 0; i < n; i += kN) {
    hn::Store(hn::MulAdd(w, hn::Load(d, from + i), hn::Load(d, row + i)), d, row + i);
  }
}

// By e^-|x|, which never overflows: x / (1 + e) for x >= 0 and x * e / (1 + e) below. NaN stays NaN.
HWY_INLINE VF SiluOf(VF x) {
  const DF d;
  const VF e = ExpOfNumber(hn::Neg(hn::Abs(x)));
  const VF top = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, e), x);
  const VF y = hn::Div(top, hn::Add(hn::Set(d, 1.0F), e));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0F)), y);
}

void Silu(float* x, int64_t n, float scale) {
  const DF d;
  const VF s = hn::Set(d, scale);
  for (int64_t i = 0; i < n; i += kN) hn::Store(hn::Mul(s, SiluOf(hn::Load(d, x + i))), d, x + i);
}

// Rows are short: a call of memcpy for each would cost as much as some lines of it.
HWY_INLINE void CopyBytes(const char* from, char* to, int64_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * step <= bytes; i += 4 * step) {
    for (int64_t j = 0; j < 4; ++j)
      hn::StoreU(hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + i + j * step)), d,
                 reinterpret_cast<uint8_t*>(to + i + j * step));
  }
  if (i < bytes) std::memcpy(to + i, from + i, static_cast<size_t>(bytes - i));
}

struct CopyStep {
  const KeyRun& from;
  char* to;
  int64_t slot_bytes;
  int64_t head_bytes;
  int64_t size;
  HWY_INLINE void operator()(int64_t key, int64_t keys, int64_t head) const {
    const int64_t end = key + keys;
    const int64_t row_bytes = from.dim * size;
    for (int64_t j = key; j < end; ++j) {
      CopyBytes(static_cast<const char*>(from.base) + (j * from.slot_stride + head * from.head_stride) * size,
                to + j * slot_bytes + head * head_bytes, row_bytes);
    }
  }
};

void CopyRows(DType dtype, const KeyRun& from, void* to, int64_t slot_stride, int64_t head_stride) {
  const int64_t size = SizeOf(dtype);
  const bool dense = from.heads == 1 && from.slot_stride == from.dim && slot_stride == from.dim;
  if (dense)
    return CopyBytes(static_cast<const char*>(from.base), static_cast<char*>(to),
                     from.keys * from.dim * size);
  WalkRows(from, kKeyBlock,
           CopyStep{from, static_cast<char*>(to), slot_stride * size, head_stride * size, size});
}

// Rounds as F32ToBF16: to nearest even; NaN keeps its sign and the top of its payload, which plain integer
// rounding would carry into the exponent.
HWY_INLINE hn::Vec<DU16> ToBf16(VF v) {
  const DU du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF))));
  const auto is_nan = hn::RebindMask(du, hn::IsNaN(v));
  const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40));
  return hn::TruncateTo(DU16(), hn::IfThenElse(is_nan, quiet, rounded));
}

HWY_INLINE void StoreN(VF v, DType dtype, int64_t count, void* out, int64_t at) {
  const DF d;
  if (dtype == DType::kF32) {
    HWY_ALIGN float buffer[kN];
    float* to = static_cast<float*>(out) + at;
    if (count >= kN) return hn::StoreU(v, d, to);
    hn::Store(v, d, buffer);
    std::memcpy(to, buffer, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  HWY_ALIGN uint16_t buffer[kN];
  if (dtype == DType::kBF16) {
    hn::Store(ToBf16(v), DU16(), buffer);
  } else {
    const hn::Rebind<hwy::float16_t, DF> d16;
    hn::Store(hn::DemoteTo(d16, v), d16, reinterpret_cast<hwy::float16_t*>(buffer));
  }
  std::memcpy(static_cast<uint16_t*>(out) + at, buffer,
              static_cast<size_t>(Least(count, kN)) * sizeof(uint16_t));
}

void StoreRow(const float* row, DType dtype, int64_t dim, float factor, DType out_dtype, void* out) {
  const DF d;
  const VF f = hn::Set(d, factor);
  for (int64_t x = 0; x < dim; x += kChunk) {
    VF a = hn::Mul(f, hn::Load(d, row + x));
    VF b = hn::Mul(f, hn::Load(d, row + x + kN));
    if (dtype == DType::kBF16) {
      HWY_ALIGN float natural[kChunk];
      hn::StoreInterleaved2(a, b, d, natural);
      a = hn::Load(d, natural);
      b = hn::Load(d, natural + kN);
    }
    StoreN(a, out_dtype, dim - x, out, x);
    if (x + kN < dim) StoreN(b, out_dtype, dim - x - kN, out, x + kN);
  }
}

// --- many rows

template <class T>
HWY_INLINE VF LoadNatural(const typename T::Raw* p, int64_t count) {
  if (HWY_LIKELY(count >= kN)) return T::LoadN(p);
  HWY_ALIGN typename T::Raw padded[kN] = {};
  if (count > 0) std::memcpy(padded, p, static_cast<size_t>(count) * sizeof(*p));
  return T::LoadN(padded);
}

// K of a tile is widened to f32 once; V stands in panels, [panel][key][lane], as it is, and is widened where
// it is multiplied, which many rows share.

template <class T>
HWY_INLINE void LoadKOf(const KeyRun& k, float* out, int64_t ld) {
  const DF d;
  for (int64_t j = 0; j < k.keys; ++j) {
    const auto* row = static_cast<const typename T::Raw*>(k.base) + j * k.slot_stride;
    for (int64_t x = 0; x < k.dim; x += kN)
      hn::Store(LoadNatural<T>(row + x, k.dim - x), d, out + j * ld + x);
  }
}

void LoadK(DType dtype, const KeyRun& k, float* out, int64_t ld) {
  if (dtype == DType::kBF16) return LoadKOf<BF16>(k, out, ld);
  if (dtype == DType::kF16) return LoadKOf<F16>(k, out, ld);
  LoadKOf<F32>(k, out, ld);
}

template <class T>
HWY_INLINE void LoadVOf(const KeyRun& v, float* out, int64_t tile_keys, int64_t first_key) {
  using Raw = typename T::Raw;
  for (int64_t j = 0; j < v.keys; ++j) {
    const auto* row = static_cast<const Raw*>(v.base) + j * v.slot_stride;
    Raw* to = reinterpret_cast<Raw*>(out) + (first_key + j) * kChunk;
    int64_t x = 0;
    for (; x + kChunk <= v.dim; x += kChunk, to += tile_keys * kChunk)
      std::memcpy(to, row + x, kChunk * sizeof(Raw));
    if (x == v.dim) continue;
    std::memset(to, 0, kChunk * sizeof(Raw));
    std::memcpy(to, row + x, static_cast<size_t>(v.dim - x) * sizeof(Raw));
  }
}

void LoadV(DType dtype, const KeyRun& v, float* out, int64_t tile_keys, int64_t first_key) {
  if (dtype == DType::kBF16) return LoadVOf<BF16>(v, out, tile_keys, first_key);
  if (dtype == DType::kF16) return LoadVOf<F16>(v, out, tile_keys, first_key);
  LoadVOf<F32>(v, out, tile_keys, first_key);
}

template <class T>
HWY_INLINE void PackLaneOf(const void* row, int64_t dim, int64_t lane, float* panel) {
  const DF d;
  const auto* p = static_cast<const typename T::Raw*>(row);
  for (int64_t x = 0; x < dim; x += kN) {
    HWY_ALIGN float natural[kN];
    hn::Store(LoadNatural<T>(p + x, dim - x), d, natural);
    for (int64_t i = 0; i < Least(kN, dim - x); ++i) panel[(x + i) * kChunk + lane] = natural[i];
  }
}

void PackLane(DType dtype, const void* row, int64_t dim, int64_t lane, float* panel) {
  if (dtype == DType::kBF16) return PackLaneOf<BF16>(row, dim, lane, panel);
  if (dtype == DType::kF16) return PackLaneOf<F16>(row, dim, lane, panel);
  PackLaneOf<F32>(row, dim, lane, panel);
}

// The left side of a product, a(i, x): scores take rows of K, [row][x], outputs the weights, [x][row].
// Knowing which of the strides is 1 leaves few enough pointers for the register file.
struct RowsOfA {
  const float* at;
  int64_t stride;
  HWY_INLINE RowsOfA Down(int64_t rows) const { return {at + rows * stride, stride}; }
  // Three rows share a pointer: the others are one and two strides on.
  template <int kRows>
  struct Cursor {
    static constexpr int kPointers = (kRows + 2) / 3;
    const float* at[kPointers];
    int64_t stride;
    HWY_INLINE explicit Cursor(const RowsOfA& a) : stride(a.stride) {
      for (int64_t p = 0; p < kPointers; ++p) at[p] = a.at + 3 * p * a.stride;
    }
    HWY_INLINE float operator[](int i) const { return at[i / 3][i % 3 * stride]; }
    HWY_INLINE void Next() {
      for (int p = 0; p < kPointers; ++p) ++at[p];
    }
  };
};
struct ColumnsOfA {
  const float* at;
  int64_t stride;
  HWY_INLINE ColumnsOfA Down(int64_t rows) const { return {at + rows, stride}; }
  template <int kRows>
  struct Cursor {
    const float* at;
    int64_t stride;
    HWY_INLINE explicit Cursor(const ColumnsOfA& a) : at(a.at), stride(a.stride) {}
    HWY_INLINE float operator[](int i) const { return at[i]; }
    HWY_INLINE void Next() { at += stride; }
  };
};

// kRows x one panel of one or two vectors: as many accumulators as the register file holds beside B and a
// broadcast. c = scale * a.b, or c += a.b, with columns in the order in which b's type is widened.
constexpr int kGemmRows = HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86 ? 12 : 6;

template <class T, class A, int kRows, int kVectors, bool kAccumulate>
HWY_INLINE void GemmBlock(const A& a, const typename T::Raw* b, int64_t k, float* c, int64_t c_ld,
                          float scale, Portions& portions) {
  const DF d;
  VF sum[kRows][kVectors];
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v)
      sum[i][v] = kAccumulate ? hn::LoadU(d, c + i * c_ld + v * kN) : hn::Zero(d);
  }
  typename A::template Cursor<kRows> cursor(a);
  for (int64_t x = 0; x < k;) {
    portions.AskForNext();
    for (const int64_t end = Least(x + Portions::kSteps, k); x < end; ++x, cursor.Next(), b += kChunk) {
      VF part[kVectors];
      if constexpr (kVectors == 2) {
        T::LoadChunk(b, part[0], part[1]);
      } else {
        part[0] = T::LoadN(b);
      }
      for (int i = 0; i < kRows; ++i) {
        const VF value = hn::Set(d, cursor[i]);
        for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(value, part[v], sum[i][v]);
      }
    }
  }
  const VF factor = hn::Set(d, scale);
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(kAccumulate ? sum[i][v] : hn::Mul(factor, sum[i][v]), d, c + i * c_ld + v * kN);
  }
}

template <class T, class A, int kRows, int kVectors, bool kAccumulate>
HWY_INLINE void GemmRows(int64_t rows, const A& a, const typename T::Raw* b, int64_t k, float* c,
                         int64_t c_ld, float scale, Portions& portions) {
  if constexpr (kRows > 0) {
    if (rows == kRows)
      return GemmBlock<T, A, kRows, kVectors, kAccumulate>(a, b, k, c, c_ld, scale, portions);
    GemmRows<T, A, kRows - 1, kVectors, kAccumulate>(rows, a, b, k, c, c_ld, scale, portions);
  }
}

// In blocks of nearly equal height: a short last one would wait for its few sums.
template <class T, class A, int kVectors, bool kAccumulate>
HWY_INLINE void GemmPanel(A a, const typename T::Raw* b, int64_t m, int64_t k, float* c, int64_t c_ld,
                          float scale, Portions& portions) {
  for (int64_t blocks = (m + kGemmRows - 1) / kGemmRows; blocks > 0; --blocks) {
    const int64_t rows = (m + blocks - 1) / blocks;
    GemmRows<T, A, kGemmRows, kVectors, kAccumulate>(rows, a, b, k, c, c_ld, scale, portions);
    a = a.Down(rows);
    c += rows * c_ld;
    m -= rows;
  }
}

// c[i * c_ld + j] = scale * sum_x a(i, x) * b(x, j), or += that sum, for m rows and n columns, a multiple of
// kN; panels of b are `panel_stride` apart.
template <class T, bool kAccumulate, class A>
HWY_INLINE void Gemm(const A& a, const typename T::Raw* b, int64_t panel_stride, int64_t m, int64_t n,
                     int64_t k, float* c, int64_t c_ld, float scale, const PrefetchList& ahead) {
  if (m == 0 || n == 0) return;
  Portions portions(ahead, (n + kChunk - 1) / kChunk * ((m + kGemmRows - 1) / kGemmRows), k);
  int64_t j = 0;
  for (; j + kChunk <= n; j += kChunk, b += panel_stride)
    GemmPanel<T, A, 2, kAccumulate>(a, b, m, k, c + j, c_ld, scale, portions);
  if (j < n) GemmPanel<T, A, 1, kAccumulate>(a, b, m, k, c + j, c_ld, scale, portions);
}

void QkTile(DType /*dtype*/, const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t panel_stride,
            int64_t rows, int64_t dim, float scale, float* scores, int64_t ld, const PrefetchList& ahead) {
  Gemm<F32, false>(RowsOfA{k, k_ld}, q, panel_stride, keys, (rows + kN - 1) / kN * kN, dim, scores, ld, scale,
                   ahead);
}

template <class T>
HWY_INLINE void PvTileOf(const float* weights, int64_t ld, int64_t keys, const float* v, int64_t tile_keys,
                         int64_t rows, int64_t dim, float* acc, int64_t acc_ld, const PrefetchList& ahead) {
  Gemm<T, true>(ColumnsOfA{weights, ld}, reinterpret_cast<const typename T::Raw*>(v), tile_keys * kChunk,
                rows, PadToChunk(dim), keys, acc, acc_ld, 1.0F, ahead);
}

void PvTile(DType dtype, const float* weights, int64_t ld, int64_t keys, const float* v, int64_t tile_keys,
            int64_t rows, int64_t dim, float* acc, int64_t acc_ld, const PrefetchList& ahead) {
  if (dtype == DType::kBF16)
    return PvTileOf<BF16>(weights, ld, keys, v, tile_keys, rows, dim, acc, acc_ld, ahead);
  if (dtype == DType::kF16)
    return PvTileOf<F16>(weights, ld, keys, v, tile_keys, rows, dim, acc, acc_ld, ahead);
  PvTileOf<F32>(weights, ld, keys, v, tile_keys, rows, dim, acc, acc_ld, ahead);
}

template <bool kCap, bool kAlibi, bool kEdge>
HWY_INLINE void SoftmaxColumnsOf(float* scores, int64_t keys, int64_t rows, int64_t ld,
                                 const RowWindow* windows, float softcap, RowState* states, float* factors) {
  const DF d;
  const VF cap = hn::Set(d, softcap);
  const VF inverse_cap = hn::Set(d, kCap ? 1.0F / softcap : 0.0F);
  const VF nothing = hn::Set(d, kMinusInf);
  for (int64_t r = 0; r < rows; r += kN) {
    HWY_ALIGN float begins[kN];
    HWY_ALIGN float ends[kN];
    HWY_ALIGN float slopes[kN];
    HWY_ALIGN float distances[kN];
    HWY_ALIGN float maxima[kN];
    HWY_ALIGN float sums[kN];
    const int64_t live = Least(kN, rows - r);
    for (int64_t i = 0; i < kN; ++i) {
      const int64_t row = i < live ? r + i : rows - 1;
      begins[i] = static_cast<float>(windows[row].begin);
      ends[i] = static_cast<float>(windows[row].end);
      slopes[i] = windows[row].slope;
      distances[i] = windows[row].distance;
      maxima[i] = states[row].max;
      sums[i] = states[row].sum;
    }
    const VF begin = hn::Load(d, begins);
    const VF end = hn::Load(d, ends);
    const VF slope = hn::Load(d, slopes);
    const VF distance = hn::Load(d, distances);
    const VF old_max = hn::Load(d, maxima);
    VF max = old_max;
    for (int64_t j = 0; j < keys; ++j) {
      const VF at = hn::Set(d, static_cast<float>(j));
      VF s = hn::Load(d, scores + j * ld + r);
      s = Shape<kCap, kAlibi>(s, cap, inverse_cap, slope, hn::Add(distance, at));
      if constexpr (kEdge) s = hn::IfThenElse(hn::And(hn::Ge(at, begin), hn::Lt(at, end)), s, nothing);
      if constexpr (kCap || kAlibi || kEdge) hn::Store(s, d, scores + j * ld + r);
      max = hn::Max(max, s);
    }
    // As in SoftmaxRowOf.
    const auto seen = hn::Gt(max, nothing);
    const VF shift = hn::IfThenElseZero(seen, max);
    VF sum = hn::Zero(d);
    for (int64_t j = 0; j < keys; ++j) {
      const VF p = Exp(hn::Sub(hn::Load(d, scores + j * ld + r), shift));
      hn::Store(p, d, scores + j * ld + r);
      sum = hn::Add(sum, p);
    }
    const VF factor = hn::IfThenElse(seen, Exp(hn::Sub(old_max, shift)), hn::Set(d, 1.0F));
    hn::Store(factor, d, begins);
    hn::Store(max, d, maxima);
    hn::Store(hn::MulAdd(hn::Load(d, sums), factor, sum), d, sums);
    for (int64_t i = 0; i < live; ++i) {
      factors[r + i] = begins[i];
      states[r + i] = {maxima[i], sums[i]};
    }
  }
}

template <bool kCap, bool kAlibi>
HWY_INLINE void SoftmaxColumnsAt(bool edge, float* scores, int64_t keys, int64_t rows, int64_t ld,
                                 const RowWindow* windows, float softcap, RowState* states, float* factors) {
  if (edge)
    return SoftmaxColumnsOf<kCap, kAlibi, true>(scores, keys, rows, ld, windows, softcap, states, factors);
  SoftmaxColumnsOf<kCap, kAlibi, false>(scores, keys, rows, ld, windows, softcap, states, factors);
}

void SoftmaxColumns(float* scores, int64_t keys, int64_t rows, int64_t ld, const RowWindow* windows,
                    bool edge, bool alibi, const ScoreRule& rule, RowState* states, float* factors) {
  const float c = rule.softcap;
  if (c > 0 && alibi)
    return SoftmaxColumnsAt<true, true>(edge, scores, keys, rows, ld, windows, c, states, factors);
  if (c > 0) return SoftmaxColumnsAt<true, false>(edge, scores, keys, rows, ld, windows, c, states, factors);
  if (alibi) return SoftmaxColumnsAt<false, true>(edge, scores, keys, rows, ld, windows, c, states, factors);
  SoftmaxColumnsAt<false, false>(edge, scores, keys, rows, ld, windows, c, states, factors);
}

constexpr AttentionKernels kTable = {
    .isa = HWY_ARCH_X86 ? (HWY_TARGET == HWY_AVX2 ? Isa::kAvx2 : Isa::kAvx512) : Isa::kNeon,
    .lanes = kChunk,
    .row_lanes = kN,
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

const AttentionKernels* Table() { return &kTable; }

}  // namespace pagoda::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // a vector target

#if HWY_ONCE
namespace pagoda {

const AttentionKernels* HighwayAttentionKernels(Isa isa) {
#if HWY_ARCH_X86
  if (isa == Isa::kAvx2) return N_AVX2::Table();
  if (isa == Isa::kAvx512) return N_AVX3::Table();
#elif HWY_ARCH_ARM
  if (isa == Isa::kNeon) return N_NEON::Table();
#endif
  return nullptr;
}

}  // namespace pagoda
#endif

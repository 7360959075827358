// Tensors element by element: what the quick answers of the graph are checked against.
#pragma once

#include <rapidcheck.h>

#include <array>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "pagoda/tensor.h"

namespace pagoda::graph::testing {

// The address of each byte of a tensor.
inline std::set<uintptr_t> AddressesOf(const TensorView& t) {
  std::set<uintptr_t> bytes;
  std::array<int64_t, kMaxRank> index{};
  for (int64_t n = t.elements(); n > 0; --n) {
    int64_t offset = 0;
    for (int d = 0; d < t.rank; ++d) offset += index[d] * t.strides[d];
    for (int64_t byte = 0; byte < SizeOf(t.dtype); ++byte)
      bytes.insert(reinterpret_cast<uintptr_t>(t.data) +
                   static_cast<uintptr_t>(offset * SizeOf(t.dtype) + byte));
    for (int d = t.rank - 1; d >= 0 && ++index[d] == t.shape[d]; --d) index[d] = 0;
  }
  return bytes;
}

// Never read or written: the graph only compares addresses.
inline void* Address(uintptr_t at) { return reinterpret_cast<void*>(at); }

// A part of a dense array that begins at `base`: some of each dimension, forwards or backwards.
inline TensorView ArbitrarySlice(uintptr_t base, DType dtype, const std::vector<int64_t>& array,
                                 bool may_flip) {
  TensorView t;
  t.dtype = dtype;
  t.rank = static_cast<int>(array.size());
  int64_t stride = 1;
  int64_t offset = 0;
  for (int d = t.rank - 1; d >= 0; --d) {
    const int64_t from = *rc::gen::inRange<int64_t>(0, array[d]);
    t.shape[d] =
        *rc::gen::inRange<int64_t>(from == 0 && *rc::gen::inRange(0, 20) == 0 ? 0 : 1, array[d] - from + 1);
    const bool flipped = may_flip && *rc::gen::inRange(0, 4) == 0;
    t.strides[d] = flipped ? -stride : stride;
    offset += stride * (flipped && t.shape[d] > 0 ? from + t.shape[d] - 1 : from);
    stride *= array[d];
  }
  t.data = Address(base + static_cast<uintptr_t>(offset * SizeOf(dtype)));
  return t;
}

// The same elements with two dimensions exchanged.
inline TensorView Transposed(TensorView t) {
  if (t.rank < 2) return t;
  std::swap(t.shape[0], t.shape[t.rank - 1]);
  std::swap(t.strides[0], t.strides[t.rank - 1]);
  return t;
}

inline bool AnyCommon(const std::set<uintptr_t>& a, const std::set<uintptr_t>& b) {
  for (const uintptr_t byte : a) {
    if (b.contains(byte)) return true;
  }
  return false;
}

}  // namespace pagoda::graph::testing

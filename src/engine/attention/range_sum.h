// Long sequences, added up range by range: f32 loses less in a sum of sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/attention/keys.h"

namespace pagoda {

// Keys of one range, counted from a sequence's first: a multiple of the variants' tiles and of the usual
// pages.
inline constexpr int64_t kRangeKeys = 1536;
static_assert(kRangeKeys % kKeyChunk == 0, "a range begins where a tile of any block may");

// What a block in progress (RowWork, HstuRows) has added up of the ranges before the present one.
template <class Work>
class RangeSum {
 public:
  // Of blocks of up to `rows` rows over all their heads; a multiple of 64.
  static size_t Bytes(int64_t rows, int64_t partial_ld) {
    return static_cast<size_t>(RoundUp(rows * partial_ld * static_cast<int64_t>(sizeof(float)), 64));
  }

  RangeSum(Work& work, std::byte* at) : work_(work), sum_(reinterpret_cast<float*>(at)) {}

  // Before the keys from `key` on; keys come in order.
  void Enter(int64_t key) {
    const int64_t range = key / kRangeKeys;
    if (range == range_) return;
    if (range_ >= 0) {
      Finish();
      work_.StorePartial(sum_);
      work_.Clear();
      any_ = true;
    }
    range_ = range;
  }

  // The block holds the sum of all ranges.
  void Finish() {
    if (any_) work_.MergePartials(sum_, 1, 0);
  }

 private:
  Work& work_;
  float* sum_;
  int64_t range_ = -1;
  bool any_ = false;
};

}  // namespace pagoda

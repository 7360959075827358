// Blocks of query rows, ranges of keys, and where their K and V lie.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/round_up.h"
#include "engine/attention/kernels/kernels.h"
#include "pagoda/paged_kv.h"

namespace pagoda {

struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool empty() const { return begin >= end; }
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// Queries of one block of `group` query heads per kv head, so that its rows stay near `rows`; at least 1.
inline int64_t QueriesPerBlock(int64_t group, int64_t rows) { return std::max<int64_t>(1, rows / group); }

// `at` rounded up to a multiple of `step`, but not past `end`: where the tile that holds `at` ends.
inline int64_t TileEnd(int64_t at, int64_t step, int64_t end) {
  return std::min((at / step + 1) * step, end);
}

// Element `i` of an array.
inline std::byte* ElementAt(void* base, int64_t i, DType dtype) {
  return static_cast<std::byte*>(base) + i * SizeOf(dtype);
}

// Rows of one head that stand one after the other.
inline KeyRun DenseRun(const void* base, int64_t rows, int64_t dim) {
  KeyRun run;
  run.base = base;
  run.slot_stride = dim;
  run.keys = rows;
  run.heads = 1;
  run.dim = dim;
  return run;
}

// The longest run from the first of `keys` on that lies in one page; `pages` are the ids of the sequence's.
inline KeyRun RunInPage(const PagedKvView& kv, const int64_t* pages, KeyRange keys, int64_t head,
                        int64_t heads, bool value) {
  const int64_t page = pages[keys.begin / kv.page_size];
  const int64_t slot = keys.begin % kv.page_size;
  KeyRun run;
  run.keys = std::min(kv.page_size - slot, keys.end - keys.begin);
  run.heads = heads;
  run.slot_stride = value ? kv.v_slot_stride : kv.k_slot_stride;
  run.head_stride = value ? kv.v_head_stride : kv.k_head_stride;
  run.dim = value ? kv.head_dim_v : kv.head_dim;
  run.base = ElementAt(
      value ? kv.v : kv.k,
      page * (value ? kv.v_page_stride : kv.k_page_stride) + slot * run.slot_stride + head * run.head_stride,
      kv.dtype);
  return run;
}

// The rows of a run, to ask memory for.
inline Prefetch PrefetchOf(const KeyRun& run, DType dtype) {
  const int64_t size = SizeOf(dtype);
  return {run.base, run.slot_stride * size, run.head_stride * size, run.dim * size, run.keys};
}

// The runs of a range of keys, to ask memory for. Of very many only the first are.
class PrefetchRuns {
 public:
  // `first_of` gives the first run of a range that isn't empty.
  template <class FirstOf>
  static PrefetchRuns Of(KeyRange keys, FirstOf first_of) {
    PrefetchRuns runs;
    while (!keys.empty() && runs.count_ < std::ssize(runs.pieces_)) {
      const Prefetch run = first_of(keys);
      runs.pieces_[runs.count_++] = run;
      keys.begin += run.keys;
    }
    return runs;
  }
  PrefetchList list() const { return {pieces_.data(), count_}; }

 private:
  std::array<Prefetch, 16> pieces_;
  int64_t count_ = 0;
};

// Part `part` of `parts` of a range.
inline KeyRange PartOf(KeyRange keys, int64_t part, int64_t parts) {
  const int64_t share = (keys.end - keys.begin + parts - 1) / parts;
  const int64_t begin = std::min(keys.begin + part * share, keys.end);
  return {begin, std::min(begin + share, keys.end)};
}

// Where `row` stands in panels of `lanes` rows that are `ld` floats deep per row.
struct PanelLane {
  float* panel;
  int64_t lane;
};
inline PanelLane LaneOf(float* panels, int64_t row, int64_t lanes, int64_t ld) {
  const int64_t lane = row % lanes;
  return {panels + (row - lane) * ld, lane};
}

}  // namespace pagoda

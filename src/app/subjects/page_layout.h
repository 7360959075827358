// Which pages the sequences of a case own, and the index tensors that say so.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/random.h"
#include "judge/bench/suite.h"
#include "pagoda/paged_kv.h"
#include "pagoda/softmax.h"
#include "pagoda/tensor.h"

namespace pagoda::app {

// Of a pool: pages that nobody owns, so that a read or a write that goes astray shows.
inline constexpr int64_t kUnownedPages = 2;

struct PageLayout {
  int64_t num_pages = 0;                    // of the pool: what is owned and kUnownedPages
  std::vector<std::vector<int64_t>> pages;  // of each sequence; those of equal blocks are the same
};

// A dense i32 or i64 tensor.
struct IndexTensor {
  Buffer data;
  TensorView view;
};
// Values beyond int32 become its largest there.
IndexTensor MakeIndex(std::span<const int64_t> values, bool index64, std::initializer_list<int64_t> shape);

// Ids in random order. With `repeat`, a full page stands twice: in the first sequence and every other, or
// twice in the only one; what it replaces is owned by nobody.
PageLayout LayPages(const judge::CaseSpec& spec, Random& random, bool repeat);

// Index tensors of some sequences of a case, in the form and of the type that the case asks for.
struct BatchTables {
  Buffer q_indptr_data, first, second, third;
  TensorView q_indptr;
  PageTable table;
};

// `sequences` are indices into the case, in any order, also repeated. Padding holds -1, ids past the end and
// huge ones.
BatchTables MakeTables(const judge::CaseSpec& spec, const PageLayout& layout,
                       std::span<const int64_t> sequences);

// The cache of a case: `pool` holds K and V one after the other (split) or page by page (combined).
PagedKvView CacheView(const judge::CaseSpec& spec, int64_t num_pages, void* pool);
// Bytes of such a pool.
int64_t PoolBytes(const judge::CaseSpec& spec, int64_t num_pages);

// K of a key of the sequence that owns `pages`.
const void* KeyIn(const PagedKvView& kv, const std::vector<int64_t>& pages, int64_t key, int64_t kv_head);

// Softmax parameters of a case; the scale is 1/sqrt(D).
SoftmaxParams ParamsOf(const judge::CaseSpec& spec);

}  // namespace pagoda::app

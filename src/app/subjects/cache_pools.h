// The K/V pools of a case, filled so that a fault shows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "app/subjects/page_layout.h"
#include "app/subjects/placed.h"
#include "base/buffer.h"
#include "base/random.h"
#include "judge/bench/suite.h"
#include "pagoda/paged_kv.h"
#include "pagoda/tensor.h"

namespace pagoda::app {

// Copies of one cache whose values are normal with variance 1 and whose pages are in random order. Every slot
// that no sequence owns is NaN. `spec.contexts` are the keys that lie in the cache.
class CachePools {
 public:
  CachePools(const judge::CaseSpec& spec, const InputOptions& options, Random& order, Random& places,
             uint64_t values_seed);
  // The same with pages where `layout` says.
  CachePools(const judge::CaseSpec& spec, PageLayout layout, const InputOptions& options, Random& places,
             uint64_t values_seed);

  const PageLayout& layout() const { return layout_; }
  const std::vector<PagedKvView>& views() const { return views_; }
  const Placed& pools() const { return pools_; }

 private:
  PageLayout layout_;
  Placed pools_;
  std::vector<PagedKvView> views_;
};

// The indices of all sequences of a case.
std::vector<int64_t> AllSequences(const judge::CaseSpec& spec);

// Query rows of all sequences of a case.
int64_t TotalQueries(const judge::CaseSpec& spec);

// Copies the rows of some sequences, one after the other; `lengths` has how many rows each of all has. `rows`
// [rows, ...], dense, is of all of them and then a view of the copy.
Buffer TakeRows(const std::vector<int64_t>& lengths, std::span<const int64_t> sequences, TensorView& rows);

}  // namespace pagoda::app

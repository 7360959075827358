#include "app/subjects/cache_pools.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "app/subjects/elements.h"

namespace pagoda::app {
namespace {

// NaN in every slot that no sequence owns.
void PoisonUnowned(const judge::CaseSpec& spec, const PageLayout& layout, const PagedKvView& kv) {
  std::vector<int64_t> owned_slots(layout.num_pages, 0);
  for (size_t b = 0; b < layout.pages.size(); ++b) {
    for (size_t i = 0; i < layout.pages[b].size(); ++i) {
      const int64_t left = spec.contexts[b] - static_cast<int64_t>(i) * spec.page_size;
      int64_t& owned = owned_slots[layout.pages[b][i]];
      owned = std::max(owned, std::min(left, spec.page_size));
    }
  }
  for (int64_t page = 0; page < layout.num_pages; ++page) {
    for (int64_t slot = owned_slots[page]; slot < spec.page_size; ++slot) {
      for (int64_t head = 0; head < spec.kv_heads; ++head) {
        FillNaN(kv.k, kv.dtype, page * kv.k_page_stride + slot * kv.k_slot_stride + head * kv.k_head_stride,
                kv.head_dim);
        FillNaN(kv.v, kv.dtype, page * kv.v_page_stride + slot * kv.v_slot_stride + head * kv.v_head_stride,
                kv.head_dim_v);
      }
    }
  }
}

}  // namespace

std::vector<int64_t> AllSequences(const judge::CaseSpec& spec) {
  std::vector<int64_t> all(spec.contexts.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

CachePools::CachePools(const judge::CaseSpec& spec, const InputOptions& options, Random& order,
                       Random& places, uint64_t values_seed)
    : CachePools(spec, LayPages(spec, order, options.repeat_pages), options, places, values_seed) {}

CachePools::CachePools(const judge::CaseSpec& spec, PageLayout layout, const InputOptions& options,
                       Random& places, uint64_t values_seed)
    : layout_(std::move(layout)) {
  const int64_t pool_bytes = PoolBytes(spec, layout_.num_pages);
  const int64_t pools = std::max<int64_t>(1, (options.least_pool_bytes + pool_bytes - 1) / pool_bytes);
  pools_ = Placed(pools, pool_bytes, places, options);
  for (const std::span<std::byte> pool : pools_.all()) {
    views_.push_back(CacheView(spec, layout_.num_pages, pool.data()));
  }
  FillNormal(pools_[0].data(), spec.dtype, pool_bytes / SizeOf(spec.dtype), values_seed);
  PoisonUnowned(spec, layout_, views_[0]);
  for (int64_t i = 1; i < pools; ++i) std::memcpy(pools_[i].data(), pools_[0].data(), pool_bytes);
}

int64_t TotalQueries(const judge::CaseSpec& spec) {
  return std::accumulate(spec.queries.begin(), spec.queries.end(), int64_t{0});
}

Buffer TakeRows(const std::vector<int64_t>& lengths, std::span<const int64_t> sequences, TensorView& rows) {
  const auto row_bytes = static_cast<size_t>(rows.strides[0] * SizeOf(rows.dtype));
  int64_t count = 0;
  for (const int64_t b : sequences) count += lengths[b];
  Buffer taken(static_cast<size_t>(count) * row_bytes);
  std::byte* to = taken.data();
  for (const int64_t b : sequences) {
    const int64_t first = std::accumulate(lengths.begin(), lengths.begin() + b, int64_t{0});
    const size_t bytes = static_cast<size_t>(lengths[b]) * row_bytes;
    std::memcpy(to, static_cast<const std::byte*>(rows.data) + static_cast<size_t>(first) * row_bytes, bytes);
    to += bytes;
  }
  rows.data = taken.data();
  rows.shape[0] = count;
  return taken;
}

}  // namespace pagoda::app

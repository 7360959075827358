#include "app/subjects/softmax_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "app/subjects/aligned_queries.h"
#include "app/subjects/elements.h"
#include "app/subjects/fingerprint.h"

namespace pagoda::app {
namespace {

std::vector<int64_t> AllSequences(const judge::CaseSpec& spec) {
  std::vector<int64_t> all(spec.contexts.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Inputs of equal size, each at a random multiple of 64 bytes: in a buffer of its own or, shared, all one
// after the other in one.
class Placed {
 public:
  Placed() = default;
  Placed(int64_t count, int64_t bytes, Random& random, const InputOptions& options) {
    constexpr int64_t kMostSteps = 64;  // one small page of 4 KB
    const bool shared = options.memory == Memory::kShared;
    const size_t apart = (static_cast<size_t>(bytes) / kBufferAlignment + 1 + kMostSteps) * kBufferAlignment;
    if (shared) buffers_.emplace_back(count * apart, Guards::kNone, Memory::kShared);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t steps = options.random_offsets ? random.Between(0, kMostSteps - 1) : 0;
      const size_t offset = static_cast<size_t>(steps) * kBufferAlignment;
      if (!shared) buffers_.emplace_back(static_cast<size_t>(bytes) + offset);
      std::byte* const start = shared ? buffers_[0].data() + i * apart : buffers_.back().data();
      contents_.emplace_back(start + offset, static_cast<size_t>(bytes));
    }
  }

  std::span<std::byte> operator[](size_t i) const { return contents_[i]; }
  const std::vector<std::span<std::byte>>& all() const { return contents_; }
  // Of shared memory: where other processes find a byte, if it is here.
  std::optional<FilePlace> PlaceOf(const void* p) const {
    const std::byte* const begin = buffers_[0].data();
    if (p < begin || p >= begin + buffers_[0].size()) return std::nullopt;
    return buffers_[0].PlaceOf(p);
  }

 private:
  std::vector<Buffer> buffers_;
  std::vector<std::span<std::byte>> contents_;
};

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

struct SoftmaxInputs::Impl {
  judge::CaseSpec spec;
  PageLayout layout;
  BatchTables tables;
  Placed pools, q;
  Buffer alibi, sinks;
  SoftmaxBatch batch;
  SoftmaxCall call;
  std::vector<PagedKvView> views;
  std::vector<int64_t> aligned_rows;
};

SoftmaxInputs::SoftmaxInputs(const judge::CaseSpec& spec, const InputOptions& options)
    : impl_(std::make_unique<Impl>()) {
  Impl& in = *impl_;
  const Random root(options.seed);
  Random order = root.Fork(0);
  Random places = root.Fork(1);
  in.spec = spec;
  in.layout = LayPages(spec, order, options.repeat_pages);
  in.tables = MakeTables(spec, in.layout, AllSequences(spec));

  const int64_t pool_bytes = PoolBytes(spec, in.layout.num_pages);
  const int64_t pools = std::max<int64_t>(1, (options.least_pool_bytes + pool_bytes - 1) / pool_bytes);
  in.pools = Placed(pools, pool_bytes, places, options);
  for (const std::span<std::byte> pool : in.pools.all()) {
    in.views.push_back(CacheView(spec, in.layout.num_pages, pool.data()));
  }
  FillNormal(in.pools[0].data(), spec.dtype, pool_bytes / SizeOf(spec.dtype), root.Fork(2).Bits());
  PoisonUnowned(spec, in.layout, in.views[0]);
  for (int64_t i = 1; i < pools; ++i) std::memcpy(in.pools[i].data(), in.pools[0].data(), pool_bytes);

  const int64_t total_q = std::accumulate(spec.queries.begin(), spec.queries.end(), int64_t{0});
  const int64_t q_elements = total_q * spec.q_heads * spec.head_dim;
  in.q = Placed(1, q_elements * SizeOf(spec.dtype), places, options);
  FillNormal(in.q[0].data(), spec.dtype, q_elements, root.Fork(3).Bits());
  in.call.q = TensorView::Dense(in.q[0].data(), spec.dtype, {total_q, spec.q_heads, spec.head_dim});
  in.call.kv = in.views[0];
  if (spec.alibi) {
    // Gentle slopes: over the whole context a key loses at most 8, so that far keys still count.
    const int64_t longest = *std::max_element(spec.contexts.begin(), spec.contexts.end());
    in.alibi = Buffer(spec.q_heads * sizeof(float));
    for (int64_t h = 0; h < spec.q_heads; ++h) {
      in.alibi.as<float>()[h] = 8.0f * static_cast<float>(h + 1) / static_cast<float>(spec.q_heads * longest);
    }
    in.call.alibi_slopes = TensorView::Dense(in.alibi.data(), DType::kF32, {spec.q_heads});
  }
  if (spec.sinks) {
    in.sinks = Buffer(spec.q_heads * sizeof(float));
    FillNormal(in.sinks.data(), DType::kF32, spec.q_heads, root.Fork(4).Bits());
    in.call.sinks = TensorView::Dense(in.sinks.data(), DType::kF32, {spec.q_heads});
  }
  in.batch = {spec.q_heads, in.tables.q_indptr, in.views[0], in.tables.table, ParamsOf(spec)};
  in.aligned_rows = AlignQueries(spec, in.layout, in.call, root.Fork(5));
}

SoftmaxInputs::SoftmaxInputs(SoftmaxInputs&&) noexcept = default;
SoftmaxInputs& SoftmaxInputs::operator=(SoftmaxInputs&&) noexcept = default;
SoftmaxInputs::~SoftmaxInputs() = default;

const SoftmaxBatch& SoftmaxInputs::batch() const { return impl_->batch; }
size_t SoftmaxInputs::pools() const { return impl_->views.size(); }
const std::vector<int64_t>& SoftmaxInputs::aligned_rows() const { return impl_->aligned_rows; }

SoftmaxCall SoftmaxInputs::call(size_t pool) const {
  SoftmaxCall call = impl_->call;
  call.kv = impl_->views[pool];
  return call;
}

FilePlace SoftmaxInputs::PlaceOf(const void* p) const {
  const std::optional<FilePlace> in_q = impl_->q.PlaceOf(p);
  return in_q ? *in_q : impl_->pools.PlaceOf(p).value();
}

uint64_t SoftmaxInputs::Fingerprint() const {
  const Impl& in = *impl_;
  uint64_t hash = app::Fingerprint(in.q[0]);
  for (const std::span<std::byte> pool : in.pools.all()) hash = app::Fingerprint(pool, hash);
  for (const Buffer* b : {&in.alibi, &in.sinks, &in.tables.q_indptr_data, &in.tables.first, &in.tables.second,
                          &in.tables.third}) {
    hash = app::Fingerprint({b->data(), b->size()}, hash);
  }
  return hash;
}

SoftmaxInputs::Part SoftmaxInputs::Take(std::span<const int64_t> sequences) const {
  const Impl& in = *impl_;
  Part part;
  part.tables = MakeTables(in.spec, in.layout, sequences);
  const size_t row_bytes = in.spec.q_heads * in.spec.head_dim * SizeOf(in.spec.dtype);
  int64_t rows = 0;
  for (const int64_t b : sequences) rows += in.spec.queries[b];
  part.q = Buffer(rows * row_bytes);
  std::byte* to = part.q.data();
  for (const int64_t b : sequences) {
    const int64_t first = std::accumulate(in.spec.queries.begin(), in.spec.queries.begin() + b, int64_t{0});
    const size_t bytes = in.spec.queries[b] * row_bytes;
    std::memcpy(to, static_cast<const std::byte*>(in.call.q.data) + first * row_bytes, bytes);
    to += bytes;
  }
  part.call = in.call;
  part.call.q = TensorView::Dense(part.q.data(), in.spec.dtype, {rows, in.spec.q_heads, in.spec.head_dim});
  part.batch = in.batch;
  part.batch.q_indptr = part.tables.q_indptr;
  part.batch.table = part.tables.table;
  return part;
}

ShapeOnly::ShapeOnly(const judge::CaseSpec& spec) {
  static std::byte never_read;
  Random random(0);
  const PageLayout layout = LayPages(spec, random, false);
  tables = MakeTables(spec, layout, AllSequences(spec));
  batch = {spec.q_heads, tables.q_indptr, CacheView(spec, layout.num_pages, &never_read), tables.table,
           ParamsOf(spec)};
}

}  // namespace pagoda::app

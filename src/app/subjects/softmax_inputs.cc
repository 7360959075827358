#include "app/subjects/softmax_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "app/subjects/aligned_queries.h"
#include "app/subjects/cache_pools.h"
#include "app/subjects/elements.h"
#include "app/subjects/fingerprint.h"

namespace pagoda::app {

struct SoftmaxInputs::Impl {
  judge::CaseSpec spec;
  std::optional<CachePools> cache;
  BatchTables tables;
  Placed q;
  Buffer alibi, sinks;
  SoftmaxBatch batch;
  SoftmaxCall call;
  std::vector<int64_t> aligned_rows;
};

SoftmaxInputs::SoftmaxInputs(const judge::CaseSpec& spec, const InputOptions& options)
    : impl_(std::make_unique<Impl>()) {
  Impl& in = *impl_;
  const Random root(options.seed);
  Random order = root.Fork(0);
  Random places = root.Fork(1);
  in.spec = spec;
  in.cache.emplace(spec, options, order, places, root.Fork(2).Bits());
  in.tables = MakeTables(spec, in.cache->layout(), AllSequences(spec));

  const int64_t total_q = TotalQueries(spec);
  const int64_t q_elements = total_q * spec.q_heads * spec.head_dim;
  in.q = Placed(1, q_elements * SizeOf(spec.dtype), places, options);
  FillNormal(in.q[0].data(), spec.dtype, q_elements, root.Fork(3).Bits());
  in.call.q = TensorView::Dense(in.q[0].data(), spec.dtype, {total_q, spec.q_heads, spec.head_dim});
  in.call.kv = in.cache->views()[0];
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
  in.batch = {spec.q_heads, in.tables.q_indptr, in.call.kv, in.tables.table, ParamsOf(spec)};
  in.aligned_rows = AlignSoftmaxQueries(spec, in.cache->layout(), in.call, root.Fork(5));
}

SoftmaxInputs::SoftmaxInputs(SoftmaxInputs&&) noexcept = default;
SoftmaxInputs& SoftmaxInputs::operator=(SoftmaxInputs&&) noexcept = default;
SoftmaxInputs::~SoftmaxInputs() = default;

const SoftmaxBatch& SoftmaxInputs::batch() const { return impl_->batch; }
size_t SoftmaxInputs::pools() const { return impl_->cache->views().size(); }
const std::vector<int64_t>& SoftmaxInputs::aligned_rows() const { return impl_->aligned_rows; }

SoftmaxCall SoftmaxInputs::call(size_t pool) const {
  SoftmaxCall call = impl_->call;
  call.kv = impl_->cache->views()[pool];
  return call;
}

FilePlace SoftmaxInputs::PlaceOf(const void* p) const {
  const std::optional<FilePlace> in_q = impl_->q.PlaceOf(p);
  return in_q ? *in_q : impl_->cache->pools().PlaceOf(p).value();
}

uint64_t SoftmaxInputs::Fingerprint() const {
  const Impl& in = *impl_;
  uint64_t hash = app::Fingerprint(in.q[0]);
  for (const std::span<std::byte> pool : in.cache->pools().all()) hash = app::Fingerprint(pool, hash);
  for (const Buffer* b : {&in.alibi, &in.sinks, &in.tables.q_indptr_data, &in.tables.first, &in.tables.second,
                          &in.tables.third}) {
    hash = app::Fingerprint({b->data(), b->size()}, hash);
  }
  return hash;
}

SoftmaxInputs::Part SoftmaxInputs::Take(std::span<const int64_t> sequences) const {
  const Impl& in = *impl_;
  Part part;
  part.tables = MakeTables(in.spec, in.cache->layout(), sequences);
  part.call = in.call;
  part.q = TakeRows(in.spec.queries, sequences, part.call.q);
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
  per_head.resize(static_cast<size_t>(spec.q_heads));
  call.kv = CacheView(spec, layout.num_pages, &never_read);
  call.q = TensorView::Dense(&never_read, spec.dtype, {TotalQueries(spec), spec.q_heads, spec.head_dim});
  const TensorView zeros = TensorView::Dense(per_head.data(), DType::kF32, {spec.q_heads});
  if (spec.alibi) call.alibi_slopes = zeros;
  if (spec.sinks) call.sinks = zeros;
  batch = {spec.q_heads, tables.q_indptr, call.kv, tables.table, ParamsOf(spec)};
}

}  // namespace pagoda::app

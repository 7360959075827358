#include "app/subjects/hstu_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "app/subjects/aligned_queries.h"
#include "app/subjects/cache_pools.h"
#include "app/subjects/elements.h"
#include "app/subjects/fingerprint.h"
#include "engine/attention/hstu/mask.h"

namespace pagoda::app {
namespace {

// The score of an aligned key: of unrelated ones it is about normal, and SiLU grows no faster than it.
constexpr double kAlignedScore = 16;

// The same case with the keys that lie in the cache for its lengths.
judge::CaseSpec CachedPart(const judge::CaseSpec& spec) {
  judge::CaseSpec cached = spec;
  for (int64_t& keys : cached.contexts) keys -= spec.targets;
  return cached;
}

int64_t Longest(const std::vector<int64_t>& lengths) {
  return *std::max_element(lengths.begin(), lengths.end());
}

HstuBatch BatchOf(const judge::CaseSpec& spec, const PagedKvView& kv, const BatchTables& tables,
                  Buffer& counts, int64_t batch_size) {
  HstuBatch batch;
  batch.dtype = spec.dtype;
  batch.q_heads = spec.q_heads;
  batch.kv_heads = spec.kv_heads;
  batch.head_dim = spec.head_dim;
  batch.head_dim_v = spec.head_dim_v;
  batch.seq_offsets = tables.q_indptr;
  batch.kv = kv;
  batch.table = tables.table;
  counts = Buffer(2 * batch_size * SizeOf(DType::kI64));
  std::fill_n(counts.as<int64_t>(), batch_size, spec.targets);
  std::fill_n(counts.as<int64_t>() + batch_size, batch_size, spec.contextual);
  batch.num_targets = TensorView::Dense(counts.data(), DType::kI64, {batch_size});
  if (spec.contextual > 0)
    batch.num_contextuals = TensorView::Dense(counts.as<int64_t>() + batch_size, DType::kI64, {batch_size});
  HstuParams& params = batch.params;
  params.mask = spec.causal ? HstuMask::kCausal : HstuMask::kNone;
  params.alpha = 1.0F / std::sqrt(static_cast<float>(spec.head_dim));
  params.max_seq_len = Longest(spec.contexts);
  params.target_group_size = spec.target_group;
  params.window_left = spec.window_left;
  params.window_right = spec.window_right;
  params.max_attn_len = spec.max_attn_len;
  params.min_full_attn_seq_len = spec.min_full_attn_seq_len;
  return batch;
}

// Rows that are no targets belong to nobody here: their keys lie in the cache.
void PoisonNonTargets(const judge::CaseSpec& spec, void* rows, int64_t row_elements) {
  int64_t first = 0;
  for (const int64_t queries : spec.queries) {
    FillNaN(rows, spec.dtype, first * row_elements, (queries - spec.targets) * row_elements);
    first += queries;
  }
}

}  // namespace

struct HstuInputs::Impl {
  judge::CaseSpec spec;
  std::optional<CachePools> cache;
  BatchTables tables;
  Placed q, k, v;
  Buffer counts, rab;
  HstuBatch batch;
  HstuCall call;
  std::vector<int64_t> aligned_rows;
};

HstuInputs::HstuInputs(const judge::CaseSpec& spec, const InputOptions& options)
    : impl_(std::make_unique<Impl>()) {
  Impl& in = *impl_;
  const Random root(options.seed);
  Random order = root.Fork(0);
  Random places = root.Fork(1);
  in.spec = spec;
  const judge::CaseSpec cached = CachedPart(spec);
  in.cache.emplace(cached, options, order, places, root.Fork(2).Bits());
  in.tables = MakeTables(cached, in.cache->layout(), AllSequences(spec));
  in.batch = BatchOf(spec, in.cache->views()[0], in.tables, in.counts, std::ssize(spec.contexts));
  in.call.kv = in.batch.kv;

  const int64_t rows = std::accumulate(spec.queries.begin(), spec.queries.end(), int64_t{0});
  const auto fill = [&](Placed& to, int64_t heads, int64_t dim, uint64_t seed) {
    const int64_t elements = rows * heads * dim;
    to = Placed(1, elements * SizeOf(spec.dtype), places, options);
    FillNormal(to[0].data(), spec.dtype, elements, seed);
    return TensorView::Dense(to[0].data(), spec.dtype, {rows, heads, dim});
  };
  in.call.q = fill(in.q, spec.q_heads, spec.head_dim, root.Fork(3).Bits());
  in.call.k = fill(in.k, spec.kv_heads, spec.head_dim, root.Fork(6).Bits());
  in.call.v = fill(in.v, spec.kv_heads, spec.head_dim_v, root.Fork(7).Bits());
  PoisonNonTargets(spec, in.call.k.data, spec.kv_heads * spec.head_dim);
  PoisonNonTargets(spec, in.call.v.data, spec.kv_heads * spec.head_dim_v);
  if (spec.rab) {
    const int64_t elements = Longest(spec.queries) * Longest(spec.contexts);
    in.rab = Buffer(static_cast<size_t>(elements) * sizeof(float));
    FillNormal(in.rab.data(), DType::kF32, elements, root.Fork(4).Bits());
    in.call.rab =
        TensorView::Dense(in.rab.data(), DType::kF32, {1, 1, Longest(spec.queries), Longest(spec.contexts)});
  }

  const NormalHstuBatch normal = Normalise(in.batch);
  Random choice = root.Fork(5);
  AlignmentRule rule;
  rule.keys = [&](size_t b, int64_t back) -> std::optional<std::array<int64_t, kAlignedKeys>> {
    const auto sequence = static_cast<int64_t>(b);
    const RowSight sight = SightOf(normal, sequence, spec.queries[b] - 1 - back);
    if (sight.ranges().empty()) return std::nullopt;
    // What it sees of the history, all in one range; a row without any sees targets alone.
    const KeyRange seen = sight.ranges().front();
    auto keys = KeysAcrossPages(seen.begin, seen.end, spec.page_size, choice);
    if (spec.targets > 0 && choice.Below(2) == 1) keys[1] = sight.ranges().back().end - 1;
    return keys;
  };
  rule.key_at = [&](size_t b, int64_t key, int64_t kv_head) -> const void* {
    const int64_t held = normal.cached[b];
    if (key < held) return KeyIn(in.call.kv, in.cache->layout().pages[b], key, kv_head);
    const TensorView& k = in.call.k;
    const int64_t at = (normal.k_begin[b] + key - held) * k.strides[0] + kv_head * k.strides[1];
    return static_cast<const std::byte*>(k.data) + at * SizeOf(k.dtype);
  };
  rule.factor = [&](size_t, int64_t, int64_t, int64_t, double length, int64_t) {
    return kAlignedScore / (static_cast<double>(in.batch.params.alpha) * length);
  };
  in.aligned_rows = AlignQueries(spec, in.call.q, rule);
}

HstuInputs::HstuInputs(HstuInputs&&) noexcept = default;
HstuInputs& HstuInputs::operator=(HstuInputs&&) noexcept = default;
HstuInputs::~HstuInputs() = default;

const HstuBatch& HstuInputs::batch() const { return impl_->batch; }
size_t HstuInputs::pools() const { return impl_->cache->views().size(); }
const std::vector<int64_t>& HstuInputs::aligned_rows() const { return impl_->aligned_rows; }

HstuCall HstuInputs::call(size_t pool) const {
  HstuCall call = impl_->call;
  call.kv = impl_->cache->views()[pool];
  return call;
}

uint64_t HstuInputs::Fingerprint() const {
  const Impl& in = *impl_;
  uint64_t hash = app::Fingerprint(in.q[0]);
  for (const Placed* rows : {&in.k, &in.v}) hash = app::Fingerprint((*rows)[0], hash);
  for (const std::span<std::byte> pool : in.cache->pools().all()) hash = app::Fingerprint(pool, hash);
  for (const Buffer* b : {&in.rab, &in.counts, &in.tables.q_indptr_data, &in.tables.first, &in.tables.second,
                          &in.tables.third}) {
    hash = app::Fingerprint({b->data(), b->size()}, hash);
  }
  return hash;
}

HstuInputs::Part HstuInputs::Take(std::span<const int64_t> sequences) const {
  const Impl& in = *impl_;
  Part part;
  part.tables = MakeTables(CachedPart(in.spec), in.cache->layout(), sequences);
  part.batch = BatchOf(in.spec, in.batch.kv, part.tables, part.counts, std::ssize(sequences));
  part.call = in.call;
  part.q = TakeRows(in.spec, sequences, part.call.q);
  part.k = TakeRows(in.spec, sequences, part.call.k);
  part.v = TakeRows(in.spec, sequences, part.call.v);
  return part;
}

HstuShape::HstuShape(const judge::CaseSpec& spec) {
  static std::byte never_read;
  Random random(0);
  const judge::CaseSpec cached = CachedPart(spec);
  const PageLayout layout = LayPages(cached, random, false);
  tables = MakeTables(cached, layout, AllSequences(spec));
  batch = BatchOf(spec, CacheView(cached, layout.num_pages, &never_read), tables, counts,
                  std::ssize(spec.contexts));
}

}  // namespace pagoda::app

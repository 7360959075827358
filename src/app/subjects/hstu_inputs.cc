#include "app/subjects/hstu_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>

#include "app/subjects/aligned_queries.h"
#include "app/subjects/cache_pools.h"
#include "app/subjects/case_file.h"
#include "app/subjects/elements.h"
#include "app/subjects/fingerprint.h"
#include "engine/attention/hstu/mask.h"

namespace pagoda::app {
namespace {

// The score of an aligned key: of unrelated ones it is about normal, and SiLU grows no faster than it.
constexpr double kAlignedScore = 16;

int64_t Longest(const std::vector<int64_t>& lengths) {
  return *std::max_element(lengths.begin(), lengths.end());
}

// The same case with the keys that lie in the cache for its lengths.
judge::CaseSpec WithLengths(const judge::CaseSpec& spec, std::vector<int64_t> cached) {
  judge::CaseSpec part = spec;
  part.contexts = std::move(cached);
  return part;
}

std::vector<int64_t> HistoryOf(const judge::CaseSpec& spec) {
  std::vector<int64_t> cached = spec.contexts;
  for (int64_t& keys : cached) keys -= spec.targets;
  return cached;
}

HstuParams ParametersOf(const judge::CaseSpec& spec) {
  HstuParams params;
  params.mask = spec.causal ? HstuMask::kCausal : HstuMask::kNone;
  params.alpha = 1.0F / std::sqrt(static_cast<float>(spec.head_dim));
  params.max_seq_len = Longest(spec.contexts);
  params.target_group_size = spec.target_group;
  params.window_left = spec.window_left;
  params.window_right = spec.window_right;
  params.max_attn_len = spec.max_attn_len;
  params.min_full_attn_seq_len = spec.min_full_attn_seq_len;
  return params;
}

// The call of a case without its cache, over memory for each tensor.
HstuCall CallOver(const judge::CaseSpec& spec, void* q, void* k, void* v, void* rab) {
  const int64_t rows = TotalQueries(spec);
  HstuCall call;
  call.q = TensorView::Dense(q, spec.dtype, {rows, spec.q_heads, spec.head_dim});
  call.k = TensorView::Dense(k, spec.dtype, {rows, spec.kv_heads, spec.head_dim});
  call.v = TensorView::Dense(v, spec.dtype, {rows, spec.kv_heads, spec.head_dim_v});
  if (spec.rab)
    call.rab = TensorView::Dense(rab, DType::kF32, {1, 1, Longest(spec.queries), Longest(spec.contexts)});
  return call;
}

PageLayout LayoutOf(const NormalHstuBatch& batch) {
  PageLayout layout{.num_pages = batch.kv.num_pages, .pages = {}};
  for (int64_t b = 0; b < batch.batch; ++b) {
    layout.pages.emplace_back(batch.page_ids.begin() + batch.page_begin[b],
                              batch.page_ids.begin() + batch.page_begin[b + 1]);
  }
  return layout;
}

int64_t TargetsOf(const NormalHstuBatch& batch, int64_t b) { return batch.kv_len[b] - batch.history[b]; }

// Rows that are no targets belong to nobody: their keys lie in the cache.
void PoisonNonTargets(const NormalHstuBatch& batch, const TensorView& rows) {
  const int64_t row_elements = rows.shape[1] * rows.shape[2];
  for (int64_t b = 0; b < batch.batch; ++b) {
    const int64_t others = batch.q_len(b) - TargetsOf(batch, b);
    FillNaN(rows.data, rows.dtype, batch.q_begin[b] * row_elements, others * row_elements);
  }
}

// Whatever alpha is, unrelated scores are to be about normal, as those of suites: far below 0 the weight of a
// key is nothing but the rounding errors of its score. Bounded, so that q stays within its dtype.
void ScaleQueries(const NormalHstuBatch& batch, const TensorView& q) {
  constexpr double kMost = 64;
  const double spread =
      std::abs(static_cast<double>(batch.alpha)) * std::sqrt(static_cast<double>(batch.head_dim));
  const double factor = spread == 0 ? 1 : std::clamp(1 / spread, 1 / kMost, kMost);
  for (int64_t i = 0; i < q.elements(); ++i)
    WriteElement(q.data, q.dtype, i, factor * ReadElement(q.data, q.dtype, i));
}

std::span<const std::byte> BytesOf(const TensorView& dense) {
  return {static_cast<const std::byte*>(dense.data),
          dense.empty() ? 0 : static_cast<size_t>(dense.elements() * SizeOf(dense.dtype))};
}

// Keys of contiguous input come in runs of no page size; an aligned key in each of so many finds a lost part.
constexpr int64_t kContiguousRun = 64;

// Keys of a row at which a page, an interval or the targets could get lost, or nothing where it sees none.
std::optional<std::array<int64_t, kAlignedKeys>> KeysToFind(const NormalHstuBatch& batch, int64_t b,
                                                            int64_t a, Random& choice) {
  const RowSight sight = SightOf(batch, b, a);
  if (sight.ranges().empty()) return std::nullopt;
  // What it sees of the history, all in one range unless the mask is a list of them; a row without any sees
  // targets alone.
  const KeyRange seen = sight.ranges().front();
  auto keys =
      KeysAcrossPages(seen.begin, seen.end, batch.paged ? batch.kv.page_size : kContiguousRun, choice);
  const bool listed = batch.mask == HstuMask::kInterval;
  if (listed || (TargetsOf(batch, b) > 0 && choice.Below(2) == 1)) keys[1] = sight.ranges().back().end - 1;
  return keys;
}

}  // namespace

struct HstuInputs::Impl {
  judge::CaseSpec spec;
  std::optional<HstuShape> shape;
  NormalHstuBatch normal;
  std::optional<CachePools> cache;  // of a paged batch
  Placed q, k, v;                   // k and v in as many copies as call for, where they hold all keys
  Buffer rab;
  HstuCall call;
  std::vector<int64_t> aligned_rows;

  // K of a key, in the first pool.
  const void* KeyAt(int64_t b, int64_t key, int64_t kv_head) const {
    const int64_t held = normal.cached[b];
    if (key < held) return KeyIn(call.kv, cache->layout().pages[b], key, kv_head);
    const int64_t at = (normal.k_begin[b] + key - held) * call.k.strides[0] + kv_head * call.k.strides[1];
    return static_cast<const std::byte*>(call.k.data) + at * SizeOf(call.k.dtype);
  }

  // All that calls read besides q, K and V.
  std::vector<TensorView> Others() const {
    const HstuBatch& b = shape->batch;
    return {b.seq_offsets,
            b.seq_offsets_k,
            b.table.indptr,
            b.table.indices,
            b.table.last_page_len,
            b.table.block_table,
            b.table.context_lens,
            b.num_targets,
            b.num_contextuals,
            b.interval_mask,
            call.rab,
            call.mask};
  }
};

HstuInputs::HstuInputs(const judge::CaseSpec& spec, const InputOptions& options)
    : impl_(std::make_unique<Impl>()) {
  Impl& in = *impl_;
  const Random root(options.seed);
  Random places = root.Fork(1);
  in.spec = spec;
  in.shape.emplace(spec, root.Fork(0), options.repeat_pages);
  HstuBatch& batch = in.shape->batch;
  in.normal = Normalise(batch);
  const NormalHstuBatch& normal = in.normal;
  if (normal.paged) {
    in.cache.emplace(WithLengths(spec, normal.cached), LayoutOf(normal), options, places,
                     root.Fork(2).Bits());
    batch.kv = in.call.kv = in.cache->views()[0];
  }

  const auto fill = [&](Placed& to, int64_t copies, int64_t rows, int64_t heads, int64_t dim, uint64_t seed) {
    const int64_t elements = rows * heads * dim;
    to = Placed(copies, elements * SizeOf(spec.dtype), places, options);
    FillNormal(to[0].data(), spec.dtype, elements, seed);
    return TensorView::Dense(to[0].data(), spec.dtype, {rows, heads, dim});
  };
  int64_t copies = 1;
  if (!normal.paged) {
    const int64_t row = spec.kv_heads * (spec.head_dim + spec.head_dim_v) * SizeOf(spec.dtype);
    const int64_t bytes = normal.total_k * row;
    copies = std::max<int64_t>(1, (options.least_pool_bytes + bytes - 1) / bytes);
  }
  in.call.q = fill(in.q, 1, normal.total_q, spec.q_heads, spec.head_dim, root.Fork(3).Bits());
  in.call.k = fill(in.k, copies, normal.total_k, spec.kv_heads, spec.head_dim, root.Fork(6).Bits());
  in.call.v = fill(in.v, copies, normal.total_k, spec.kv_heads, spec.head_dim_v, root.Fork(7).Bits());
  if (spec.file) ScaleQueries(normal, in.call.q);
  for (const TensorView* rows : {&in.call.k, &in.call.v}) {
    if (normal.paged) PoisonNonTargets(normal, *rows);
  }
  for (const Placed* rows : {&in.k, &in.v}) {
    for (int64_t i = 1; i < copies; ++i) std::memcpy((*rows)[i].data(), (*rows)[0].data(), (*rows)[0].size());
  }
  in.call.rab = in.shape->call.rab;
  in.call.mask = in.shape->call.mask;
  if (spec.rab) {
    const int64_t elements = normal.longest_q * normal.longest_k;
    in.rab = Buffer(static_cast<size_t>(elements) * sizeof(float), Guards::kNone, options.memory);
    FillNormal(in.rab.data(), DType::kF32, elements, root.Fork(4).Bits());
    in.call.rab = TensorView::Dense(in.rab.data(), DType::kF32, {1, 1, normal.longest_q, normal.longest_k});
  }

  Random choice = root.Fork(5);
  AlignmentRule rule;
  rule.keys = [&](size_t b, int64_t back) {
    const auto sequence = static_cast<int64_t>(b);
    return KeysToFind(normal, sequence, normal.q_len(sequence) - 1 - back, choice);
  };
  rule.key_at = [&](size_t b, int64_t key, int64_t kv_head) {
    return in.KeyAt(static_cast<int64_t>(b), key, kv_head);
  };
  rule.factor = [&](size_t, int64_t, int64_t, int64_t, double length, int64_t) {
    const auto alpha = static_cast<double>(normal.alpha);
    return alpha == 0 ? 1 : kAlignedScore / (alpha * length);
  };
  in.aligned_rows = AlignQueries(spec, in.call.q, rule);
}

HstuInputs::HstuInputs(HstuInputs&&) noexcept = default;
HstuInputs& HstuInputs::operator=(HstuInputs&&) noexcept = default;
HstuInputs::~HstuInputs() = default;

const HstuBatch& HstuInputs::batch() const { return impl_->shape->batch; }
size_t HstuInputs::pools() const {
  return impl_->cache ? impl_->cache->views().size() : impl_->k.all().size();
}
const std::vector<int64_t>& HstuInputs::aligned_rows() const { return impl_->aligned_rows; }

HstuCall HstuInputs::call(size_t pool) const {
  const Impl& in = *impl_;
  HstuCall call = in.call;
  if (in.cache) {
    call.kv = in.cache->views()[pool];
  } else {
    call.k.data = in.k[pool].data();
    call.v.data = in.v[pool].data();
  }
  return call;
}

FilePlace HstuInputs::PlaceOf(const void* p) const {
  const Impl& in = *impl_;
  for (const Placed* placed : {&in.q, &in.k, &in.v}) {
    if (const auto place = placed->PlaceOf(p)) return *place;
  }
  if (in.cache) {
    if (const auto place = in.cache->pools().PlaceOf(p)) return *place;
  }
  return in.rab.PlaceOf(p);
}

uint64_t HstuInputs::Fingerprint() const {
  const Impl& in = *impl_;
  uint64_t hash = 0;
  const auto add = [&](const Placed& inputs) {
    for (const std::span<std::byte> one : inputs.all()) hash = app::Fingerprint(one, hash);
  };
  for (const Placed* rows : {&in.q, &in.k, &in.v}) add(*rows);
  if (in.cache) add(in.cache->pools());
  for (const TensorView& t : in.Others()) hash = app::Fingerprint(BytesOf(t), hash);
  return hash;
}

HstuInputs::Part HstuInputs::Take(std::span<const int64_t> sequences) const {
  const Impl& in = *impl_;
  const NormalHstuBatch& whole = in.normal;
  Part part;
  part.batch = in.shape->batch;
  part.call = in.call;
  const auto index = [&](const std::vector<int64_t>& values) {
    IndexTensor t = MakeIndex(values, in.spec.index64, {std::ssize(values)});
    part.data.push_back(std::move(t.data));
    return t.view;
  };
  const auto counts = [&](auto count) {
    std::vector<int64_t> values;
    for (const int64_t b : sequences) values.push_back(count(b));
    return index(values);
  };
  const auto take = [&](const std::vector<int64_t>& lengths, TensorView& rows) {
    part.data.push_back(TakeRows(lengths, sequences, rows));
  };
  const std::vector<int64_t> one_each(static_cast<size_t>(whole.batch), 1);
  std::vector<int64_t> q_lens;
  q_lens.reserve(static_cast<size_t>(whole.batch));
  for (int64_t b = 0; b < whole.batch; ++b) q_lens.push_back(whole.q_len(b));

  part.batch.num_targets = counts([&](int64_t b) { return TargetsOf(whole, b); });
  part.batch.num_contextuals = counts([&](int64_t b) { return whole.contextual[b]; });
  take(q_lens, part.call.q);
  if (whole.paged) {
    part.tables = MakeTables(WithLengths(in.spec, whole.cached), in.cache->layout(), sequences);
    part.batch.seq_offsets = part.tables.q_indptr;
    part.batch.table = part.tables.table;
    for (TensorView* rows : {&part.call.k, &part.call.v}) take(q_lens, *rows);
  } else {
    const auto offsets = [&](const std::vector<int64_t>& lengths) {
      std::vector<int64_t> begin{0};
      for (const int64_t b : sequences) begin.push_back(begin.back() + lengths[b]);
      return index(begin);
    };
    part.batch.seq_offsets = offsets(q_lens);
    part.batch.seq_offsets_k = offsets(whole.kv_len);
    for (TensorView* rows : {&part.call.k, &part.call.v}) take(whole.kv_len, *rows);
  }
  if (!part.batch.interval_mask.empty()) take(q_lens, part.batch.interval_mask);
  for (TensorView* pairs : {&part.call.rab, &part.call.mask}) {
    if (pairs->rank > 0 && pairs->shape[0] > 1) take(one_each, *pairs);
  }
  return part;
}

HstuShape::HstuShape(const judge::CaseSpec& spec) : HstuShape(spec, Random(0), false) {}

HstuShape::HstuShape(const judge::CaseSpec& spec, Random order, bool repeat_pages) {
  if (spec.file) {
    file = std::make_shared<const CaseFile>(CaseFile::Open(spec.file->path));
    const auto& problem = std::get<HstuProblem>(file->problem());
    batch = problem.batch;
    if (batch.paged()) batch.kv.num_pages += kUnownedPages;
    call.rab = problem.call.rab;
    call.mask = problem.call.mask;
    return;
  }
  static std::byte never_read;
  const judge::CaseSpec cached = WithLengths(spec, HistoryOf(spec));
  const PageLayout layout = LayPages(cached, order, repeat_pages);
  tables = MakeTables(cached, layout, AllSequences(spec));
  const auto sequences = std::ssize(spec.contexts);
  counts = Buffer(2 * sequences * SizeOf(DType::kI64));
  std::fill_n(counts.as<int64_t>(), sequences, spec.targets);
  std::fill_n(counts.as<int64_t>() + sequences, sequences, spec.contextual);
  batch.dtype = spec.dtype;
  batch.q_heads = spec.q_heads;
  batch.kv_heads = spec.kv_heads;
  batch.head_dim = spec.head_dim;
  batch.head_dim_v = spec.head_dim_v;
  batch.seq_offsets = tables.q_indptr;
  batch.kv = CacheView(cached, layout.num_pages, &never_read);
  batch.table = tables.table;
  batch.num_targets = TensorView::Dense(counts.data(), DType::kI64, {sequences});
  if (spec.contextual > 0)
    batch.num_contextuals = TensorView::Dense(counts.as<int64_t>() + sequences, DType::kI64, {sequences});
  batch.params = ParametersOf(spec);
  call = CallOver(spec, &never_read, &never_read, &never_read, &never_read);
  call.kv = batch.kv;
}

}  // namespace pagoda::app

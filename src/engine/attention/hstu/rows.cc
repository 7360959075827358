#include "engine/attention/hstu/rows.h"

#include <algorithm>
#include <memory>

namespace pagoda {
namespace {

// Rows of the score matrix of a block of many rows: with a tile's keys they fit in L1.
constexpr int64_t kScoreRows = 64;

// Entry (sequence, head, a, key) of a tensor whose first two dimensions may be 1 for all.
const float* Entry(const TensorView& t, int64_t sequence, int64_t head, int64_t a, int64_t key) {
  return static_cast<const float*>(t.data) + (t.shape[0] > 1 ? sequence * t.strides[0] : 0) +
         (t.shape[1] > 1 ? head * t.strides[1] : 0) + a * t.strides[2] + key * t.strides[3];
}

// A run that asks for `ahead`, cut to as many keys, since a key asks for one row. Rows of pages so small that
// the pieces would multiply badly aren't asked for.
KeyRun AskingFor(const Prefetch& ahead, KeyRun run) {
  constexpr int64_t kLeastKeys = 8;
  if (ahead.keys < std::min(kLeastKeys, run.keys)) return run;
  run.ahead = ahead;
  run.keys = std::min(run.keys, ahead.keys);
  return run;
}

}  // namespace

HstuContext MakeHstuContext(const NormalHstuBatch& batch, const HstuCall& call) {
  HstuContext context{ActiveAttentionKernels(), batch, call, batch.kv};
  context.kv.k = call.kv.k;
  context.kv.v = call.kv.v;
  return context;
}

KeyRun RunOfKeys(const HstuContext& context, int64_t sequence, KeyRange keys, int64_t head, int64_t heads,
                 bool value) {
  const NormalHstuBatch& batch = context.batch;
  const int64_t cached = batch.cached[sequence];
  if (keys.begin < cached) {
    return RunInPage(context.kv, batch.page_ids.data() + batch.page_begin[sequence],
                     {keys.begin, std::min(keys.end, cached)}, head, heads, value);
  }
  const TensorView& t = value ? context.call.v : context.call.k;
  KeyRun run;
  run.keys = keys.end - keys.begin;
  run.heads = heads;
  run.slot_stride = t.strides[0];
  run.head_stride = t.strides[1];
  run.dim = value ? batch.head_dim_v : batch.head_dim;
  run.base =
      ElementAt(t.data, (batch.k_begin[sequence] + keys.begin - cached) * t.strides[0] + head * t.strides[1],
                batch.dtype);
  return run;
}

HstuLayout::HstuLayout(const NormalHstuBatch& batch, const AttentionKernels& kernels, int64_t rows,
                       int64_t all_rows, int64_t tile_keys)
    : lanes_(kernels.lanes),
      q_ld_(kernels.dim_pad(batch.head_dim)),
      acc_ld_(kernels.dim_pad(batch.head_dim_v)) {
  const auto take = [this](int64_t bytes) {
    const size_t at = bytes_;
    bytes_ += static_cast<size_t>(RoundUp(bytes, 64));
    return at;
  };
  constexpr int64_t kFloat = sizeof(float);
  const bool many = rows > kFewRows;
  // Blocks of fewer rows than planned for may be few, so scores are sized for either form.
  scores_ = take(std::max(many ? tile_keys * kScoreRows : 0, all_rows * RoundUp(tile_keys, lanes_)) * kFloat);
  acc_ = take(all_rows * acc_ld_ * kFloat);
  sights_ = take(RoundUp(rows, batch.group) / batch.group * static_cast<int64_t>(sizeof(RowSight)));
  k_tile_ = take(many ? tile_keys * q_ld_ * kFloat : 0);
  v_tile_ = take(many ? tile_keys * acc_ld_ * kFloat : 0);
  q_ = take(RoundUp(all_rows, lanes_) * q_ld_ * kFloat);
}

HstuRows::HstuRows(const HstuContext& context, const HstuLayout& layout, const HstuBlock& block,
                   std::byte* scratch)
    : context_(&context), layout_(&layout), block_(block), rows_(block.queries * context.batch.group) {
  const auto floats = [scratch](size_t at) { return reinterpret_cast<float*>(scratch + at); };
  q_ = floats(layout.q_);
  scores_ = floats(layout.scores_);
  acc_ = floats(layout.acc_);
  sights_ = reinterpret_cast<RowSight*>(scratch + layout.sights_);
  k_tile_ = floats(layout.k_tile_);
  v_tile_ = floats(layout.v_tile_);
}

HstuRows HstuRows::StartEmpty(const HstuContext& context, const HstuLayout& layout, const HstuBlock& block,
                              std::byte* scratch) {
  HstuRows rows(context, layout, block, scratch);
  for (int64_t i = 0; i < block.queries; ++i) {
    std::construct_at(rows.sights_ + i, SightOf(context.batch, block.sequence, block.first_query + i));
  }
  rows.Clear();
  return rows;
}

HstuRows HstuRows::Start(const HstuContext& context, const HstuLayout& layout, const HstuBlock& block,
                         std::byte* scratch) {
  HstuRows rows = StartEmpty(context, layout, block, scratch);
  if (!rows.few()) {
    // Lanes past the last row and elements past the last of a row are multiplied too.
    std::fill_n(rows.q_, block.heads * RoundUp(rows.rows_, layout.lanes_) * layout.q_ld_, 0.0F);
  }
  const TensorView& q = context.call.q;
  for (int64_t h = 0; h < block.heads; ++h) {
    for (int64_t i = 0; i < rows.rows_; ++i) {
      const int64_t row = context.batch.q_begin[block.sequence] + rows.QueryIndex(i);
      rows.PackQ(h, i, ElementAt(q.data, row * q.strides[0] + rows.QueryHead(h, i) * q.strides[1], q.dtype));
    }
  }
  return rows;
}

void HstuRows::Clear() { std::fill_n(acc_, block_.heads * rows_ * layout_->acc_ld_, 0.0F); }

int64_t HstuRows::QueryHead(int64_t head, int64_t row) const {
  return (block_.first_head + head) * context_->batch.group + row % context_->batch.group;
}

void HstuRows::PackQ(int64_t head, int64_t row, const void* from) {
  const NormalHstuBatch& batch = context_->batch;
  if (few()) {
    context_->kernels.pack_row(from, batch.dtype, batch.head_dim, q_ + (head * rows_ + row) * layout_->q_ld_);
    return;
  }
  const auto [panel, lane] = LaneOf(q_ + head * RoundUp(rows_, layout_->lanes_) * layout_->q_ld_, row,
                                    layout_->lanes_, layout_->q_ld_);
  context_->kernels.pack_lane(batch.dtype, from, batch.head_dim, lane, panel);
}

KeyRun HstuRows::RunOf(KeyRange keys, int64_t head, int64_t heads, bool value) const {
  if (copied_ == nullptr)
    return RunOfKeys(*context_, block_.sequence, keys, block_.first_head + head, heads, value);
  const int64_t dim = value ? context_->batch.head_dim_v : context_->batch.head_dim;
  return DenseRun(ElementAt(value ? copied_->v : copied_->k, (keys.begin - copied_->keys.begin) * dim,
                            context_->batch.dtype),
                  keys.end - keys.begin, dim);
}

Prefetch HstuRows::Ahead(KeyRange keys, int64_t head, int64_t heads, bool value) const {
  if (keys.empty()) return {};
  const KeyRun run = RunOfKeys(*context_, block_.sequence, keys, block_.first_head + head, heads, value);
  return PrefetchOf(run, context_->batch.dtype);
}

PrefetchRuns HstuRows::AheadOf(KeyRange keys, int64_t head, bool value) const {
  return PrefetchRuns::Of(keys, [&](KeyRange rest) { return Ahead(rest, head, 1, value); });
}

HstuRows::RowRange HstuRows::SeeingRows(KeyRange keys) const {
  const auto sees = [&](int64_t row) { return SightOfRow(row).SeesAny(keys); };
  RowRange rows{0, rows_};
  while (rows.begin < rows.end && !sees(rows.begin)) ++rows.begin;
  while (rows.begin < rows.end && !sees(rows.end - 1)) --rows.end;
  rows.begin -= rows.begin % layout_->lanes_;
  return rows;
}

void HstuRows::Attend(KeyRange keys, KeyRange next, const CopiedKeys* copied) {
  copied_ = copied;
  if (few()) {
    AttendFew(keys, next);
  } else {
    AttendMany(keys, next);
  }
}

void HstuRows::AttendFew(KeyRange keys, KeyRange next) {
  const NormalHstuBatch& batch = context_->batch;
  const AttentionKernels& kernels = context_->kernels;
  const int64_t count = keys.end - keys.begin;
  const int64_t ld = RoundUp(count, layout_->lanes_);
  // The keys that stand in `next` where `key` stands in `keys`.
  const auto after = [&](int64_t key) { return KeyRange{next.begin + (key - keys.begin), next.end}; };
  for (int64_t key = keys.begin; key < keys.end;) {
    // V of these keys comes next, and its rows arrive while K is being multiplied; where they are copied, V
    // is here.
    const Prefetch ahead = copied_ == nullptr ? Ahead({key, keys.end}, 0, block_.heads, true)
                                              : Ahead(after(key), 0, block_.heads, false);
    const KeyRun run = AskingFor(ahead, RunOf({key, keys.end}, 0, block_.heads, false));
    kernels.qk(batch.dtype, run, q_, rows_, layout_->q_ld_, batch.alpha, scores_ + (key - keys.begin), ld);
    key += run.keys;
  }
  for (int64_t h = 0; h < block_.heads; ++h) {
    for (int64_t row = 0; row < rows_; ++row) {
      float* scores = scores_ + (h * rows_ + row) * ld;
      std::fill(scores + count, scores + ld, 0.0F);
      AddBias(keys, h, row, scores, 1);
      kernels.silu(scores, ld, batch.scale);
      Mask(keys, h, row, scores, 1);
    }
  }
  for (int64_t key = keys.begin; key < keys.end;) {
    const Prefetch ahead = Ahead(after(key), 0, block_.heads, copied_ != nullptr);
    const KeyRun run = AskingFor(ahead, RunOf({key, keys.end}, 0, block_.heads, true));
    kernels.pv(batch.dtype, run, scores_ + (key - keys.begin), rows_, ld, acc_, layout_->acc_ld_);
    key += run.keys;
  }
}

void HstuRows::Load(KeyRange keys, int64_t head, bool value) {
  const AttentionKernels& kernels = context_->kernels;
  for (int64_t key = keys.begin; key < keys.end;) {
    const KeyRun run = RunOf({key, keys.end}, head, 1, value);
    const int64_t at = key - keys.begin;
    if (value) {
      kernels.load_v(context_->batch.dtype, run, v_tile_, keys.end - keys.begin, at);
    } else {
      kernels.load_k(context_->batch.dtype, run, k_tile_ + at * layout_->q_ld_, layout_->q_ld_);
    }
    key += run.keys;
  }
}

// A few rows at a time, so that their scores stay in L1 from step to step; K and V are loaded once for all.
void HstuRows::AttendMany(KeyRange keys, KeyRange next) {
  const RowRange seeing = SeeingRows(keys);
  if (seeing.begin == seeing.end) return;
  const NormalHstuBatch& batch = context_->batch;
  const AttentionKernels& kernels = context_->kernels;
  const int64_t count = keys.end - keys.begin;
  const int64_t lanes = layout_->lanes_;
  const int64_t parts = (seeing.end - seeing.begin + kScoreRows - 1) / kScoreRows;
  for (int64_t h = 0; h < block_.heads; ++h) {
    const bool last = h + 1 == block_.heads;
    const KeyRange ahead = last ? next : keys;
    const int64_t ahead_head = last ? 0 : h + 1;
    Load(keys, h, false);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = seeing.begin + part * kScoreRows;
      const int64_t end = std::min(first + kScoreRows, seeing.end);
      const int64_t ld = RoundUp(end - first, kernels.row_lanes);
      const KeyRange ask_for = PartOf(ahead, part, parts);
      const float* q = q_ + (h * RoundUp(rows_, lanes) + first) * layout_->q_ld_;
      kernels.qk_tile(batch.dtype, k_tile_, layout_->q_ld_, count, q, lanes * layout_->q_ld_, end - first,
                      batch.head_dim, batch.alpha, scores_, ld, AheadOf(ask_for, ahead_head, false).list());
      for (int64_t row = first; row < end; ++row) AddBias(keys, h, row, scores_ + (row - first), ld);
      kernels.silu(scores_, count * ld, batch.scale);
      for (int64_t row = first; row < end; ++row) Mask(keys, h, row, scores_ + (row - first), ld);
      if (part == 0) Load(keys, h, true);
      float* acc = acc_ + (h * rows_ + first) * layout_->acc_ld_;
      kernels.pv_tile(batch.dtype, scores_, ld, count, v_tile_, count, end - first, batch.head_dim_v, acc,
                      layout_->acc_ld_, AheadOf(ask_for, ahead_head, true).list());
    }
  }
}

void HstuRows::AddBias(KeyRange keys, int64_t head, int64_t row, float* scores, int64_t step) const {
  const TensorView& rab = context_->call.rab;
  if (rab.empty()) return;
  const float* bias = Entry(rab, block_.sequence, QueryHead(head, row), QueryIndex(row), keys.begin);
  for (int64_t j = 0; j < keys.end - keys.begin; ++j)
    scores[j * step] += context_->batch.alpha * bias[j * rab.strides[3]];
}

void HstuRows::Mask(KeyRange keys, int64_t head, int64_t row, float* weights, int64_t step) const {
  if (context_->batch.mask == HstuMask::kDense) {
    const TensorView& mask = context_->call.mask;
    const float* factors = Entry(mask, block_.sequence, QueryHead(head, row), QueryIndex(row), keys.begin);
    for (int64_t j = 0; j < keys.end - keys.begin; ++j) weights[j * step] *= factors[j * mask.strides[3]];
    return;
  }
  const RowSight& sight = SightOfRow(row);
  if (sight.SeesAll(keys)) return;
  int64_t key = keys.begin;
  const auto hide_until = [&](int64_t end) {
    for (; key < end; ++key) weights[(key - keys.begin) * step] = 0;
  };
  for (const KeyRange& range : sight.ranges()) {
    hide_until(std::min(range.begin, keys.end));
    key = std::max(key, std::min(range.end, keys.end));
  }
  hide_until(keys.end);
}

void HstuRows::StoreOutput() const {
  const NormalHstuBatch& batch = context_->batch;
  const TensorView& out = context_->call.out;
  for (int64_t h = 0; h < block_.heads; ++h) {
    for (int64_t i = 0; i < rows_; ++i) {
      const int64_t row = batch.q_begin[block_.sequence] + QueryIndex(i);
      context_->kernels.store_row(
          acc_ + (h * rows_ + i) * layout_->acc_ld_, batch.dtype, batch.head_dim_v, 1.0F, out.dtype,
          ElementAt(out.data, row * out.strides[0] + QueryHead(h, i) * out.strides[1], out.dtype));
    }
  }
}

void HstuRows::StorePartial(float* partial) const {
  std::copy_n(acc_, block_.heads * rows_ * layout_->acc_ld_, partial);
}

void HstuRows::MergePartials(const float* partials, int64_t count, int64_t stride) {
  const int64_t floats = block_.heads * rows_ * layout_->acc_ld_;
  for (int64_t s = 0; s < count; ++s)
    context_->kernels.add_scaled_row(partials + s * stride, floats, 1.0F, acc_);
}

}  // namespace pagoda

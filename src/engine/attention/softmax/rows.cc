#include "engine/attention/softmax/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pagoda {
namespace {

constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

KeyRun PageRun(const RowContext& context, int64_t sequence, KeyRange keys, int64_t head, int64_t heads,
               bool value) {
  const NormalBatch& batch = context.batch;
  return RunInPage(context.kv, batch.page_ids.data() + batch.page_begin[sequence], keys, head, heads, value);
}

float F32At(const TensorView& view, int64_t i) {
  return static_cast<const float*>(view.data)[i * view.strides[0]];
}

}  // namespace

KeyRange VisibleKeys(const NormalBatch& batch, int64_t sequence, int64_t first_query, int64_t queries) {
  const int64_t len = batch.kv_len[sequence];
  const int64_t first = len - batch.q_len(sequence) + first_query;  // position of the first row
  const int64_t last = first + queries - 1;
  KeyRange keys{0, len};
  if (batch.causal) keys.end = std::min(keys.end, last + 1);
  if (batch.window_right >= 0) {
    // Rows may stand before the first key, so a window is unbounded only from len + Lq on.
    const int64_t right = std::min(batch.window_right, len + batch.q_len(sequence));
    keys.end = std::min(keys.end, last + right + 1);
  }
  if (batch.window_left >= 0)
    keys.begin = std::max<int64_t>(keys.begin, first - std::min(batch.window_left, len));
  if (queries <= 0 || keys.empty()) return {};
  return keys;
}

RowLayout::RowLayout(const NormalBatch& batch, const AttentionKernels& kernels, int64_t queries,
                     int64_t heads, int64_t tile_keys)
    : lanes_(kernels.lanes),
      q_ld_(kernels.dim_pad(batch.head_dim)),
      acc_ld_(kernels.dim_pad(batch.head_dim_v)),
      tile_keys_(tile_keys) {
  const int64_t rows = queries * batch.group;
  const auto take = [this](int64_t bytes) {
    const size_t at = bytes_;
    bytes_ += static_cast<size_t>(RoundUp(bytes, 64));
    return at;
  };
  constexpr int64_t kFloat = sizeof(float);
  const int64_t padded_rows = RoundUp(rows, lanes_);
  const bool many = rows > kFewRows;
  // Fewer rows than planned for may fall under kFewRows, so scores are sized for either form.
  scores_ = take(std::max(many ? tile_keys * std::min(padded_rows, kScoreRows) : 0,
                          heads * std::min(rows, kFewRows) * RoundUp(tile_keys, lanes_)) *
                 kFloat);
  acc_ = take(heads * rows * acc_ld_ * kFloat);
  states_ = take(heads * rows * static_cast<int64_t>(sizeof(RowState)));
  sights_ = take(heads * rows * static_cast<int64_t>(sizeof(RowWork::Sight)));
  windows_ = take(heads * rows * static_cast<int64_t>(sizeof(RowWindow)));
  factors_ = take(padded_rows * kFloat);
  k_tile_ = take(many ? tile_keys * q_ld_ * kFloat : 0);
  v_tile_ = take(many ? tile_keys * acc_ld_ * kFloat : 0);
  q_ = take(heads * padded_rows * q_ld_ * kFloat);
}

int64_t RowLayout::ScoreFloats(int64_t rows, int64_t heads, int64_t keys) const {
  return heads * Scores(nullptr, rows, keys).head_stride;
}

ScoreMatrix RowLayout::Scores(float* data, int64_t rows, int64_t keys) const {
  if (rows <= kFewRows) {
    const int64_t ld = RoundUp(keys, lanes_);
    return {data, ld, rows * ld};
  }
  const int64_t ld = RoundUp(rows, lanes_);
  return {data, ld, keys * ld};
}

void CopyKeys(const RowContext& from, const RowContext& to, int64_t sequence, KeyRange keys) {
  for (const bool value : {false, true}) {
    for (int64_t key = keys.begin; key < keys.end;) {
      const KeyRun source = PageRun(from, sequence, {key, keys.end}, 0, from.kv.kv_heads, value);
      const KeyRun target = PageRun(to, sequence, {key, key + source.keys}, 0, from.kv.kv_heads, value);
      from.kernels.copy_rows(from.kv.dtype, source, const_cast<void*>(target.base), target.slot_stride,
                             target.head_stride);
      key += source.keys;
    }
  }
}

RowContext MakeRowContext(const AttentionKernels& kernels, const NormalBatch& batch,
                          const SoftmaxCall& call) {
  RowContext context{kernels, batch, call, batch.kv};
  context.kv.k = call.kv.k;
  context.kv.v = call.kv.v;
  return context;
}

RowWork::RowWork(const RowContext& context, const RowLayout& layout, const RowBlock& block,
                 std::byte* scratch)
    : context_(&context), layout_(&layout), block_(block), rows_(block.queries * context.batch.group) {
  const auto floats = [scratch](size_t at) { return reinterpret_cast<float*>(scratch + at); };
  q_ = floats(layout.q_);
  scores_ = floats(layout.scores_);
  acc_ = floats(layout.acc_);
  states_ = reinterpret_cast<RowState*>(scratch + layout.states_);
  sights_ = reinterpret_cast<Sight*>(scratch + layout.sights_);
  windows_ = reinterpret_cast<RowWindow*>(scratch + layout.windows_);
  factors_ = floats(layout.factors_);
  k_tile_ = floats(layout.k_tile_);
  v_tile_ = floats(layout.v_tile_);
}

RowWork RowWork::Start(const RowContext& context, const RowLayout& layout, const RowBlock& block,
                       std::byte* scratch) {
  RowWork work = StartEmpty(context, layout, block, scratch);
  const NormalBatch& batch = context.batch;
  const TensorView& q = context.call.q;
  if (!work.few()) {
    // Lanes past the last row and elements past the last of a row are multiplied too.
    std::fill_n(work.q_, block.heads * RoundUp(work.rows_, layout.lanes_) * layout.q_ld_, 0.0F);
  }
  for (int64_t h = 0; h < block.heads; ++h) {
    for (int64_t i = 0; i < work.rows_; ++i) {
      const int64_t row = batch.q_begin[block.sequence] + block.first_query + i / batch.group;
      const int64_t head = (block.first_head + h) * batch.group + i % batch.group;
      work.PackQ(h, i, ElementAt(q.data, row * q.strides[0] + head * q.strides[1], q.dtype));
    }
  }
  return work;
}

RowWork RowWork::StartEmpty(const RowContext& context, const RowLayout& layout, const RowBlock& block,
                            std::byte* scratch) {
  RowWork work(context, layout, block, scratch);
  const NormalBatch& batch = context.batch;
  const TensorView& slopes = context.call.alibi_slopes;
  const int64_t first_position = batch.kv_len[block.sequence] - batch.q_len(block.sequence);
  for (int64_t h = 0; h < block.heads; ++h) {
    for (int64_t i = 0; i < work.rows_; ++i) {
      const int64_t query = block.first_query + i / batch.group;
      const int64_t head = (block.first_head + h) * batch.group + i % batch.group;
      const KeyRange sees = VisibleKeys(batch, block.sequence, query, 1);
      work.sights_[h * work.rows_ + i] = {sees.begin, sees.end, first_position + query,
                                          slopes.empty() ? 0.0F : F32At(slopes, head)};
    }
  }
  work.Clear();
  return work;
}

void RowWork::Clear() {
  std::fill_n(states_, state_rows(), RowState{kMinusInf, 0.0F});
  std::fill_n(acc_, state_rows() * layout_->acc_ld_, 0.0F);
}

void RowWork::PackQ(int64_t head, int64_t row, const void* from) {
  const NormalBatch& batch = context_->batch;
  const DType dtype = context_->call.q.dtype;
  if (few()) {
    context_->kernels.pack_row(from, dtype, batch.head_dim, q_ + (head * rows_ + row) * layout_->q_ld_);
    return;
  }
  const auto [panel, lane] = LaneOf(q_ + head * RoundUp(rows_, layout_->lanes_) * layout_->q_ld_, row,
                                    layout_->lanes_, layout_->q_ld_);
  context_->kernels.pack_lane(dtype, from, batch.head_dim, lane, panel);
}

KeyRun RowWork::RunOf(int64_t key, int64_t end, int64_t head, int64_t heads, bool value) const {
  return PageRun(*context_, block_.sequence, {key, end}, block_.first_head + head, heads, value);
}

// The first run of `keys`, to ask memory for.
Prefetch RowWork::Ahead(KeyRange keys, int64_t head, int64_t heads, bool value) const {
  if (keys.empty()) return {};
  return PrefetchOf(RunOf(keys.begin, keys.end, head, heads, value), context_->kv.dtype);
}

PrefetchRuns RowWork::AheadOf(KeyRange keys, int64_t head, bool value) const {
  return PrefetchRuns::Of(keys, [&](KeyRange rest) { return Ahead(rest, head, 1, value); });
}

void RowWork::Attend(KeyRange keys, KeyRange next, bool ask_ahead) {
  if (!few()) return AttendMany(keys, next, ask_ahead);
  const ScoreMatrix scores = layout_->Scores(scores_, rows_, keys.end - keys.begin);
  ScoresOfFew(keys, scores, ask_ahead);
  WeightsOfFew(keys, scores);
  ValuesOfFew(keys, scores, ask_ahead ? next : KeyRange{});
}

// A few rows at a time, so that their scores stay in L1 from step to step; K and V are loaded once for all.
// Where a mask cuts a tile off, each of these parts stops at the last key that it sees.
void RowWork::AttendMany(KeyRange tile, KeyRange next, bool ask_ahead) {
  const bool edge = SetWindows(tile);
  const RowRange seeing = SeeingRows(tile);
  const int64_t ld = std::min(RoundUp(rows_, layout_->lanes_), kScoreRows);
  const int64_t parts = (seeing.end - seeing.begin + kScoreRows - 1) / kScoreRows;
  for (int64_t h = 0; h < block_.heads; ++h) {
    const bool last = h + 1 == block_.heads;
    const KeyRange ahead = !ask_ahead ? KeyRange{} : last ? next : tile;
    const int64_t ahead_head = last ? 0 : h + 1;
    LoadKeys(tile, h);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t row = seeing.begin + part * kScoreRows;
      const RowRange rows{row, std::min(row + kScoreRows, seeing.end)};
      const int64_t keys = std::min(tile.end, sights_[rows.end - 1].end) - tile.begin;
      const KeyRange ask_for = PartOf(ahead, part, parts);
      ScoresOfRows(keys, h, rows, scores_, ld, AheadOf(ask_for, ahead_head, false));
      WeightsOfRows(keys, h, rows, edge, scores_, ld);
      if (part == 0) LoadValues(tile, h);
      ValuesOfRows(tile, keys, h, rows, scores_, ld, AheadOf(ask_for, ahead_head, true));
    }
  }
}

void RowWork::Scores(KeyRange keys, const ScoreMatrix& scores) {
  if (few()) return ScoresOfFew(keys, scores, false);
  for (int64_t h = 0; h < block_.heads; ++h) {
    for (int64_t key = keys.begin; key < keys.end; key += layout_->tile_keys_) {
      const KeyRange tile{key, std::min(key + layout_->tile_keys_, keys.end)};
      const RowRange rows = SeeingRows(tile);
      LoadKeys(tile, h);
      ScoresOfRows(tile.end - tile.begin, h, rows,
                   scores.data + h * scores.head_stride + (key - keys.begin) * scores.ld + rows.begin,
                   scores.ld);
    }
  }
}

void RowWork::Weights(KeyRange keys, const ScoreMatrix& scores) {
  if (few()) return WeightsOfFew(keys, scores);
  const bool edge = SetWindows(keys);
  const RowRange rows = SeeingRows(keys);
  for (int64_t h = 0; h < block_.heads; ++h) {
    WeightsOfRows(keys.end - keys.begin, h, rows, edge, scores.data + h * scores.head_stride + rows.begin,
                  scores.ld);
  }
}

void RowWork::Values(KeyRange keys, const ScoreMatrix& weights) {
  if (few()) return ValuesOfFew(keys, weights, {});
  for (int64_t h = 0; h < block_.heads; ++h) {
    for (int64_t key = keys.begin; key < keys.end; key += layout_->tile_keys_) {
      const KeyRange tile{key, std::min(key + layout_->tile_keys_, keys.end)};
      const RowRange rows = SeeingRows(tile);
      LoadValues(tile, h);
      ValuesOfRows(tile, tile.end - tile.begin, h, rows,
                   weights.data + h * weights.head_stride + (key - keys.begin) * weights.ld + rows.begin,
                   weights.ld);
    }
  }
}

bool RowWork::SetWindows(KeyRange keys) {
  const int64_t n = keys.end - keys.begin;
  bool edge = false;
  for (int64_t i = 0; i < state_rows(); ++i) {
    const Sight& sight = sights_[i];
    RowWindow& window = windows_[i];
    window.begin = static_cast<int32_t>(std::clamp<int64_t>(sight.begin - keys.begin, 0, n));
    window.end = static_cast<int32_t>(std::clamp<int64_t>(sight.end - keys.begin, 0, n));
    window.slope = sight.slope;
    window.distance = static_cast<float>(keys.begin - sight.position);
    edge = edge || window.begin > 0 || window.end < n;
  }
  return edge;
}

void RowWork::ScoresOfFew(KeyRange keys, const ScoreMatrix& scores, bool ask_ahead) const {
  for (int64_t key = keys.begin; key < keys.end;) {
    KeyRun run = RunOf(key, keys.end, 0, block_.heads, false);
    // V of these keys comes next, and its rows arrive while K is being multiplied.
    if (ask_ahead) run.ahead = Ahead({key, keys.end}, 0, block_.heads, true);
    context_->kernels.qk(context_->kv.dtype, run, q_, rows_, layout_->q_ld_, context_->batch.scale,
                         scores.data + (key - keys.begin), scores.ld);
    key += run.keys;
  }
}

void RowWork::WeightsOfFew(KeyRange keys, const ScoreMatrix& scores) {
  SetWindows(keys);
  const ScoreRule rule{context_->batch.softcap};
  for (int64_t i = 0; i < state_rows(); ++i) {
    const float factor = context_->kernels.softmax_row(scores.data + i * scores.ld, keys.end - keys.begin,
                                                       windows_[i], rule, &states_[i]);
    if (factor != 1.0F) context_->kernels.scale_row(acc_ + i * layout_->acc_ld_, layout_->acc_ld_, factor);
  }
}

void RowWork::ValuesOfFew(KeyRange keys, const ScoreMatrix& weights, KeyRange ask_for) {
  for (int64_t key = keys.begin; key < keys.end;) {
    KeyRun run = RunOf(key, keys.end, 0, block_.heads, true);
    // The rows of K that stand in `ask_for` where these stand in `keys`.
    run.ahead = Ahead({ask_for.begin + (key - keys.begin), ask_for.end}, 0, block_.heads, false);
    context_->kernels.pv(context_->kv.dtype, run, weights.data + (key - keys.begin), rows_, weights.ld, acc_,
                         layout_->acc_ld_);
    key += run.keys;
  }
}

// What a row sees grows and moves with its query, so the rows that see a key of a range are neighbours. The
// others are left out: of a causal block's last tiles that is half.
RowWork::RowRange RowWork::SeeingRows(KeyRange keys) const {
  const auto sees = [&](int64_t row) {
    return sights_[row].begin < keys.end && sights_[row].end > keys.begin &&
           sights_[row].begin < sights_[row].end;
  };
  RowRange rows{0, rows_};
  while (rows.begin < rows.end && !sees(rows.begin)) ++rows.begin;
  while (rows.begin < rows.end && !sees(rows.end - 1)) --rows.end;
  rows.begin -= rows.begin % layout_->lanes_;
  return rows;
}

void RowWork::LoadKeys(KeyRange tile, int64_t head) const {
  for (int64_t key = tile.begin; key < tile.end;) {
    const KeyRun run = RunOf(key, tile.end, head, 1, false);
    context_->kernels.load_k(context_->kv.dtype, run, k_tile_ + (key - tile.begin) * layout_->q_ld_,
                             layout_->q_ld_);
    key += run.keys;
  }
}

void RowWork::LoadValues(KeyRange tile, int64_t head) const {
  for (int64_t key = tile.begin; key < tile.end;) {
    const KeyRun run = RunOf(key, tile.end, head, 1, true);
    context_->kernels.load_v(context_->kv.dtype, run, v_tile_, tile.end - tile.begin, key - tile.begin);
    key += run.keys;
  }
}

void RowWork::ScoresOfRows(int64_t keys, int64_t head, RowRange rows, float* scores, int64_t ld,
                           const PrefetchRuns& ahead) const {
  const int64_t lanes = layout_->lanes_;
  const float* q = q_ + (head * RoundUp(rows_, lanes) + rows.begin) * layout_->q_ld_;
  context_->kernels.qk_tile(context_->kv.dtype, k_tile_, layout_->q_ld_, keys, q, lanes * layout_->q_ld_,
                            rows.end - rows.begin, context_->batch.head_dim, context_->batch.scale, scores,
                            ld, ahead.list());
}

void RowWork::WeightsOfRows(int64_t keys, int64_t head, RowRange rows, bool edge, float* scores, int64_t ld) {
  const AttentionKernels& kernels = context_->kernels;
  const int64_t first = head * rows_ + rows.begin;
  kernels.softmax_columns(scores, keys, rows.end - rows.begin, ld, windows_ + first, edge,
                          !context_->call.alibi_slopes.empty(), {context_->batch.softcap}, states_ + first,
                          factors_);
  for (int64_t i = 0; i < rows.end - rows.begin; ++i) {
    if (factors_[i] != 1.0F) kernels.scale_row(Acc(head, rows.begin + i), layout_->acc_ld_, factors_[i]);
  }
}

void RowWork::ValuesOfRows(KeyRange tile, int64_t keys, int64_t head, RowRange rows, const float* weights,
                           int64_t ld, const PrefetchRuns& ahead) {
  context_->kernels.pv_tile(context_->kv.dtype, weights, ld, keys, v_tile_, tile.end - tile.begin,
                            rows.end - rows.begin, context_->batch.head_dim_v, Acc(head, rows.begin),
                            layout_->acc_ld_, ahead.list());
}

float* RowWork::Acc(int64_t head, int64_t row) const {
  return acc_ + (head * rows_ + row) * layout_->acc_ld_;
}

void RowWork::StoreOutput() const {
  const NormalBatch& batch = context_->batch;
  const SoftmaxCall& call = context_->call;
  for (int64_t h = 0; h < block_.heads; ++h) {
    for (int64_t i = 0; i < rows_; ++i) {
      const int64_t row = batch.q_begin[block_.sequence] + block_.first_query + i / batch.group;
      const int64_t head = (block_.first_head + h) * batch.group + i % batch.group;
      auto [max, sum] = states_[h * rows_ + i];
      // A row that sees a key has a sum of at least 1, unless its scores were NaN: that must show, also
      // beside a sink and in a merge, which takes an LSE of -inf for an empty state.
      const Sight& sight = sights_[h * rows_ + i];
      const bool broken = sight.begin < sight.end && !(sum > 0);
      float shrink = 1;
      if (!call.sinks.empty()) {
        const float sink = F32At(call.sinks, head);
        const float top = std::max(max, sink);
        if (top > kMinusInf) {
          shrink = std::exp(max - top);
          sum = sum * shrink + std::exp(sink - top);
          max = top;
        }
      }
      constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
      const float factor = broken ? kNaN : sum > 0 ? shrink / sum : 0.0F;
      context_->kernels.store_row(
          Acc(h, i), context_->kv.dtype, batch.head_dim_v, factor, call.out.dtype,
          ElementAt(call.out.data, row * call.out.strides[0] + head * call.out.strides[1], call.out.dtype));
      if (!call.lse.empty()) {
        static_cast<float*>(call.lse.data)[row * call.lse.strides[0] + head * call.lse.strides[1]] =
            broken    ? kNaN
            : sum > 0 ? max + std::log(sum)
                      : kMinusInf;
      }
    }
  }
}

void RowWork::StorePartial(float* partial) const {
  const int64_t ld = layout_->partial_ld();
  for (int64_t i = 0; i < state_rows(); ++i) {
    float* to = partial + i * ld;
    std::copy_n(acc_ + i * layout_->acc_ld_, layout_->acc_ld_, to);
    to[layout_->acc_ld_] = states_[i].max;
    to[layout_->acc_ld_ + 1] = states_[i].sum;
  }
}

void RowWork::MergePartials(const float* partials, int64_t count, int64_t stride) {
  const int64_t width = layout_->acc_ld_;
  const AttentionKernels& kernels = context_->kernels;
  for (int64_t i = 0; i < state_rows(); ++i) {
    const float* own = partials + i * layout_->partial_ld();
    float top = states_[i].max;
    for (int64_t s = 0; s < count; ++s) top = std::max(top, own[s * stride + width]);
    // Nothing is left out for its weight of 0: what is no number must show, and makes no maximum.
    const float shift = top == kMinusInf ? 0.0F : top;
    const float keep = std::exp(states_[i].max - shift);
    if (keep != 1.0F) kernels.scale_row(acc_ + i * width, width, keep);
    float sum = states_[i].sum * keep;
    for (int64_t s = 0; s < count; ++s) {
      if (own[s * stride + width + 1] == 0.0F) continue;  // empty
      const float weight = std::exp(own[s * stride + width] - shift);
      sum += weight * own[s * stride + width + 1];
      kernels.add_scaled_row(own + s * stride, width, weight, acc_ + i * width);
    }
    states_[i] = {top, sum};
  }
}

}  // namespace pagoda

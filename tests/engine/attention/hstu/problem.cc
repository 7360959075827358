#include "engine/attention/hstu/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/attention/tiles.h"

namespace pagoda::testing {
namespace {

std::string_view NameOf(HstuMask mask) {
  constexpr std::string_view kNames[] = {"none", "causal", "dense", "interval"};
  return kNames[static_cast<size_t>(mask)];
}

TensorView Strided(DType dtype, std::initializer_list<int64_t> shape, int64_t step, int64_t gap) {
  TensorView view = TensorView::Dense(nullptr, dtype, shape);
  int64_t stride = step;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.strides[d] = stride;
    stride = stride * view.shape[d] + gap;
  }
  return view;
}

// From the first element to one past the last.
int64_t Extent(const TensorView& view) {
  if (view.elements() == 0) return 0;
  int64_t last = 0;
  for (int d = 0; d < view.rank; ++d) last += (view.shape[d] - 1) * view.strides[d];
  return last + 1;
}

float Draw(Random& random, float spread = 1) { return spread * static_cast<float>(random.Normal()); }

}  // namespace

int64_t HstuSpec::longest_q() const {
  int64_t longest = 0;
  for (const Lengths& s : sequences) longest = std::max(longest, s.queries);
  return longest;
}

int64_t HstuSpec::longest_k() const {
  int64_t longest = 0;
  for (const Lengths& s : sequences) longest = std::max(longest, s.keys);
  return longest;
}

bool HstuSpec::any_target() const {
  return std::ranges::any_of(sequences, [](const Lengths& s) { return s.targets > 0; });
}

std::string HstuSpec::Describe() const {
  std::string lengths;
  for (const Lengths& s : sequences)
    lengths += fmt::format("{}/{} T{} C{} ", s.queries, s.keys, s.targets, s.contextuals);
  const auto form = [](const PairForm& f) { return fmt::format("{:d}{:d}", f.per_sequence, f.per_head); };
  return fmt::format(
      "Lq/Lk {}heads {}/{} dims {}/{} {} {} page {} hnd={} combined={} padded={} index64={} gap {} mask {} "
      "window {}/{} group {} max_attn_len {} full {} rab {} dense {} bounds {} [{}] alpha {} silu_scale {} "
      "spread "
      "{} seed {}",
      lengths, q_heads, kv_heads, head_dim, head_dim_v, pagoda::NameOf(dtype), paged ? "paged" : "contiguous",
      page_size, hnd, combined, padded, index64, gap, NameOf(params.mask), params.window_left,
      params.window_right, params.target_group_size, params.max_attn_len, params.min_full_attn_seq_len,
      rab ? form(*rab) : "none", form(mask), interval_bounds, fmt::join(bounds, ","), params.alpha,
      params.silu_scale, spread, seed);
}

FloatTensor::FloatTensor(DType dtype, std::initializer_list<int64_t> shape, int64_t step, int64_t gap)
    : memory_(static_cast<size_t>(Extent(Strided(dtype, shape, step, gap)) * SizeOf(dtype))),
      view_(Strided(dtype, shape, step, gap)) {
  view_.data = memory_.data();
  for (int64_t i = 0; i < Extent(view_); ++i) Set(i, kNaN);
}

void FloatTensor::Set(int64_t at, float value) { Put(memory_.data(), view_.dtype, at, value); }

HstuProblem::HstuProblem(const HstuSpec& spec) : spec_(spec) {
  Random random(spec.seed);
  std::vector<int64_t> targets;
  std::vector<int64_t> contextuals;
  bool any_contextual = false;
  for (const Lengths& s : spec.sequences) {
    q_begin_.push_back(q_begin_.back() + s.queries);
    k_begin_.push_back(k_begin_.back() + s.keys);
    page_begin_.push_back(page_begin_.back() + (s.history() + spec.page_size - 1) / spec.page_size);
    targets.push_back(s.targets);
    contextuals.push_back(s.contextuals);
    any_contextual = any_contextual || s.contextuals > 0;
  }
  batch_.dtype = spec.dtype;
  batch_.q_heads = spec.q_heads;
  batch_.kv_heads = spec.kv_heads;
  batch_.head_dim = spec.head_dim;
  batch_.head_dim_v = spec.head_dim_v;
  batch_.params = spec.params;
  if (spec.params.silu_scale == 0 && spec.params.max_seq_len == 0)
    batch_.params.max_seq_len = std::max<int64_t>(1, spec.longest_k());
  batch_.seq_offsets = Indices(q_begin_);
  if (!spec.paged && q_begin_ != k_begin_) batch_.seq_offsets_k = Indices(k_begin_);
  if (spec.any_target()) batch_.num_targets = Indices(targets);
  if (any_contextual) batch_.num_contextuals = Indices(contextuals);
  if (spec.params.mask == HstuMask::kInterval) batch_.interval_mask = MakeIntervals(random);
  if (spec.paged) MakePages(random);
  if (spec.layer != 0) random = random.Fork(spec.layer);

  floats_.push_back(std::make_unique<FloatTensor>(
      spec.dtype, std::initializer_list<int64_t>{q_begin_.back(), spec.q_heads, spec.head_dim}, 1, spec.gap));
  call_.q = floats_.back()->view();
  for (int64_t i = 0; i < q_begin_.back() * spec.q_heads; ++i) {
    for (int64_t d = 0; d < spec.head_dim; ++d) {
      floats_.back()->Set(i / spec.q_heads * call_.q.strides[0] + i % spec.q_heads * call_.q.strides[1] + d,
                          Draw(random, spec.spread));
    }
  }
  MakeKeys(random);
  if (spec.rab) call_.rab = MakePairs(*spec.rab, random);
  if (spec.params.mask == HstuMask::kDense) call_.mask = MakePairs(spec.mask, random);
}

TensorView HstuProblem::MakeIntervals(Random& random) {
  const int64_t width = spec_.bounds.empty() ? spec_.interval_bounds : std::ssize(spec_.bounds);
  std::vector<int64_t> bounds;
  for (const Lengths& s : spec_.sequences) {
    for (int64_t i = 0; i < s.queries * width; ++i)
      bounds.push_back(spec_.bounds.empty() ? random.Between(-3, s.keys + 4) : spec_.bounds[i % width]);
  }
  indices_.push_back(std::make_unique<IndexTensor>(
      bounds, q_begin_.back(), width, spec_.index64 ? DType::kI64 : DType::kI32, width + spec_.gap, 1));
  return indices_.back()->view();
}

// The table, with pages in random order and three that nobody owns.
void HstuProblem::MakePages(Random& random) {
  const int64_t used = page_begin_.back();
  ids_.resize(used + 3);
  std::iota(ids_.begin(), ids_.end(), 0);
  random.Shuffle(std::span<int64_t>(ids_));
  std::vector<int64_t> lens;
  std::vector<int64_t> tails;
  int64_t width = 1;
  for (size_t b = 0; b < spec_.sequences.size(); ++b) {
    lens.push_back(spec_.sequences[b].history());
    tails.push_back(lens[b] == 0 ? 0 : (lens[b] - 1) % spec_.page_size + 1);
    width = std::max(width, page_begin_[b + 1] - page_begin_[b] + 1);
  }
  if (!spec_.padded) {
    const TensorView indptr = Indices(page_begin_);
    const TensorView indices = Indices({ids_.begin(), ids_.begin() + used});
    batch_.table = PageTable::Csr(indptr, indices, Indices(tails));
    return;
  }
  std::vector<int64_t> table(lens.size() * width);
  constexpr int64_t kGarbage[] = {-1, 1 << 30, -77};
  for (size_t i = 0; i < table.size(); ++i) table[i] = kGarbage[i % 3];
  for (size_t b = 0; b < lens.size(); ++b) {
    std::copy(ids_.begin() + page_begin_[b], ids_.begin() + page_begin_[b + 1],
              table.begin() + static_cast<int64_t>(b) * width);
  }
  indices_.push_back(std::make_unique<IndexTensor>(
      table, std::ssize(lens), width, spec_.index64 ? DType::kI64 : DType::kI32, width + spec_.gap, 1));
  const TensorView block_table = indices_.back()->view();
  batch_.table = PageTable::Padded(block_table, Indices(lens));
}

void HstuProblem::MakeKeys(Random& random) {
  const HstuSpec& s = spec_;
  const auto make = [&](std::initializer_list<int64_t> shape, int64_t gap) {
    floats_.push_back(std::make_unique<FloatTensor>(s.dtype, shape, 1, gap));
    return floats_.back().get();
  };
  FloatTensor* k_cache = nullptr;
  FloatTensor* v_cache = nullptr;
  int64_t v_base = 0;
  if (s.paged) {
    const auto layout = s.hnd ? KvLayout::kHND : KvLayout::kNHD;
    const auto pages = std::ssize(ids_);
    const int64_t outer = s.hnd ? s.kv_heads : s.page_size;
    const int64_t inner = s.hnd ? s.page_size : s.kv_heads;
    if (s.combined) {
      k_cache = v_cache = make({pages, 2, outer, inner, s.head_dim}, s.gap);
      batch_.kv = PagedKvView::Combined(k_cache->view(), layout);
      v_base =
          (static_cast<std::byte*>(batch_.kv.v) - static_cast<std::byte*>(batch_.kv.k)) / SizeOf(s.dtype);
    } else {
      k_cache = make({pages, outer, inner, s.head_dim}, s.gap);
      v_cache = make({pages, outer, inner, s.head_dim_v}, s.gap);
      batch_.kv = PagedKvView::Split(k_cache->view(), v_cache->view(), layout);
    }
    call_.kv = batch_.kv;
  }
  FloatTensor* k = nullptr;
  FloatTensor* v = nullptr;
  if (!s.paged || s.any_target()) {
    const int64_t rows = s.paged ? q_begin_.back() : k_begin_.back();
    k = make({rows, s.kv_heads, s.head_dim}, s.gap);
    v = make({rows, s.kv_heads, s.head_dim_v}, s.gap);
    call_.k = k->view();
    call_.v = v->view();
  }
  const PagedKvView& kv = batch_.kv;
  for (size_t b = 0; b < s.sequences.size(); ++b) {
    const int64_t cached = s.paged ? s.sequences[b].history() : 0;
    const int64_t first_row = s.paged ? q_begin_[b + 1] - s.sequences[b].targets : k_begin_[b];
    for (int64_t j = 0; j < s.sequences[b].keys; ++j) {
      for (int64_t h = 0; h < s.kv_heads; ++h) {
        const bool in_page = j < cached;
        int64_t k_at = 0;
        int64_t v_at = 0;
        if (in_page) {
          const int64_t page = ids_[page_begin_[b] + j / s.page_size];
          const int64_t slot = j % s.page_size;
          k_at = page * kv.k_page_stride + slot * kv.k_slot_stride + h * kv.k_head_stride;
          v_at = v_base + page * kv.v_page_stride + slot * kv.v_slot_stride + h * kv.v_head_stride;
        } else {
          k_at = (first_row + j - cached) * call_.k.strides[0] + h * call_.k.strides[1];
          v_at = (first_row + j - cached) * call_.v.strides[0] + h * call_.v.strides[1];
        }
        for (int64_t d = 0; d < s.head_dim; ++d)
          (in_page ? k_cache : k)->Set(k_at + d, Draw(random, s.spread));
        for (int64_t d = 0; d < s.head_dim_v; ++d) (in_page ? v_cache : v)->Set(v_at + d, Draw(random));
      }
    }
  }
}

// Room for one row and two keys more than any sequence has.
TensorView HstuProblem::MakePairs(PairForm form, Random& random) {
  const auto batch = std::ssize(spec_.sequences);
  const int64_t first = form.per_sequence ? batch : 1;
  const int64_t heads = form.per_head ? spec_.q_heads : 1;
  floats_.push_back(std::make_unique<FloatTensor>(
      DType::kF32, std::initializer_list<int64_t>{first, heads, spec_.longest_q() + 1, spec_.longest_k() + 2},
      1 + spec_.gap, spec_.gap));
  FloatTensor& tensor = *floats_.back();
  const TensorView& t = tensor.view();
  for (int64_t b = 0; b < first; ++b) {
    const Lengths s = form.per_sequence ? spec_.sequences[b]
                                        : Lengths{.queries = spec_.longest_q(), .keys = spec_.longest_k()};
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t a = 0; a < s.queries; ++a) {
        for (int64_t j = 0; j < s.keys; ++j) {
          tensor.Set(b * t.strides[0] + h * t.strides[1] + a * t.strides[2] + j * t.strides[3], Draw(random));
        }
      }
    }
  }
  return t;
}

TensorView HstuProblem::Indices(const std::vector<int64_t>& values) {
  indices_.push_back(std::make_unique<IndexTensor>(values, spec_.index64 ? DType::kI64 : DType::kI32));
  return indices_.back()->view();
}

Result RunHstuVariant(const HstuVariant& variant, const HstuBatch& batch, HstuCall call, int threads,
                      const HstuPlanOptions& options) {
  const HstuPlan plan = PlanHstu(variant, batch, threads, options);
  const int64_t rows = call.q.shape[0];
  Buffer out(rows * batch.q_heads * batch.head_dim_v * sizeof(float), Guards::kBoth);
  Buffer workspace(plan.workspace_bytes(), Guards::kBoth);
  for (Buffer* buffer : {&out, &workspace}) std::ranges::fill(buffer->span<float>(), kNaN);
  ThreadPool pool(threads);
  call.out = TensorView::Dense(out.data(), DType::kF32, {rows, batch.q_heads, batch.head_dim_v});
  RunHstu(plan, call, workspace.span<std::byte>(), pool);
  for (const auto& [name, buffer] : {std::pair{"out", &out}, {"workspace", &workspace}}) {
    if (const auto damage = buffer->FindDamage()) {
      ADD_FAILURE() << variant.name << " wrote outside " << name << ": " << damage->Describe(buffer->size());
    }
  }
  return {{out.span<float>().begin(), out.span<float>().end()}, {}};
}

}  // namespace pagoda::testing

#include "engine/attention/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/half.h"
#include "base/random.h"

namespace pagoda::testing {
namespace {

void Put(std::vector<std::byte>& bytes, DType dtype, int64_t i, float value) {
  if (dtype == DType::kF32) {
    reinterpret_cast<float*>(bytes.data())[i] = value;
  } else {
    reinterpret_cast<uint16_t*>(bytes.data())[i] = dtype == DType::kF16 ? F32ToF16(value) : F32ToBF16(value);
  }
}

std::vector<std::byte> Indices(const std::vector<int64_t>& values, bool wide) {
  std::vector<std::byte> bytes(values.size() * (wide ? 8 : 4));
  for (size_t i = 0; i < values.size(); ++i) {
    if (wide) {
      reinterpret_cast<int64_t*>(bytes.data())[i] = values[i];
    } else {
      reinterpret_cast<int32_t*>(bytes.data())[i] = static_cast<int32_t>(values[i]);
    }
  }
  return bytes;
}

}  // namespace

std::string ProblemSpec::Describe() const {
  return fmt::format(
      "contexts {} queries {} heads {}/{} dims {}/{} page {} {} hnd={} combined={} padded={} index64={} "
      "causal={} "
      "window {}/{} softcap {} scale {} alibi={} sinks={} spread {} seed {}",
      fmt::join(contexts, ","), fmt::join(queries, ","), q_heads, kv_heads, head_dim, head_dim_v, page_size,
      NameOf(dtype), hnd, combined, padded, index64, params.causal, params.window_left, params.window_right,
      params.softcap, params.scale.value_or(-1), alibi, sinks, spread, seed);
}

Problem::Problem(const ProblemSpec& spec) : spec_(spec) {
  Random random(spec.seed);
  const int64_t s = spec.page_size;
  const auto batch = static_cast<int64_t>(spec.contexts.size());
  std::vector<int64_t> q_begin = {0};
  std::vector<int64_t> page_begin = {0};
  int64_t used = 0;
  for (int64_t b = 0; b < batch; ++b) {
    q_begin.push_back(q_begin.back() + spec.queries[b]);
    used += (spec.contexts[b] + s - 1) / s;
    page_begin.push_back(used);
  }
  total_q_ = q_begin.back();
  const int64_t pages = used + 3;
  std::vector<int64_t> ids(pages);
  std::iota(ids.begin(), ids.end(), 0);
  random.Shuffle(std::span<int64_t>(ids));
  if (spec.layer != 0) random = random.Fork(spec.layer);

  const int64_t k_row = spec.head_dim;
  const int64_t v_row = spec.head_dim_v;
  const int64_t rows = pages * s * spec.kv_heads;
  const auto layout = spec.hnd ? KvLayout::kHND : KvLayout::kNHD;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  if (spec.combined) {
    k_.resize(2 * rows * k_row * SizeOf(spec.dtype));
    const TensorView kv = spec.hnd
                              ? TensorView::Dense(k_.data(), spec.dtype, {pages, 2, spec.kv_heads, s, k_row})
                              : TensorView::Dense(k_.data(), spec.dtype, {pages, 2, s, spec.kv_heads, k_row});
    batch_.kv = PagedKvView::Combined(kv, layout);
  } else {
    k_.resize(rows * k_row * SizeOf(spec.dtype));
    v_.resize(rows * v_row * SizeOf(spec.dtype));
    const auto view = [&](std::vector<std::byte>& bytes, int64_t dim) {
      return spec.hnd ? TensorView::Dense(bytes.data(), spec.dtype, {pages, spec.kv_heads, s, dim})
                      : TensorView::Dense(bytes.data(), spec.dtype, {pages, s, spec.kv_heads, dim});
    };
    batch_.kv = PagedKvView::Split(view(k_, k_row), view(v_, v_row), layout);
  }
  for (std::vector<std::byte>* bytes : {&k_, &v_}) {
    for (int64_t i = 0; i < static_cast<int64_t>(bytes->size()) / SizeOf(spec.dtype); ++i) {
      Put(*bytes, spec.dtype, i, nan);
    }
  }
  const PagedKvView& kv = batch_.kv;
  const int64_t v_base =
      spec.combined ? (static_cast<std::byte*>(kv.v) - static_cast<std::byte*>(kv.k)) / SizeOf(spec.dtype)
                    : 0;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t j = 0; j < spec.contexts[b]; ++j) {
      const int64_t page = ids[page_begin[b] + j / s];
      for (int64_t h = 0; h < spec.kv_heads; ++h) {
        const int64_t k_at = page * kv.k_page_stride + (j % s) * kv.k_slot_stride + h * kv.k_head_stride;
        const int64_t v_at =
            page * kv.v_page_stride + (j % s) * kv.v_slot_stride + h * kv.v_head_stride + v_base;
        for (int64_t d = 0; d < k_row; ++d) {
          Put(k_, spec.dtype, k_at + d, spec.spread * static_cast<float>(random.Normal()));
        }
        for (int64_t d = 0; d < v_row; ++d) {
          Put(spec.combined ? k_ : v_, spec.dtype, v_at + d, static_cast<float>(random.Normal()));
        }
      }
    }
  }
  q_.resize(total_q_ * spec.q_heads * k_row * SizeOf(spec.dtype));
  for (int64_t i = 0; i < total_q_ * spec.q_heads * k_row; ++i) {
    Put(q_, spec.dtype, i, spec.spread * static_cast<float>(random.Normal()));
  }
  q_view_ = TensorView::Dense(q_.data(), spec.dtype, {total_q_, spec.q_heads, k_row});

  const DType index = spec.index64 ? DType::kI64 : DType::kI32;
  q_indptr_ = Indices(q_begin, spec.index64);
  batch_.q_indptr = TensorView::Dense(q_indptr_.data(), index, {batch + 1});
  if (spec.padded) {
    int64_t width = 1;
    for (int64_t b = 0; b < batch; ++b) width = std::max(width, page_begin[b + 1] - page_begin[b] + 1);
    std::vector<int64_t> table(batch * width);
    constexpr int64_t kGarbage[] = {-1, 1 << 30, -77};
    for (size_t i = 0; i < table.size(); ++i) table[i] = kGarbage[i % 3];
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t p = page_begin[b]; p < page_begin[b + 1]; ++p)
        table[b * width + p - page_begin[b]] = ids[p];
    }
    table_a_ = Indices(table, spec.index64);
    table_b_ = Indices(spec.contexts, spec.index64);
    batch_.table = PageTable::Padded(TensorView::Dense(table_a_.data(), index, {batch, width}),
                                     TensorView::Dense(table_b_.data(), index, {batch}));
  } else {
    std::vector<int64_t> last;
    for (int64_t n : spec.contexts) last.push_back(n == 0 ? 0 : (n - 1) % s + 1);
    table_a_ = Indices(page_begin, spec.index64);
    table_b_ = Indices({ids.begin(), ids.begin() + used}, spec.index64);
    table_c_ = Indices(last, spec.index64);
    batch_.table = PageTable::Csr(TensorView::Dense(table_a_.data(), index, {batch + 1}),
                                  TensorView::Dense(table_b_.data(), index, {used}),
                                  TensorView::Dense(table_c_.data(), index, {batch}));
  }
  batch_.q_heads = spec.q_heads;
  batch_.params = spec.params;
  for (int64_t h = 0; h < spec.q_heads; ++h) {
    if (spec.alibi)
      slopes_.push_back(std::exp2(-8.0F * static_cast<float>(h + 1) / static_cast<float>(spec.q_heads)));
    if (spec.sinks) sinks_.push_back(static_cast<float>(random.Normal()));
  }
}

SoftmaxCall Problem::Call(float* out, float* lse) const {
  SoftmaxCall call;
  call.q = q_view_;
  call.kv = batch_.kv;
  call.out = TensorView::Dense(out, DType::kF32, {total_q_, spec_.q_heads, spec_.head_dim_v});
  if (lse != nullptr) call.lse = TensorView::Dense(lse, DType::kF32, {total_q_, spec_.q_heads});
  const auto per_head = [&](const std::vector<float>& values) {
    return TensorView::Dense(const_cast<float*>(values.data()), DType::kF32, {spec_.q_heads});
  };
  if (spec_.alibi) call.alibi_slopes = per_head(slopes_);
  if (spec_.sinks) call.sinks = per_head(sinks_);
  return call;
}

void Problem::SetQ(int64_t row, int64_t head, int64_t d, float value) {
  Put(q_, spec_.dtype, (row * spec_.q_heads + head) * spec_.head_dim + d, value);
}

Result RunVariant(const SoftmaxVariant& variant, const Problem& problem, int threads) {
  return RunVariant(variant, problem.batch(), problem.Call(nullptr, nullptr), threads);
}

Result RunVariant(const SoftmaxVariant& variant, const SoftmaxBatch& batch, SoftmaxCall call, int threads) {
  const SoftmaxPlan plan = PlanSoftmax(variant, batch, threads);
  const int64_t rows = call.q.shape[0];
  const int64_t heads = call.q.shape[1];
  const int64_t dim = batch.kv.head_dim_v;
  Buffer out(rows * heads * dim * sizeof(float), Guards::kBoth);
  Buffer lse(rows * heads * sizeof(float), Guards::kBoth);
  Buffer workspace(plan.workspace_bytes(), Guards::kBoth);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (Buffer* buffer : {&out, &lse, &workspace}) std::ranges::fill(buffer->span<float>(), nan);
  ThreadPool pool(threads);
  call.out = TensorView::Dense(out.data(), DType::kF32, {rows, heads, dim});
  call.lse = TensorView::Dense(lse.data(), DType::kF32, {rows, heads});
  RunSoftmax(plan, call, workspace.span<std::byte>(), pool);
  for (const auto& [name, buffer] : {std::pair{"out", &out}, {"lse", &lse}, {"workspace", &workspace}}) {
    if (const auto damage = buffer->FindDamage()) {
      ADD_FAILURE() << variant.name << " wrote outside " << name << ": " << damage->Describe(buffer->size());
    }
  }
  const auto copy = [](const Buffer& buffer) {
    return std::vector<float>(buffer.span<float>().begin(), buffer.span<float>().end());
  };
  return {copy(out), copy(lse)};
}

std::string Mismatch(const Result& got, const OracleResult& want, double atol, double rtol) {
  double worst = 0;
  std::string text;
  const auto compare = [&](const std::vector<float>& a, const std::vector<double>& b, const char* name) {
    if (a.size() != b.size()) text = fmt::format("{} has {} elements, expected {}", name, a.size(), b.size());
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (std::isinf(b[i]) && static_cast<double>(a[i]) == b[i]) continue;
      const double error = std::abs(a[i] - b[i]) / (atol + rtol * std::abs(b[i]));
      if (error <= 1) continue;
      if (text.empty() || !(error <= worst)) {
        worst = error;
        text = fmt::format("{}[{}] = {}, expected {} ({:.3g} tolerances off)", name, i, a[i], b[i], error);
      }
    }
  };
  compare(got.out, want.out, "out");
  compare(got.lse, want.lse, "lse");
  return text;
}

double ToleranceOf(DType dtype) { return dtype == DType::kF32 ? 1e-5 : dtype == DType::kF16 ? 1e-3 : 8e-3; }

}  // namespace pagoda::testing

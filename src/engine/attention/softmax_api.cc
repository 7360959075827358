// The public functions of pagoda/softmax.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked_math.h"
#include "engine/attention/variant.h"
#include "pagoda/softmax.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

[[noreturn]] void Refuse(std::string_view field, const std::string& complaint) {
  throw Error(ErrorCode::kInvalidArgument, field, complaint);
}

// A tensor that is given and has elements has them somewhere.
void CheckData(const TensorView& t, std::string_view field) {
  if (t.data == nullptr && !t.empty() && t.elements() > 0) Refuse(field, "has no data");
}

void CheckRows(const TensorView& t, std::string_view field, const NormalBatch& batch, int64_t dim) {
  if (t.empty()) Refuse(field, "is missing");
  if (t.rank != 3 || t.shape[0] != batch.total_q || t.shape[1] != batch.q_heads || t.shape[2] != dim) {
    Refuse(fmt::format("{}.shape", field),
           fmt::format("must be [{}, {}, {}] as planned", batch.total_q, batch.q_heads, dim));
  }
  if (dim > 1 && t.strides[2] != 1) Refuse(field, "must be dense in its last dimension");
  CheckData(t, field);
}

void CheckPerHead(const TensorView& t, std::string_view field, const NormalBatch& batch) {
  if (t.empty()) return;
  if (t.dtype != DType::kF32 || t.rank != 1 || t.shape[0] != batch.q_heads) {
    Refuse(field, fmt::format("must be [{}] of f32", batch.q_heads));
  }
  CheckData(t, field);
}

void CheckGeometry(const PagedKvView& call, const PagedKvView& plan) {
  const auto same = [](int64_t got, int64_t want, std::string_view field) {
    if (got != want) Refuse(field, fmt::format("= {}, but the plan was made for {}", got, want));
  };
  if (call.dtype != plan.dtype) {
    Refuse("kv.dtype",
           fmt::format("= {}, but the plan was made for {}", NameOf(call.dtype), NameOf(plan.dtype)));
  }
  same(call.num_pages, plan.num_pages, "kv.num_pages");
  same(call.page_size, plan.page_size, "kv.page_size");
  same(call.kv_heads, plan.kv_heads, "kv.kv_heads");
  same(call.head_dim, plan.head_dim, "kv.head_dim");
  same(call.head_dim_v, plan.head_dim_v, "kv.head_dim_v");
  same(call.k_page_stride, plan.k_page_stride, "kv.k_page_stride");
  same(call.k_slot_stride, plan.k_slot_stride, "kv.k_slot_stride");
  same(call.k_head_stride, plan.k_head_stride, "kv.k_head_stride");
  same(call.v_page_stride, plan.v_page_stride, "kv.v_page_stride");
  same(call.v_slot_stride, plan.v_slot_stride, "kv.v_slot_stride");
  same(call.v_head_stride, plan.v_head_stride, "kv.v_head_stride");
}

void CheckCall(const SoftmaxPlanImpl& plan, const SoftmaxCall& call, std::span<std::byte> workspace,
               const ThreadPool& pool) {
  const NormalBatch& batch = plan.batch;
  CheckGeometry(call.kv, batch.kv);
  if (!batch.page_ids.empty() && call.kv.k == nullptr) Refuse("kv.k", "has no data");
  if (!batch.page_ids.empty() && call.kv.v == nullptr) Refuse("kv.v", "has no data");
  CheckRows(call.q, "q", batch, batch.head_dim);
  if (call.q.dtype != batch.kv.dtype) {
    Refuse("q", fmt::format("is {}, but the cache is {}", NameOf(call.q.dtype), NameOf(batch.kv.dtype)));
  }
  CheckRows(call.out, "out", batch, batch.head_dim_v);
  if (!IsFloat(call.out.dtype)) Refuse("out", "must be f32, f16 or bf16");
  if (!call.lse.empty() && (call.lse.dtype != DType::kF32 || call.lse.rank != 2 ||
                            call.lse.shape[0] != batch.total_q || call.lse.shape[1] != batch.q_heads)) {
    Refuse("lse", fmt::format("must be [{}, {}] of f32", batch.total_q, batch.q_heads));
  }
  CheckData(call.lse, "lse");
  CheckPerHead(call.alibi_slopes, "alibi_slopes", batch);
  CheckPerHead(call.sinks, "sinks", batch);
  if (workspace.size() < plan.workspace_bytes) {
    Refuse("workspace",
           fmt::format("has {} bytes, the plan needs {}", workspace.size(), plan.workspace_bytes));
  }
  if (reinterpret_cast<uintptr_t>(workspace.data()) % 64 != 0) Refuse("workspace", "must be 64-byte aligned");
  if (pool.threads() != plan.threads) {
    Refuse("pool", fmt::format("has {} threads, but the plan was made for {}", pool.threads(), plan.threads));
  }
}

}  // namespace

std::string_view NameOf(const SoftmaxVariant& variant) { return variant.name; }

SoftmaxPlan::SoftmaxPlan(std::unique_ptr<const SoftmaxPlanImpl> impl) : impl_(std::move(impl)) {}
SoftmaxPlan::SoftmaxPlan(SoftmaxPlan&&) noexcept = default;
SoftmaxPlan& SoftmaxPlan::operator=(SoftmaxPlan&&) noexcept = default;
SoftmaxPlan::~SoftmaxPlan() = default;

size_t SoftmaxPlan::workspace_bytes() const { return impl_->workspace_bytes; }

SoftmaxPlan PlanSoftmax(const SoftmaxVariant& variant, const SoftmaxBatch& batch, int threads) {
  if (threads < 1 || threads > ThreadPool::kMaxThreads)
    Refuse("threads", fmt::format("= {} is outside 1..{}", threads, ThreadPool::kMaxThreads));
  NormalBatch normal = Normalise(batch);
  if (const Support support = variant.supports(normal); !support.ok) {
    throw Error(ErrorCode::kUnsupported, support.field,
                fmt::format("{} ({} does not compute this)", support.reason, variant.name));
  }
  std::unique_ptr<SoftmaxPlanImpl> plan = variant.plan(normal, threads);
  plan->variant = &variant;
  plan->threads = threads;
  plan->batch = std::move(normal);
  return SoftmaxPlan(std::move(plan));
}

void RunSoftmax(const SoftmaxPlan& plan, const SoftmaxCall& call, std::span<std::byte> workspace,
                ThreadPool& pool) {
  CheckCall(plan.impl(), call, workspace, pool);
  plan.impl().variant->run(plan.impl(), call, workspace, pool);
}

void MergeSoftmaxStates(std::span<float> out_a, std::span<float> lse_a, std::span<const float> out_b,
                        std::span<const float> lse_b, int64_t dim) {
  const size_t rows = lse_a.size();
  if (dim < 1) Refuse("dim", fmt::format("= {} must be at least 1", dim));
  if (lse_b.size() != rows) Refuse("lse_b", fmt::format("has {} rows, lse_a has {}", lse_b.size(), rows));
  const auto floats = static_cast<size_t>(MulOrThrow(static_cast<int64_t>(rows), dim, "dim"));
  if (out_a.size() != floats)
    Refuse("out_a", fmt::format("has {} floats, expected {}", out_a.size(), floats));
  if (out_b.size() != floats)
    Refuse("out_b", fmt::format("has {} floats, expected {}", out_b.size(), floats));
  constexpr float kMinusInf = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < rows; ++i) {
    if (lse_b[i] == kMinusInf) continue;
    float* a = out_a.data() + i * dim;
    const float* b = out_b.data() + i * dim;
    if (lse_a[i] == kMinusInf) {
      std::copy_n(b, dim, a);
      lse_a[i] = lse_b[i];
      continue;
    }
    const float top = std::max(lse_a[i], lse_b[i]);
    const float weight_a = std::exp(lse_a[i] - top);
    const float weight_b = std::exp(lse_b[i] - top);
    const float sum = weight_a + weight_b;
    for (int64_t d = 0; d < dim; ++d) a[d] = (weight_a * a[d] + weight_b * b[d]) / sum;
    lse_a[i] = top + std::log(sum);
  }
}

}  // namespace pagoda

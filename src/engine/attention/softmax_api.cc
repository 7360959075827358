// The public functions of pagoda/softmax.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked_math.h"
#include "engine/attention/checks.h"
#include "engine/attention/variant.h"
#include "pagoda/softmax.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

void CheckPerHead(const TensorView& t, std::string_view field, const NormalBatch& batch) {
  if (t.empty()) return;
  if (t.dtype != DType::kF32 || t.rank != 1 || t.shape[0] != batch.q_heads) {
    Refuse(field, fmt::format("must be [{}] of f32", batch.q_heads));
  }
  CheckData(t, field);
}

void CheckCall(const SoftmaxPlanImpl& plan, const SoftmaxCall& call, std::span<std::byte> workspace,
               const ThreadPool& pool) {
  const NormalBatch& batch = plan.batch;
  CheckCache(call.kv, batch.kv, !batch.page_ids.empty());
  CheckRows(call.q, "q", batch.total_q, batch.q_heads, batch.head_dim);
  if (call.q.dtype != batch.kv.dtype) {
    Refuse("q", fmt::format("is {}, but the cache is {}", NameOf(call.q.dtype), NameOf(batch.kv.dtype)));
  }
  CheckOutput(call.out, batch.total_q, batch.q_heads, batch.head_dim_v);
  if (!call.lse.empty() && (call.lse.dtype != DType::kF32 || call.lse.rank != 2 ||
                            call.lse.shape[0] != batch.total_q || call.lse.shape[1] != batch.q_heads)) {
    Refuse("lse", fmt::format("must be [{}, {}] of f32", batch.total_q, batch.q_heads));
  }
  CheckData(call.lse, "lse");
  CheckPerHead(call.alibi_slopes, "alibi_slopes", batch);
  CheckPerHead(call.sinks, "sinks", batch);
  CheckResources(workspace, plan.workspace_bytes, pool, plan.threads);
}

}  // namespace

std::string_view NameOf(const SoftmaxVariant& variant) { return variant.name; }

SoftmaxPlan::SoftmaxPlan(std::unique_ptr<const SoftmaxPlanImpl> impl) : impl_(std::move(impl)) {}
SoftmaxPlan::SoftmaxPlan(SoftmaxPlan&&) noexcept = default;
SoftmaxPlan& SoftmaxPlan::operator=(SoftmaxPlan&&) noexcept = default;
SoftmaxPlan::~SoftmaxPlan() = default;

size_t SoftmaxPlan::workspace_bytes() const { return impl_->workspace_bytes; }

SoftmaxPlan PlanSoftmax(const SoftmaxVariant& variant, const SoftmaxBatch& batch, int threads) {
  CheckThreads(threads);
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

// The public functions of pagoda/hstu.h.
#include <fmt/format.h>

#include <algorithm>

#include "engine/attention/checks.h"
#include "engine/attention/hstu/variant.h"
#include "pagoda/hstu.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

void CheckDType(const TensorView& t, std::string_view field, DType dtype) {
  if (t.dtype != dtype)
    Refuse(field, fmt::format("is {}, but the plan was made for {}", NameOf(t.dtype), NameOf(dtype)));
}

// rab or the dense mask.
void CheckPerPair(const TensorView& t, std::string_view field, const NormalHstuBatch& batch) {
  const auto one_or = [](int64_t got, int64_t want) { return got == 1 || got == want; };
  if (t.dtype != DType::kF32 || t.rank != 4 || !one_or(t.shape[0], batch.batch) ||
      !one_or(t.shape[1], batch.q_heads) || t.shape[2] < batch.longest_q || t.shape[3] < batch.longest_k) {
    Refuse(field, fmt::format("must be [{} or 1, {} or 1, {} or more, {} or more] of f32", batch.batch,
                              batch.q_heads, batch.longest_q, batch.longest_k));
  }
  CheckData(t, field);
}

void CheckCall(const HstuPlanImpl& plan, const HstuCall& call, std::span<const std::byte> workspace,
               const ThreadPool& pool) {
  const NormalHstuBatch& batch = plan.batch;
  CheckRows(call.q, "q", batch.total_q, batch.q_heads, batch.head_dim);
  CheckDType(call.q, "q", batch.dtype);
  if (batch.paged) CheckCache(call.kv, batch.kv, !batch.page_ids.empty());
  if (!batch.paged || batch.any_target || !call.k.empty() || !call.v.empty()) {
    CheckRows(call.k, "k", batch.total_k, batch.kv_heads, batch.head_dim);
    CheckDType(call.k, "k", batch.dtype);
    CheckRows(call.v, "v", batch.total_k, batch.kv_heads, batch.head_dim_v);
    CheckDType(call.v, "v", batch.dtype);
  }
  CheckOutput(call.out, batch.total_q, batch.q_heads, batch.head_dim_v);
  CheckPairTensors(batch, call);
  CheckResources(workspace, plan.workspace_bytes, pool, plan.threads);
}

}  // namespace

void CheckPairTensors(const NormalHstuBatch& batch, const HstuCall& call) {
  if (!call.rab.empty()) CheckPerPair(call.rab, "rab", batch);
  if (batch.mask == HstuMask::kDense) {
    if (call.mask.empty()) Refuse("mask", "is missing; the mask is dense");
    CheckPerPair(call.mask, "mask", batch);
  } else if (!call.mask.empty()) {
    Refuse("mask", "is given, but the plan was made for a mask that is not dense");
  }
}

std::string_view NameOf(const HstuVariant& variant) { return variant.name; }

HstuPlan::HstuPlan(std::unique_ptr<const HstuPlanImpl> impl) : impl_(std::move(impl)) {}
HstuPlan::HstuPlan(HstuPlan&&) noexcept = default;
HstuPlan& HstuPlan::operator=(HstuPlan&&) noexcept = default;
HstuPlan::~HstuPlan() = default;

size_t HstuPlan::workspace_bytes() const { return impl_->workspace_bytes; }

HstuPlan PlanHstu(const HstuVariant& variant, const HstuBatch& batch, int threads,
                  const HstuPlanOptions& options) {
  CheckThreads(threads);
  NormalHstuBatch normal = Normalise(batch);
  std::unique_ptr<HstuPlanImpl> plan = variant.plan(normal, threads, options);
  plan->variant = &variant;
  plan->threads = threads;
  plan->batch = std::move(normal);
  return HstuPlan(std::move(plan));
}

void RunHstu(const HstuPlan& plan, const HstuCall& call, std::span<std::byte> workspace, ThreadPool& pool) {
  CheckCall(plan.impl(), call, workspace, pool);
  plan.impl().variant->run(plan.impl(), call, workspace, pool);
}

}  // namespace pagoda

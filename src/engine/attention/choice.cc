// auto and hstu_auto: plan with every variant, keep the plan that the cost model says is done first.
//
// Reads, writes and runs what the chosen variant does. Planning costs as much as all variants' together,
// which pays where a plan is used for many layers. The choice depends on the machine, so only repeated calls
// of a plan, and plans made by the same model, have the same bits.
#include "engine/attention/choice.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/attention/softmax/variants.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

template <typename PlanImpl, typename Variant, typename Batch>
void Weigh(std::vector<Candidate<PlanImpl>>& candidates, const Variant& variant, const Batch& batch,
           DType dtype, int threads, std::unique_ptr<PlanImpl> plan) {
  plan->variant = &variant;
  plan->threads = threads;
  plan->batch = batch;
  const Cost cost = CostOf(plan->work, plan->traffic, dtype, threads, CurrentMachineModel());
  candidates.push_back({std::move(plan), cost});
}

template <typename PlanImpl>
std::vector<Candidate<PlanImpl>> CheapestFirst(std::vector<Candidate<PlanImpl>> candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.cost.total_ns, a.plan->variant->name) <
           std::tuple(b.cost.total_ns, b.plan->variant->name);
  });
  return candidates;
}

// Null where the options don't fit the variant: a staging buffer that holds no row of the batch.
std::unique_ptr<HstuPlanImpl> PlanIfItFits(const HstuVariant& variant, const NormalHstuBatch& batch,
                                           int threads, const HstuPlanOptions& options) {
  try {
    return variant.plan(batch, threads, options);
  } catch (const Error&) {
    return nullptr;
  }
}

template <typename PlanImpl>
struct ChosenPlan : PlanImpl {
  std::unique_ptr<PlanImpl> chosen;
};

template <typename PlanImpl>
std::unique_ptr<PlanImpl> Choose(std::vector<Candidate<PlanImpl>> candidates) {
  auto plan = std::make_unique<ChosenPlan<PlanImpl>>();
  plan->chosen = std::move(candidates.front().plan);
  plan->workspace_bytes = plan->chosen->workspace_bytes;
  plan->traffic = plan->chosen->traffic;
  plan->work = plan->chosen->work;
  return plan;
}

template <typename PlanImpl, typename Call>
void RunChosen(const PlanImpl& base, const Call& call, std::span<std::byte> workspace, ThreadPool& pool) {
  const PlanImpl& chosen = *static_cast<const ChosenPlan<PlanImpl>&>(base).chosen;
  chosen.variant->run(chosen, call, workspace, pool);
}

}  // namespace

std::vector<Candidate<SoftmaxPlanImpl>> SoftmaxCandidates(const NormalBatch& batch, int threads) {
  std::vector<Candidate<SoftmaxPlanImpl>> candidates;
  for (const SoftmaxVariant* variant : SoftmaxVariants()) {
    if (variant == &kAuto || !variant->supports(batch).ok) continue;
    Weigh(candidates, *variant, batch, batch.kv.dtype, threads, variant->plan(batch, threads));
  }
  return CheapestFirst(std::move(candidates));
}

std::vector<Candidate<HstuPlanImpl>> HstuCandidates(const NormalHstuBatch& batch, int threads,
                                                    const HstuPlanOptions& options) {
  std::vector<Candidate<HstuPlanImpl>> candidates;
  for (const HstuVariant* variant : HstuVariants()) {
    if (variant == &kHstuAuto) continue;
    if (auto plan = PlanIfItFits(*variant, batch, threads, options))
      Weigh(candidates, *variant, batch, batch.dtype, threads, std::move(plan));
  }
  return CheapestFirst(std::move(candidates));
}

const SoftmaxVariant kAuto = {
    .name = "auto",
    .summary = "the variant that a cost model of the machine says is done first; `pagoda explain` shows it",
    .promises = kRepeatable,
    .supports = Support::Everything,
    .plan = [](const NormalBatch& batch, int threads) { return Choose(SoftmaxCandidates(batch, threads)); },
    .run = RunChosen<SoftmaxPlanImpl, SoftmaxCall>,
};

const HstuVariant kHstuAuto = {
    .name = "hstu_auto",
    .summary = "the variant that a cost model of the machine says is done first; `pagoda explain` shows it",
    .promises = kRepeatable,
    .same_bits_as = "",
    .plan = [](const NormalHstuBatch& batch, int threads,
               const HstuPlanOptions& options) { return Choose(HstuCandidates(batch, threads, options)); },
    .run = RunChosen<HstuPlanImpl, HstuCall>,
};

}  // namespace pagoda

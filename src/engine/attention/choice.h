// What `auto` and `hstu_auto` weigh.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/attention/cost.h"
#include "engine/attention/hstu/variant.h"
#include "engine/attention/variant.h"

namespace pagoda {

// A variant that could compute a batch.
template <typename PlanImpl>
struct Candidate {
  std::unique_ptr<PlanImpl> plan;  // whole: may be run
  Cost cost;
};

// The variants that support the batch, but for `auto` itself, the cheapest by CurrentMachineModel() first.
std::vector<Candidate<SoftmaxPlanImpl>> SoftmaxCandidates(const NormalBatch& batch, int threads);
std::vector<Candidate<HstuPlanImpl>> HstuCandidates(const NormalHstuBatch& batch, int threads,
                                                    const HstuPlanOptions& options);

}  // namespace pagoda

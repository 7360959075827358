#include "app/subjects/operator.h"

#include <algorithm>
#include <cmath>

#include "app/subjects/elements.h"
#include "engine/attention/variant.h"

namespace pagoda::app {
namespace {

int64_t LastOf(const TensorView& offsets) {
  return static_cast<int64_t>(
      ReadElement(offsets.data, offsets.dtype, (offsets.shape[0] - 1) * offsets.strides[0]));
}

}  // namespace

OutputShape OperatorOf<SoftmaxBatch>::Output(const SoftmaxBatch& batch) {
  return {LastOf(batch.q_indptr), batch.q_heads, batch.kv.head_dim_v};
}

std::optional<std::string_view> OperatorOf<SoftmaxBatch>::ChangedArray(const Plan& plan,
                                                                       const SoftmaxBatch& batch) {
  const NormalBatch& now = plan.impl().batch;
  const NormalBatch made = Normalise(batch);
  if (now.q_begin != made.q_begin) return "q_begin";
  if (now.kv_len != made.kv_len) return "kv_len";
  if (now.page_begin != made.page_begin) return "page_begin";
  if (now.page_ids != made.page_ids) return "page_ids";
  return std::nullopt;
}

OutputShape OperatorOf<HstuBatch>::Output(const HstuBatch& batch) {
  return {LastOf(batch.seq_offsets), batch.q_heads, batch.head_dim_v};
}

OracleResult OperatorOf<HstuBatch>::Oracle(const HstuBatch& batch, const HstuCall& call,
                                           const OracleOptions& options, ThreadPool* pool) {
  constexpr double kLeastWeight = 0.1;
  OracleResult result = HstuOracle(batch, call, options, pool);
  const HstuParams& params = batch.params;
  const double scale = params.silu_scale != 0 ? std::abs(static_cast<double>(params.silu_scale))
                                              : 1 / static_cast<double>(params.max_seq_len);
  for (double& magnitude : result.magnitude) magnitude = std::max(magnitude, kLeastWeight * scale);
  return result;
}

}  // namespace pagoda::app

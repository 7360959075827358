#include "app/subjects/operator.h"

#include "app/subjects/elements.h"

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

OutputShape OperatorOf<HstuBatch>::Output(const HstuBatch& batch) {
  return {LastOf(batch.seq_offsets), batch.q_heads, batch.head_dim_v};
}

}  // namespace pagoda::app

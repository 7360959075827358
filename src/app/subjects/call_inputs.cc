#include "app/subjects/call_inputs.h"

namespace pagoda::app {
namespace {

TensorView OneRow(void* start, DType dtype, int64_t elements) {
  return TensorView::Dense(start, dtype, {1, 1, elements});
}

// K or V. Of interleaved pages this holds the other's elements too.
TensorView CacheRow(const PagedKvView& kv, void* start, int64_t page_stride, int64_t slot_stride,
                    int64_t head_stride, int64_t dim) {
  if (kv.num_pages == 0) return OneRow(start, kv.dtype, 0);
  const int64_t last_row =
      (kv.num_pages - 1) * page_stride + (kv.page_size - 1) * slot_stride + (kv.kv_heads - 1) * head_stride;
  return OneRow(start, kv.dtype, last_row + dim);
}

CallInputs CacheAndQueries(const TensorView& q, const PagedKvView& kv) {
  CallInputs inputs;
  inputs[kInputQ] = q;
  inputs[kInputK] = CacheRow(kv, kv.k, kv.k_page_stride, kv.k_slot_stride, kv.k_head_stride, kv.head_dim);
  inputs[kInputV] = CacheRow(kv, kv.v, kv.v_page_stride, kv.v_slot_stride, kv.v_head_stride, kv.head_dim_v);
  return inputs;
}

}  // namespace

std::string_view NameOf(CallInput input) {
  constexpr std::array<std::string_view, kCallInputs> kNames = {"q", "K", "V", "target K", "target V", "rab"};
  return kNames[input];
}

CallInputs InputsOfCall(const NormalBatch& /*batch*/, const SoftmaxCall& call) {
  return CacheAndQueries(call.q, call.kv);
}

CallInputs InputsOfCall(const NormalHstuBatch& batch, const HstuCall& call) {
  CallInputs inputs = CacheAndQueries(call.q, call.kv);
  if (batch.any_target) {
    inputs[kInputTargetK] = call.k;
    inputs[kInputTargetV] = call.v;
  }
  if (!call.rab.empty()) {
    const std::array<int64_t, 4> strides = StridesOfRab(call.rab);
    int64_t last = 0;
    for (size_t i = 0; i < strides.size(); ++i) last += (call.rab.shape[i] - 1) * strides[i];
    inputs[kInputRab] = OneRow(call.rab.data, call.rab.dtype, call.rab.elements() == 0 ? 0 : last + 1);
  }
  return inputs;
}

std::array<int64_t, 4> StridesOfRab(const TensorView& rab) {
  std::array<int64_t, 4> strides{};
  for (size_t i = 0; i < strides.size(); ++i) strides[i] = i < 2 && rab.shape[i] == 1 ? 0 : rab.strides[i];
  return strides;
}

}  // namespace pagoda::app

// What a call reads, in one form for all operators.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "engine/attention/hstu/variant.h"
#include "engine/attention/variant.h"
#include "pagoda/tensor.h"

namespace pagoda::app {

enum CallInput : size_t {
  kInputQ,
  kInputK,  // of the cache
  kInputV,
  kInputTargetK,  // the others are of HSTU
  kInputTargetV,
  kInputRab,
  kCallInputs
};

// "q", "K", "V", "target K", "target V", "rab".
std::string_view NameOf(CallInput input);

// Each as [rows, heads, dim], dense in its last dimension; empty where the call has no such input. Tensors
// whose strides a reader is told, those of the cache and rab, are one row from their first element to their
// last.
using CallInputs = std::array<TensorView, kCallInputs>;

CallInputs InputsOfCall(const NormalBatch& batch, const SoftmaxCall& call);
// Of a paged batch. K and V of targets are the rows of k and v, those of no target with them; empty where
// there are no targets.
CallInputs InputsOfCall(const NormalHstuBatch& batch, const HstuCall& call);

// Strides of rab [B or 1, Hq or 1, Lq, Lk] by which its element of sequence b and head h is found whatever
// its shape: 0 where one serves all.
std::array<int64_t, 4> StridesOfRab(const TensorView& rab);

}  // namespace pagoda::app

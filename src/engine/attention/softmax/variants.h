// The softmax variants, each in a file of its own.
#pragma once

#include "engine/attention/variant.h"

namespace pagoda {

extern const SoftmaxVariant kGather;
extern const SoftmaxVariant kSpmdPagedAttention;
extern const SoftmaxVariant kSpmdPagedAttentionHighperf;
extern const SoftmaxVariant kPagedAttentionUnroll;
extern const SoftmaxVariant kPagedAttentionUnroll4Dims;
extern const SoftmaxVariant kAuto;

}  // namespace pagoda

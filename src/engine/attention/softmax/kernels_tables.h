// The tables that kernels.cc chooses from.
#pragma once

#include "engine/attention/softmax/kernels.h"

namespace pagoda {

extern const SoftmaxKernels kSoftmaxKernelsScalar;

// The Highway kernels compiled for `isa`; null if they were not.
const SoftmaxKernels* HighwaySoftmaxKernels(Isa isa);

}  // namespace pagoda

// The tables that kernels.cc chooses from.
#pragma once

#include "engine/attention/softmax/kernels.h"

namespace pagoda {

extern const SoftmaxKernels kSoftmaxKernelsScalar;

// The Highway kernels compiled for `isa`; null if they were not.
const SoftmaxKernels* HighwaySoftmaxKernels(Isa isa);

// Makes ActiveSoftmaxKernels return `kernels` until called with null: a table that counts and forwards shows
// what a variant reads without a build of its own. Not while a launch is running.
void OverrideSoftmaxKernels(const SoftmaxKernels* kernels);

}  // namespace pagoda

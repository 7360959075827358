#include "engine/attention/softmax/kernels.h"

#include "engine/attention/softmax/kernels_tables.h"

namespace pagoda {

const SoftmaxKernels& SoftmaxKernelsFor(Isa isa) {
  const SoftmaxKernels* vector = HighwaySoftmaxKernels(isa);
  return vector != nullptr ? *vector : kSoftmaxKernelsScalar;
}

const SoftmaxKernels& ActiveSoftmaxKernels() {
  static const SoftmaxKernels& active = SoftmaxKernelsFor(ActiveIsa());
  return active;
}

}  // namespace pagoda

#include "engine/attention/softmax/kernels.h"

#include <atomic>

#include "engine/attention/softmax/kernels_tables.h"

namespace pagoda {
namespace {

std::atomic<const SoftmaxKernels*> g_override = nullptr;

}  // namespace

const SoftmaxKernels& SoftmaxKernelsFor(Isa isa) {
  const SoftmaxKernels* vector = HighwaySoftmaxKernels(isa);
  return vector != nullptr ? *vector : kSoftmaxKernelsScalar;
}

const SoftmaxKernels& ActiveSoftmaxKernels() {
  if (const SoftmaxKernels* kernels = g_override.load(std::memory_order_relaxed)) return *kernels;
  static const SoftmaxKernels& active = SoftmaxKernelsFor(ActiveIsa());
  return active;
}

void OverrideSoftmaxKernels(const SoftmaxKernels* kernels) {
  g_override.store(kernels, std::memory_order_relaxed);
}

}  // namespace pagoda

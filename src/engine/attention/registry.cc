#include <algorithm>
#include <array>

#include "engine/attention/softmax/variants.h"
#include "engine/attention/variant.h"

namespace pagoda {
namespace {

constexpr std::array<const SoftmaxVariant*, 5> kVariants = {
    &kGather,
    &kSpmdPagedAttention,
    &kSpmdPagedAttentionHighperf,
    &kPagedAttentionUnroll,
    &kPagedAttentionUnroll4Dims,
};

}  // namespace

std::span<const SoftmaxVariant* const> SoftmaxVariants() { return kVariants; }

const SoftmaxVariant* FindSoftmaxVariant(std::string_view name) {
  const auto it =
      std::find_if(kVariants.begin(), kVariants.end(), [&](const auto* v) { return v->name == name; });
  return it == kVariants.end() ? nullptr : *it;
}

}  // namespace pagoda

extern "C" const pagoda::KernelLibrary* pagoda_kernel_library() {
  static const pagoda::KernelLibrary library = {
      .softmax = pagoda::SoftmaxVariants(),
      .plan_softmax = pagoda::PlanSoftmax,
      .run_softmax = pagoda::RunSoftmax,
      .make_pool = [](int threads) { return std::make_unique<pagoda::ThreadPool>(threads); },
  };
  return &library;
}

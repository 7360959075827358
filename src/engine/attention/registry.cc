#include <algorithm>
#include <array>

#include "engine/attention/hstu/variant.h"
#include "engine/attention/kernel_library.h"
#include "engine/attention/softmax/variants.h"
#include "engine/attention/variant.h"

namespace pagoda {
namespace {

constexpr std::array<const SoftmaxVariant*, 6> kSoftmaxVariants = {
    &kGather,
    &kSpmdPagedAttention,
    &kSpmdPagedAttentionHighperf,
    &kPagedAttentionUnroll,
    &kPagedAttentionUnroll4Dims,
    &kAuto,
};

constexpr std::array<const HstuVariant*, 4> kHstuVariants = {
    &kHstuGatherSerial,
    &kHstuGatherPipelined,
    &kHstuFused,
    &kHstuAuto,
};

template <typename Variants>
auto Find(const Variants& variants, std::string_view name) {
  const auto it =
      std::find_if(variants.begin(), variants.end(), [&](const auto* v) { return v->name == name; });
  return it == variants.end() ? nullptr : *it;
}

}  // namespace

std::span<const SoftmaxVariant* const> SoftmaxVariants() { return kSoftmaxVariants; }
const SoftmaxVariant* FindSoftmaxVariant(std::string_view name) { return Find(kSoftmaxVariants, name); }

std::span<const HstuVariant* const> HstuVariants() { return kHstuVariants; }
const HstuVariant* FindHstuVariant(std::string_view name) { return Find(kHstuVariants, name); }

}  // namespace pagoda

extern "C" const pagoda::KernelLibrary* pagoda_kernel_library() {
  static const pagoda::KernelLibrary library = {
      .softmax = pagoda::SoftmaxVariants(),
      .plan_softmax = pagoda::PlanSoftmax,
      .run_softmax = pagoda::RunSoftmax,
      .hstu = pagoda::HstuVariants(),
      .plan_hstu = pagoda::PlanHstu,
      .run_hstu = pagoda::RunHstu,
      .set_machine_model = pagoda::SetMachineModel,
      .make_pool = [](int threads) { return std::make_unique<pagoda::ThreadPool>(threads); },
  };
  return &library;
}

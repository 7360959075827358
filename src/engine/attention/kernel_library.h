// What the kernel library's shared object exports, so that a bench can load the same variants from several
// links of the same objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/attention/hstu/variant.h"
#include "engine/attention/variant.h"
#include "pagoda/machine_model.h"

namespace pagoda {

// Raised whenever the meaning of what crosses the border of the library changes.
inline constexpr int kKernelAbi = 4;
// Of the types that cross it: a build from other sources whose types differ must not be called.
inline constexpr uint64_t kKernelLayout = [] {
  uint64_t layout = 0;
  for (const size_t size :
       {sizeof(SoftmaxBatch), sizeof(SoftmaxCall), sizeof(SoftmaxPlan), sizeof(SoftmaxVariant),
        sizeof(SoftmaxPlanImpl), sizeof(NormalBatch), sizeof(HstuBatch), sizeof(HstuCall), sizeof(HstuPlan),
        sizeof(HstuVariant), sizeof(HstuPlanImpl), sizeof(NormalHstuBatch), sizeof(ThreadPool),
        sizeof(ThreadPool::Counters), sizeof(MachineModel)}) {
    layout = layout * 1009 + size;
  }
  return layout;
}();

// Everything is reached through these pointers.
struct KernelLibrary {
  int abi = kKernelAbi;
  uint64_t layout = kKernelLayout;
  std::span<const SoftmaxVariant* const> softmax;
  SoftmaxPlan (*plan_softmax)(const SoftmaxVariant&, const SoftmaxBatch&, int threads) = nullptr;
  void (*run_softmax)(const SoftmaxPlan&, const SoftmaxCall&, std::span<std::byte>, ThreadPool&) = nullptr;
  std::span<const HstuVariant* const> hstu = {};
  HstuPlan (*plan_hstu)(const HstuVariant&, const HstuBatch&, int threads, const HstuPlanOptions&) = nullptr;
  void (*run_hstu)(const HstuPlan&, const HstuCall&, std::span<std::byte>, ThreadPool&) = nullptr;
  void (*set_machine_model)(const MachineModel&) = nullptr;
  std::unique_ptr<ThreadPool> (*make_pool)(int threads) = nullptr;
};

}  // namespace pagoda

extern "C" const pagoda::KernelLibrary* pagoda_kernel_library();

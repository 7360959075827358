// What the operators have in common, by the type of their batch: so that a guarded run, a gate and an arm are
// written once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "app/subjects/hstu_inputs.h"
#include "app/subjects/softmax_inputs.h"
#include "engine/attention/hstu/oracle.h"
#include "engine/attention/kernel_library.h"
#include "engine/attention/oracle.h"
#include "pagoda/hstu.h"
#include "pagoda/softmax.h"

namespace pagoda::app {

// Of an output [rows, heads, dim].
struct OutputShape {
  int64_t rows = 0, heads = 0, dim = 0;
};

template <typename Batch>
struct OperatorOf;

template <>
struct OperatorOf<SoftmaxBatch> {
  using Call = SoftmaxCall;
  using Variant = SoftmaxVariant;
  using Plan = SoftmaxPlan;
  using PlanImpl = SoftmaxPlanImpl;
  using Normal = NormalBatch;
  using Inputs = SoftmaxInputs;
  using Shape = ShapeOnly;
  static constexpr bool kHasLse = true;

  static std::span<const Variant* const> Variants(const KernelLibrary& library) { return library.softmax; }
  static Support Supports(const Variant& variant, const SoftmaxBatch& batch) {
    return variant.supports(Normalise(batch));
  }
  static OutputShape Output(const SoftmaxBatch& batch);
  static Plan MakePlan(const KernelLibrary& library, const Variant& variant, const SoftmaxBatch& batch,
                       int threads) {
    return library.plan_softmax(variant, batch, threads);
  }
  static void Run(const KernelLibrary& library, const Plan& plan, const Call& call,
                  std::span<std::byte> workspace, ThreadPool& pool) {
    library.run_softmax(plan, call, workspace, pool);
  }
  // The array of the plan that no longer holds what the batch says, or nothing: plug-ins get pointers to
  // them.
  static std::optional<std::string_view> ChangedArray(const Plan& plan, const SoftmaxBatch& batch);
  static void SetLse(Call& call, const TensorView& lse) { call.lse = lse; }
  static TensorView LseOf(const Call& call) { return call.lse; }
  static std::string_view SameBitsAs(const Variant& /*variant*/) { return {}; }
  static OracleResult Oracle(const SoftmaxBatch& batch, const Call& call, const OracleOptions& options,
                             ThreadPool* pool) {
    return SoftmaxOracle(batch, call, options, pool);
  }
};

template <>
struct OperatorOf<HstuBatch> {
  using Call = HstuCall;
  using Variant = HstuVariant;
  using Plan = HstuPlan;
  using PlanImpl = HstuPlanImpl;
  using Normal = NormalHstuBatch;
  using Inputs = HstuInputs;
  using Shape = HstuShape;
  static constexpr bool kHasLse = false;

  static std::span<const Variant* const> Variants(const KernelLibrary& library) { return library.hstu; }
  static Support Supports(const Variant& /*variant*/, const HstuBatch& /*batch*/) { return Support::Yes(); }
  static OutputShape Output(const HstuBatch& batch);
  static Plan MakePlan(const KernelLibrary& library, const Variant& variant, const HstuBatch& batch,
                       int threads) {
    return library.plan_hstu(variant, batch, threads, {});
  }
  static void Run(const KernelLibrary& library, const Plan& plan, const Call& call,
                  std::span<std::byte> workspace, ThreadPool& pool) {
    library.run_hstu(plan, call, workspace, pool);
  }
  static std::optional<std::string_view> ChangedArray(const Plan& /*plan*/, const HstuBatch& /*batch*/) {
    return std::nullopt;  // plug-ins have no such variants
  }
  static void SetLse(Call& /*call*/, const TensorView& /*lse*/) {}
  static TensorView LseOf(const Call& /*call*/) { return {}; }
  // The name of another variant, or empty.
  static std::string_view SameBitsAs(const Variant& variant) { return variant.same_bits_as; }
  // A row's magnitude is at least that of one key with a tenth for its weight: where the scores of all few
  // keys happen to be near 0, weights are as small as the rounding errors of the scores.
  static OracleResult Oracle(const HstuBatch& batch, const Call& call, const OracleOptions& options,
                             ThreadPool* pool);
};

}  // namespace pagoda::app

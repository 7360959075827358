// A plan with output, LSE and workspace of its own, all poisoned and between guard bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/subjects/kernel_library.h"
#include "app/subjects/operator.h"
#include "base/buffer.h"
#include "pagoda/tensor.h"
#include "pagoda/thread_pool.h"

namespace pagoda::app {

// The output of a call and what can be said of it.
class GuardedOutput {
 public:
  virtual ~GuardedOutput() = default;

  // NaN into output, LSE and workspace.
  void Poison();

  const TensorView& out() const { return out_; }
  const TensorView& lse() const { return lse_; }
  // Output and LSE, one after the other.
  std::vector<std::byte> OutputBytes() const;

  // Whether the output, the LSE apart, is the same as in `bytes` of a run of the same shape.
  bool HasOutputOf(const std::vector<std::byte>& bytes) const;

  // Which guard was written to, or nothing.
  std::optional<std::string> Damage() const;
  // The first element of the output that isn't finite, or of the LSE that is NaN: "o[0][1][2] is infinite",
  // or nothing.
  std::optional<std::string> FirstNotFinite() const;
  // The name of the first element that still holds the poison, or nothing.
  std::optional<std::string> FirstUnwritten() const;
  // Where OutputBytes differs first from `bytes` of a run of the same shape.
  std::string FirstDifference(const std::vector<std::byte>& bytes) const;
  // Where row i differs first from row rows[i] of `whole`, or nothing.
  std::optional<std::string> FirstDifference(const GuardedOutput& whole, std::span<const int64_t> rows) const;

 protected:
  GuardedOutput(const OutputShape& shape, DType out_dtype, bool with_lse, size_t workspace_bytes);
  GuardedOutput(GuardedOutput&&) = default;

  std::span<std::byte> workspace() { return {workspace_.data(), workspace_.size()}; }

 private:
  // Output and, where calls ask for it, LSE.
  std::vector<const TensorView*> Outputs() const;

  Buffer out_data_, lse_data_, workspace_;
  TensorView out_, lse_;
};

template <typename Batch>
class GuardedRunOf : public GuardedOutput {
 public:
  using Op = OperatorOf<Batch>;

  // Without `with_lse` calls ask for none; lse() is then empty.
  GuardedRunOf(Kernels& kernels, const typename Op::Variant& variant, const Batch& batch, int threads,
               DType out_dtype, bool with_lse = true)
      : GuardedRunOf(kernels, Op::MakePlan(kernels.library(), variant, batch, threads), batch, threads,
                     out_dtype, with_lse) {}

  // One call with the output and LSE of this run.
  void Run(typename Op::Call call) { Run(plan_, call); }
  // The same with a plan of its own, as a caller without one would do it.
  void PlanAndRun(const typename Op::Variant& variant, const Batch& batch, typename Op::Call call) {
    Run(Op::MakePlan(library_, variant, batch, pool_.threads()), call);
  }
  // The array of the plan that no longer holds what the batch says, or nothing.
  std::optional<std::string_view> ChangedArray() const { return Op::ChangedArray(plan_, batch_); }

 private:
  GuardedRunOf(Kernels& kernels, typename Op::Plan plan, const Batch& batch, int threads, DType out_dtype,
               bool with_lse)
      : GuardedOutput(Op::Output(batch), out_dtype, with_lse && Op::kHasLse, plan.workspace_bytes()),
        library_(kernels.library()),
        pool_(kernels.Pool(threads)),
        batch_(batch),
        plan_(std::move(plan)) {}

  void Run(const typename Op::Plan& plan, typename Op::Call& call) {
    call.out = out();
    Op::SetLse(call, lse());
    Op::Run(library_, plan, call, workspace(), pool_);
  }

  const KernelLibrary& library_;
  ThreadPool& pool_;
  const Batch batch_;
  typename Op::Plan plan_;
};

using GuardedRun = GuardedRunOf<SoftmaxBatch>;

}  // namespace pagoda::app

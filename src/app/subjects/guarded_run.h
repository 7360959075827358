// A plan with output, LSE and workspace of its own, all poisoned and between guard bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/subjects/kernel_library.h"
#include "base/buffer.h"
#include "pagoda/softmax.h"

namespace pagoda::app {

class GuardedRun {
 public:
  // Without `with_lse` calls ask for none; lse() is then empty.
  GuardedRun(Kernels& kernels, const SoftmaxVariant& variant, const SoftmaxBatch& batch, int threads,
             DType out_dtype, bool with_lse = true);

  // NaN into output, LSE and workspace.
  void Poison();
  // One call with the output and LSE of this run.
  void Run(SoftmaxCall call);
  // The same with a plan of its own, as a caller without one would do it.
  void PlanAndRun(const SoftmaxVariant& variant, const SoftmaxBatch& batch, SoftmaxCall call);

  const TensorView& out() const { return out_; }
  const TensorView& lse() const { return lse_; }
  // Output and LSE, one after the other.
  std::vector<std::byte> OutputBytes() const;

  // Whether the output, the LSE apart, is the same as in `bytes` of a run of the same shape.
  bool HasOutputOf(const std::vector<std::byte>& bytes) const;

  // Which guard was written to, or nothing.
  std::optional<std::string> Damage() const;
  // The name of the first element of output or LSE that is NaN, or nothing.
  std::optional<std::string> FirstNaN() const;
  // The same of the first one that still holds the poison.
  std::optional<std::string> FirstUnwritten() const;
  // Where OutputBytes differs first from `bytes` of a run of the same shape.
  std::string FirstDifference(const std::vector<std::byte>& bytes) const;
  // Where row i differs first from row rows[i] of `whole`, or nothing.
  std::optional<std::string> FirstDifference(const GuardedRun& whole, std::span<const int64_t> rows) const;

 private:
  void Run(const SoftmaxPlan& plan, SoftmaxCall& call);
  // Output and, where calls ask for it, LSE.
  std::vector<const TensorView*> Outputs() const;

  const KernelLibrary& library_;
  ThreadPool& pool_;
  SoftmaxPlan plan_;
  Buffer out_data_, lse_data_, workspace_;
  TensorView out_, lse_;
};

}  // namespace pagoda::app

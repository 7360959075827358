// A variant bound to the inputs of one case, to be timed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "app/subjects/compare.h"
#include "app/subjects/gate.h"
#include "app/subjects/kernel_library.h"
#include "app/subjects/operator.h"
#include "base/buffer.h"
#include "judge/bench/subject.h"

namespace pagoda::app {

// What all arms of a case share: the inputs, the pool whose turn it is, and the oracle's answer once it was
// asked for.
template <typename Batch>
class TimedInputsOf {
 public:
  TimedInputsOf(const judge::CaseSpec& spec, uint64_t seed, int64_t least_pool_bytes, Memory memory);

  const judge::CaseSpec& spec() const { return spec_; }
  const InputsOf<Batch>& inputs() const { return inputs_; }
  // The next pool in turn, whichever arm asks.
  typename OperatorOf<Batch>::Call NextCall() { return inputs_.call(TakeTurns(1)); }
  // The same for so many calls, which go on from it round and round.
  size_t TakeTurns(int64_t calls);
  // A timed output of [total_q, Hq, Dv] against the oracle.
  judge::CheckResult Check(const TensorView& out, ThreadPool& pool);

 private:
  judge::CaseSpec spec_;
  InputsOf<Batch> inputs_;
  size_t turn_ = 0;
  std::optional<OracleResult> reference_;
};

// Host time is that of validation, planning and running, per call; device time that from the first worker's
// start to the last one's end, or the time of the run where the variant has workers of its own. The output
// has the dtype of the inputs, the LSE is not asked for.
template <typename Batch>
class VariantArm : public judge::Arm {
 public:
  using Op = OperatorOf<Batch>;

  VariantArm(std::shared_ptr<TimedInputsOf<Batch>> shared, Kernels& kernels,
             const typename Op::Variant& variant, int threads, uint64_t seed);

  judge::EpochTime Run(int64_t calls) override;
  judge::CheckResult CheckTimedOutput() override;

 private:
  std::shared_ptr<TimedInputsOf<Batch>> shared_;
  Kernels& kernels_;
  ThreadPool& pool_;
  const typename Op::Variant& variant_;
  int threads_;
  Buffer out_, workspace_;
  TensorView out_view_;
  std::span<std::byte> workspace_view_;
};

}  // namespace pagoda::app

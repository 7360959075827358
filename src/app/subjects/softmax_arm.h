// A variant bound to the inputs of one case, to be timed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "app/subjects/compare.h"
#include "app/subjects/kernel_library.h"
#include "app/subjects/softmax_inputs.h"
#include "base/buffer.h"
#include "judge/bench/subject.h"

namespace pagoda::app {

// What all arms of a case share: the inputs, the pool whose turn it is, and the oracle's answer once it was
// asked for.
class TimedInputs {
 public:
  TimedInputs(const judge::CaseSpec& spec, uint64_t seed, int64_t least_pool_bytes, Memory memory);

  const judge::CaseSpec& spec() const { return spec_; }
  const SoftmaxInputs& inputs() const { return inputs_; }
  // The next pool in turn, whichever arm asks.
  SoftmaxCall NextCall() { return inputs_.call(TakeTurns(1)); }
  // The same for so many calls, which go on from it round and round.
  size_t TakeTurns(int64_t calls);
  // A timed output of [total_q, Hq, Dv] against the oracle.
  judge::CheckResult Check(const TensorView& out, ThreadPool& pool);

 private:
  judge::CaseSpec spec_;
  SoftmaxInputs inputs_;
  size_t turn_ = 0;
  std::optional<OracleResult> reference_;
};

// Host time is that of validation, planning and running, per call; device time that from the first worker's
// start to the last one's end, or the time of the run where the variant has workers of its own. The output
// has the dtype of the inputs, the LSE is not asked for.
class SoftmaxArm : public judge::Arm {
 public:
  SoftmaxArm(std::shared_ptr<TimedInputs> shared, Kernels& kernels, const SoftmaxVariant& variant,
             int threads, uint64_t seed);

  judge::EpochTime Run(int64_t calls) override;
  judge::CheckResult CheckTimedOutput() override;

 private:
  std::shared_ptr<TimedInputs> shared_;
  Kernels& kernels_;
  ThreadPool& pool_;
  const SoftmaxVariant& variant_;
  int threads_;
  Buffer out_, workspace_;
  TensorView out_view_;
  std::span<std::byte> workspace_view_;
};

}  // namespace pagoda::app

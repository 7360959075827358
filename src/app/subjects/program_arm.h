// An external program bound to the inputs of one case, to be timed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/subjects/program_time.h"
#include "app/subjects/program_variant.h"
#include "app/subjects/variant_arm.h"
#include "base/buffer.h"
#include "judge/bench/subject.h"

namespace pagoda::app {

// Its epochs lie between those of the other arms, in a process of its own. Host and device time are both what
// the program says that its calls took, which is held against the time from request to answer.
template <typename Batch>
class ProgramArm : public judge::Arm {
 public:
  // The inputs are in shared memory. Throws Fault.
  ProgramArm(std::shared_ptr<TimedInputsOf<Batch>> shared, ProgramVariant& program, int threads,
             uint64_t seed);

  judge::EpochTime Run(int64_t calls) override;
  judge::CheckResult CheckTimedOutput() override;

 private:
  std::shared_ptr<TimedInputsOf<Batch>> shared_;
  Program& program_;
  ThreadPool& pool_;  // for the oracle
  Buffer out_;
  TensorView out_view_;
  std::vector<ProgramTime> epochs_;
};

}  // namespace pagoda::app

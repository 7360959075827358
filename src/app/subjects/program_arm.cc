#include "app/subjects/program_arm.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "app/subjects/fault.h"
#include "app/subjects/program_message.h"
#include "app/subjects/shared_call.h"
#include "base/random.h"
#include "engine/attention/variant.h"

namespace pagoda::app {
ProgramArm::ProgramArm(std::shared_ptr<TimedInputs> shared, ProgramVariant& program, int threads,
                       uint64_t seed)
    : shared_(std::move(shared)), program_(program.program()), pool_(program.kernels().Pool(threads)) {
  constexpr uint64_t kOffsets = 64;  // multiples of a cache line, up to a small page
  const SoftmaxInputs& inputs = shared_->inputs();
  const NormalBatch batch = Normalise(inputs.batch());
  const size_t offset = Random(seed).Below(kOffsets) * kBufferAlignment;
  const size_t bytes = batch.total_q * batch.q_heads * batch.head_dim_v * SizeOf(batch.kv.dtype);
  out_ = Buffer(offset + bytes, Guards::kBoth, Memory::kShared);
  out_view_ = TensorView::Dense(out_.data() + offset, batch.kv.dtype,
                                {batch.total_q, batch.q_heads, batch.head_dim_v});
  ProgramTensors tensors{.q = inputs.PlaceOf(inputs.call(0).q.data),
                         .k = {},
                         .v = {},
                         .out = out_.PlaceOf(out_view_.data),
                         .lse = {}};
  for (size_t pool = 0; pool < inputs.pools(); ++pool) {
    tensors.k.push_back(inputs.PlaceOf(inputs.call(pool).kv.k));
    tensors.v.push_back(inputs.PlaceOf(inputs.call(pool).kv.v));
  }
  program_.RequireReady(PrepareMessage(batch, inputs.call(0), threads, tensors));
}

judge::EpochTime ProgramArm::Run(int64_t calls) {
  std::memset(out_.data(), 0xff, out_.size());  // NaN: what a call does not write shows in the check
  // Workers of the pools in this process still spin where the arm before ended just now.
  std::this_thread::sleep_for(std::chrono::nanoseconds(2 * ThreadPool::kSpinNs));
  const ProgramTime time = program_.Run(calls, shared_->TakeTurns(calls));
  program_.WaitUntilIdle();
  epochs_.push_back(time);
  return {.host_ns = time.reported_ns, .device_ns = time.reported_ns};
}

judge::CheckResult ProgramArm::CheckTimedOutput() {
  judge::CheckResult result = shared_->Check(out_view_, pool_);
  try {
    RequireWholeGuards(out_, "output");
    if (const auto wrong = WrongTimes(epochs_)) throw Fault(fmt::format("run: {}", *wrong));
  } catch (const Fault& fault) {
    result.passed = false;
    result.fault = fault.what();
  }
  return result;
}

}  // namespace pagoda::app

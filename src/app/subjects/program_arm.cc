#include "app/subjects/program_arm.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "app/subjects/call_inputs.h"
#include "app/subjects/fault.h"
#include "app/subjects/program_message.h"
#include "app/subjects/shared_call.h"
#include "base/random.h"
#include "engine/attention/variant.h"

namespace pagoda::app {
namespace {

// Where the inputs of all pools are; only those of the cache are in each.
template <typename Inputs, typename Normal>
ProgramTensors PlacesOf(const Inputs& inputs, const Normal& batch) {
  ProgramTensors tensors;
  for (size_t pool = 0; pool < inputs.pools(); ++pool) {
    const CallInputs call = InputsOfCall(batch, inputs.call(pool));
    for (size_t i = 0; i < kCallInputs; ++i) {
      const bool in_each = i == kInputK || i == kInputV;
      if (!call[i].empty() && (in_each || pool == 0))
        tensors.inputs[i].push_back(inputs.PlaceOf(call[i].data));
    }
  }
  return tensors;
}

}  // namespace

template <typename Batch>
ProgramArm<Batch>::ProgramArm(std::shared_ptr<TimedInputsOf<Batch>> shared, ProgramVariant& program,
                              int threads, uint64_t seed)
    : shared_(std::move(shared)), program_(program.program()), pool_(program.kernels().Pool(threads)) {
  constexpr uint64_t kOffsets = 64;  // multiples of a cache line, up to a small page
  const InputsOf<Batch>& inputs = shared_->inputs();
  const auto batch = Normalise(inputs.batch());
  const DType dtype = shared_->spec().dtype;
  const size_t offset = Random(seed).Below(kOffsets) * kBufferAlignment;
  const size_t bytes = batch.total_q * batch.q_heads * batch.head_dim_v * SizeOf(dtype);
  out_ = Buffer(offset + bytes, Guards::kBoth, Memory::kShared);
  out_view_ =
      TensorView::Dense(out_.data() + offset, dtype, {batch.total_q, batch.q_heads, batch.head_dim_v});
  ProgramTensors tensors = PlacesOf(inputs, batch);
  tensors.out = out_.PlaceOf(out_view_.data);
  program_.RequireReady(PrepareMessage(batch, inputs.call(0), threads, tensors));
}

template <typename Batch>
judge::EpochTime ProgramArm<Batch>::Run(int64_t calls) {
  std::memset(out_.data(), 0xff, out_.size());  // NaN: what a call does not write shows in the check
  // Workers of the pools in this process still spin where the arm before ended just now.
  std::this_thread::sleep_for(std::chrono::nanoseconds(2 * ThreadPool::kSpinNs));
  const ProgramTime time = program_.Run(calls, shared_->TakeTurns(calls));
  program_.WaitUntilIdle();
  epochs_.push_back(time);
  return {.host_ns = time.reported_ns, .device_ns = time.reported_ns};
}

template <typename Batch>
judge::CheckResult ProgramArm<Batch>::CheckTimedOutput() {
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

template class ProgramArm<SoftmaxBatch>;
template class ProgramArm<HstuBatch>;

}  // namespace pagoda::app

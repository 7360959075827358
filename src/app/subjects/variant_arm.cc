#include "app/subjects/variant_arm.h"

#include <fmt/format.h>

#include <cstring>

#include "base/random.h"
#include "base/sys/clock.h"

namespace pagoda::app {
namespace {

// The gate has looked at every row before; after timing a sample of the larger cases is enough.
constexpr double kOracleFlops = 0.5e9;

// Empty launches until every other pool's workers have parked. Another link's pool has workers on the same
// CPUs, and in the first moments after its arm they still spin there.
void TakeOverTheCpus(ThreadPool& pool) {
  const int64_t parked = sys::NowNs() + 2 * ThreadPool::kSpinNs;
  while (sys::NowNs() < parked) pool.Run(pool.threads(), [](int64_t, int) {});
}

}  // namespace

template <typename Batch>
TimedInputsOf<Batch>::TimedInputsOf(const judge::CaseSpec& spec, uint64_t seed, int64_t least_pool_bytes,
                                    Memory memory)
    : spec_(spec),
      inputs_(
          spec,
          {.seed = seed, .least_pool_bytes = least_pool_bytes, .random_offsets = true, .memory = memory}) {}

template <typename Batch>
size_t TimedInputsOf<Batch>::TakeTurns(int64_t calls) {
  const size_t first = turn_;
  turn_ = (turn_ + static_cast<size_t>(calls)) % inputs_.pools();
  return first;
}

template <typename Batch>
judge::CheckResult TimedInputsOf<Batch>::Check(const TensorView& out, ThreadPool& pool) {
  if (!reference_) reference_ = Reference(inputs_, kOracleFlops, &pool);
  const Comparison comparison = Compare(out, {}, *reference_, ToleranceOf(spec_));
  judge::CheckResult result{
      .passed = comparison.passed(), .max_abs_error = comparison.max_abs_error, .fault = {}};
  if (!result.passed) {
    result.fault = fmt::format("{} of {} elements are outside the tolerance, the worst {}",
                               comparison.outside, comparison.compared, DescribeElement(comparison));
  }
  return result;
}

template <typename Batch>
VariantArm<Batch>::VariantArm(std::shared_ptr<TimedInputsOf<Batch>> shared, Kernels& kernels,
                              const typename Op::Variant& variant, int threads, uint64_t seed)
    : shared_(std::move(shared)),
      kernels_(kernels),
      pool_(kernels.Pool(threads)),
      variant_(variant),
      threads_(threads) {
  constexpr uint64_t kOffsets = 64;  // multiples of a cache line, up to a small page
  Random random(seed);
  const Batch& batch = shared_->inputs().batch();
  const DType dtype = shared_->spec().dtype;
  const typename Op::Plan plan = Op::MakePlan(kernels_.library(), variant_, batch, threads_);
  const OutputShape shape = Op::Output(batch);
  const size_t out_offset = random.Below(kOffsets) * kBufferAlignment;
  const size_t workspace_offset = random.Below(kOffsets) * kBufferAlignment;
  out_ = Buffer(out_offset + shape.rows * shape.heads * shape.dim * SizeOf(dtype), Guards::kBoth);
  workspace_ = Buffer(workspace_offset + plan.workspace_bytes(), Guards::kBoth);
  out_view_ = TensorView::Dense(out_.data() + out_offset, dtype, {shape.rows, shape.heads, shape.dim});
  workspace_view_ = {workspace_.data() + workspace_offset, plan.workspace_bytes()};
}

template <typename Batch>
judge::EpochTime VariantArm<Batch>::Run(int64_t calls) {
  std::memset(out_.data(), 0xff, out_.size());  // NaN: what a call does not write shows in the check
  const KernelLibrary& library = kernels_.library();
  const Batch& batch = shared_->inputs().batch();
  TakeOverTheCpus(pool_);
  judge::EpochTime time;
  for (int64_t i = 0; i < calls; ++i) {
    typename Op::Call call = shared_->NextCall();
    call.out = out_view_;
    pool_.ResetCounters();
    const int64_t start = sys::NowNs();
    int64_t planned = 0, ran = 0;
    {
      const typename Op::Plan plan = Op::MakePlan(library, variant_, batch, threads_);
      planned = sys::NowNs();
      Op::Run(library, plan, call, workspace_view_, pool_);
      ran = sys::NowNs();
    }
    time.host_ns += static_cast<double>(sys::NowNs() - start);
    const ThreadPool::Counters& counters = pool_.counters();
    time.device_ns += static_cast<double>(
        counters.launches > 0 ? counters.last_end_ns - counters.first_start_ns : ran - planned);
  }
  return time;
}

template <typename Batch>
judge::CheckResult VariantArm<Batch>::CheckTimedOutput() {
  judge::CheckResult result = shared_->Check(out_view_, pool_);
  for (const Buffer* buffer : {&out_, &workspace_}) {
    if (const auto damage = buffer->FindDamage()) {
      result.passed = false;
      result.fault = fmt::format("out-of-bounds write at the {}: {}",
                                 buffer == &out_ ? "output" : "workspace", damage->Describe(buffer->size()));
      return result;
    }
  }
  return result;
}

template class TimedInputsOf<SoftmaxBatch>;
template class TimedInputsOf<HstuBatch>;
template class VariantArm<SoftmaxBatch>;
template class VariantArm<HstuBatch>;

}  // namespace pagoda::app

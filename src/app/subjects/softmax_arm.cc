#include "app/subjects/softmax_arm.h"

#include <fmt/format.h>

#include <cstring>

#include "app/subjects/gate.h"
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

TimedInputs::TimedInputs(const judge::CaseSpec& spec, uint64_t seed, int64_t least_pool_bytes, Memory memory)
    : spec_(spec),
      inputs_(
          spec,
          {.seed = seed, .least_pool_bytes = least_pool_bytes, .random_offsets = true, .memory = memory}) {}

size_t TimedInputs::TakeTurns(int64_t calls) {
  const size_t first = turn_;
  turn_ = (turn_ + static_cast<size_t>(calls)) % inputs_.pools();
  return first;
}

judge::CheckResult TimedInputs::Check(const TensorView& out, ThreadPool& pool) {
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

SoftmaxArm::SoftmaxArm(std::shared_ptr<TimedInputs> shared, Kernels& kernels, const SoftmaxVariant& variant,
                       int threads, uint64_t seed)
    : shared_(std::move(shared)),
      kernels_(kernels),
      pool_(kernels.Pool(threads)),
      variant_(variant),
      threads_(threads) {
  constexpr uint64_t kOffsets = 64;  // multiples of a cache line, up to a small page
  Random random(seed);
  const SoftmaxBatch& batch = shared_->inputs().batch();
  const judge::CaseSpec& spec = shared_->spec();
  const SoftmaxPlan plan = kernels_.library().plan_softmax(variant_, batch, threads_);
  const int64_t rows = shared_->inputs().call(0).q.shape[0];
  const size_t out_offset = random.Below(kOffsets) * kBufferAlignment;
  const size_t workspace_offset = random.Below(kOffsets) * kBufferAlignment;
  out_ = Buffer(out_offset + rows * spec.q_heads * spec.head_dim_v * SizeOf(spec.dtype), Guards::kBoth);
  workspace_ = Buffer(workspace_offset + plan.workspace_bytes(), Guards::kBoth);
  out_view_ = TensorView::Dense(out_.data() + out_offset, spec.dtype, {rows, spec.q_heads, spec.head_dim_v});
  workspace_view_ = {workspace_.data() + workspace_offset, plan.workspace_bytes()};
}

judge::EpochTime SoftmaxArm::Run(int64_t calls) {
  std::memset(out_.data(), 0xff, out_.size());  // NaN: what a call does not write shows in the check
  const KernelLibrary& library = kernels_.library();
  const SoftmaxBatch& batch = shared_->inputs().batch();
  TakeOverTheCpus(pool_);
  judge::EpochTime time;
  for (int64_t i = 0; i < calls; ++i) {
    SoftmaxCall call = shared_->NextCall();
    call.out = out_view_;
    pool_.ResetCounters();
    const int64_t start = sys::NowNs();
    int64_t planned = 0, ran = 0;
    {
      const SoftmaxPlan plan = library.plan_softmax(variant_, batch, threads_);
      planned = sys::NowNs();
      library.run_softmax(plan, call, workspace_view_, pool_);
      ran = sys::NowNs();
    }
    time.host_ns += static_cast<double>(sys::NowNs() - start);
    const ThreadPool::Counters& counters = pool_.counters();
    time.device_ns += static_cast<double>(
        counters.launches > 0 ? counters.last_end_ns - counters.first_start_ns : ran - planned);
  }
  return time;
}

judge::CheckResult SoftmaxArm::CheckTimedOutput() {
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

}  // namespace pagoda::app

#include "app/subjects/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "app/subjects/fault.h"
#include "app/subjects/fingerprint.h"
#include "app/subjects/guarded_run.h"
#include "base/io/shown.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr double kOracleFlops = 20e9;
constexpr double kOtherOracleFlops = 0.1e9;  // of the other queries the first and the last row are enough
constexpr int kLeastCalls = 12;              // one more than a fault that waits for ten calls needs

constexpr size_t kMostShown = 500;  // of what a variant throws

constexpr std::string_view kInputWritten = "an input was written to";

// One gate run of one variant.
template <typename Batch>
class GateRun {
 public:
  using Op = OperatorOf<Batch>;
  using Guarded = GuardedRunOf<Batch>;

  GateRun(const GateCaseOf<Batch>& gate_case, Kernels& kernels, const typename Op::Variant& variant,
          int threads, bool with_lse)
      : case_(gate_case), kernels_(kernels), variant_(variant), threads_(threads), with_lse_(with_lse) {}

  void RunAll(judge::GateResult& result) {
    const InputsOf<Batch>& inputs = case_.inputs();
    Guarded run = Plan(inputs.batch(), threads_);
    Call(run, inputs.call(0), "call 1", nullptr);
    result.bitwise_repeatable = true;
    const std::vector<std::byte> first = run.OutputBytes();
    OtherQueries(run, first);
    Repeat(run, first, result);
    FreshPlan(first, result);
    OtherThreadCounts(first);
    Batches(run);
    SameBitsAsAnother(first, result);
    RequireIntact();
  }

  double max_abs_error() const { return max_abs_error_; }
  const std::string& last_call() const { return last_call_; }

 private:
  bool Promises(Promise promise) const { return (variant_.promises & promise) != 0; }

  Guarded Plan(const Batch& batch, int threads) const {
    return {kernels_, variant_, batch, threads, case_.spec().dtype, with_lse_};
  }

  // One call that writes to nothing but its output and workspace. The pools are large, and looked at apart.
  void Run(Guarded& run, const typename Op::Call& call, std::string_view what) {
    last_call_ = what;
    run.Poison();
    run.Run(call);
    if (const auto damage = run.Damage()) throw Fault(fmt::format("{}: {}", what, *damage));
    if (const auto array = run.ChangedArray()) {
      throw Fault(fmt::format("{}: {}: {}", what, kInputWritten, *array));
    }
  }

  void RequireIntact() const {
    if (!case_.Intact()) throw Fault(std::string(kInputWritten));
  }

  // One call, checked in every way. With `same_as`, the output must have those bytes.
  void Call(Guarded& run, const typename Op::Call& call, std::string_view what,
            const std::vector<std::byte>* same_as) {
    ++calls_;
    Run(run, call, what);
    // Two calls may undo each other's writes, but not those of the first, nor of each of two in a row.
    if (calls_ == 1 || calls_ + 1 == kLeastCalls || calls_ == kLeastCalls) RequireIntact();
    if (same_as != nullptr && run.OutputBytes() == *same_as) return;  // compared with the oracle before
    const Comparison comparison = Compare(run.out(), run.lse(), case_.reference(), case_.tolerance());
    max_abs_error_ = std::max(max_abs_error_, comparison.max_abs_error);
    if (!comparison.passed()) {
      if (const auto hole = run.FirstUnwritten())
        throw Fault(fmt::format("{}: {} was never written", what, *hole));
      throw Fault(fmt::format("{}: {} of {} elements are outside the tolerance, the worst {}", what,
                              comparison.outside, comparison.compared, DescribeElement(comparison)));
    }
    // Rows that the oracle did not compute must at least be finite: inputs are normal.
    if (const auto hole = run.FirstNotFinite()) throw Fault(fmt::format("{}: {}", what, *hole));
    if (same_as != nullptr) throw Fault(fmt::format("{}: {}", what, run.FirstDifference(*same_as)));
  }

  // An output that is kept from call to call is right as long as the inputs stay.
  void OtherQueries(Guarded& run, const std::vector<std::byte>& first) {
    Run(run, case_.other_call(), "other queries");
    const Comparison comparison = Compare(run.out(), run.lse(), case_.other_reference(), case_.tolerance());
    if (comparison.passed()) return;
    if (run.HasOutputOf(first))
      throw Fault("other queries: stale: the output is still that of the call before");
    throw Fault(fmt::format("other queries: the worst element is {}", DescribeElement(comparison)));
  }

  void Repeat(Guarded& run, const std::vector<std::byte>& first, judge::GateResult& result) {
    while (calls_ < kLeastCalls) {
      const std::string what = fmt::format("call {}", calls_ + 1);
      Call(run, case_.inputs().call(0), what, Promises(kRepeatable) ? &first : nullptr);
      result.bitwise_repeatable = result.bitwise_repeatable && run.OutputBytes() == first;
    }
  }

  void FreshPlan(const std::vector<std::byte>& first, judge::GateResult& result) {
    Guarded run = Plan(case_.inputs().batch(), threads_);
    Call(run, case_.inputs().call(0), "fresh plan against a reused one",
         Promises(kRepeatable) ? &first : nullptr);
    result.bitwise_repeatable = result.bitwise_repeatable && run.OutputBytes() == first;
  }

  void OtherThreadCounts(const std::vector<std::byte>& first) {
    for (const int threads : std::set<int>{1, 2, 3, threads_}) {
      if (threads == threads_) continue;
      Guarded run = Plan(case_.inputs().batch(), threads);
      const std::string what = fmt::format("{} threads against {}", threads, threads_);
      Call(run, case_.inputs().call(0), what, Promises(kThreadInvariant) ? &first : nullptr);
    }
  }

  // Against the variant whose bits it promises.
  void SameBitsAsAnother(const std::vector<std::byte>& first, judge::GateResult& result) {
    const std::string_view name = Op::SameBitsAs(variant_);
    if (name.empty()) return;
    const auto all = Op::Variants(kernels_.library());
    const auto other = std::find_if(all.begin(), all.end(), [&](const auto* v) { return v->name == name; });
    if (other == all.end()) throw Fault(fmt::format("promises the bits of {}, which isn't there", name));
    Guarded run(kernels_, **other, case_.inputs().batch(), threads_, case_.spec().dtype, with_lse_);
    Run(run, case_.inputs().call(0), name);
    if (run.OutputBytes() != first)
      throw Fault(fmt::format("against {}: {}", name, run.FirstDifference(first)));
    result.same_bits_as = name;
  }

  // Sequences alone and twice over, against the rows that the whole batch gave them.
  void Batches(const Guarded& whole) {
    if (!Promises(kBatchInvariant)) return;
    const int64_t batch = std::ssize(case_.spec().contexts);
    if (batch == 0) return;
    for (const int64_t b : std::set<int64_t>{0, batch / 2, batch - 1}) {
      if (batch > 1) ComparePart(whole, {b}, fmt::format("sequence {} alone against in the batch", b));
    }
    ComparePart(whole, {batch - 1, batch - 1},
                fmt::format("sequence {} twice in a batch against {}", batch - 1,
                            batch > 1 ? "in the whole" : "alone"));
  }

  void ComparePart(const Guarded& whole, const std::vector<int64_t>& sequences, std::string_view what) {
    const typename InputsOf<Batch>::Part part = case_.inputs().Take(sequences);
    Guarded run = Plan(part.batch, threads_);
    Run(run, part.call, what);
    std::vector<int64_t> rows;
    for (const int64_t b : sequences) {
      int64_t row = 0;
      for (int64_t s = 0; s < b; ++s) row += case_.spec().queries[s];
      for (int64_t i = 0; i < case_.spec().queries[b]; ++i) rows.push_back(row + i);
    }
    if (const auto difference = run.FirstDifference(whole, rows))
      throw Fault(fmt::format("{}: {}", what, *difference));
  }

  const GateCaseOf<Batch>& case_;
  Kernels& kernels_;
  const typename Op::Variant& variant_;
  const int threads_;
  const bool with_lse_;
  int calls_ = 0;
  std::string last_call_;  // what it was made for
  double max_abs_error_ = 0;
};

// The elements of q from the last to the first.
Buffer Reversed(const TensorView& q) {
  const auto size = static_cast<size_t>(SizeOf(q.dtype));
  Buffer reversed(static_cast<size_t>(q.elements()) * size);
  std::byte* to = reversed.data() + reversed.size();
  for (int64_t row = 0; row < q.shape[0]; ++row) {
    for (int64_t head = 0; head < q.shape[1]; ++head) {
      const auto* from =
          static_cast<const std::byte*>(q.data) + (row * q.strides[0] + head * q.strides[1]) * size;
      for (int64_t d = 0; d < q.shape[2]; ++d) std::memcpy(to -= size, from + d * size, size);
    }
  }
  return reversed;
}

}  // namespace

Tolerance ToleranceOf(const judge::CaseSpec& spec) {
  Tolerance tolerance = GateTolerance(spec.dtype);
  if (spec.atol > 0) tolerance.atol = spec.atol;
  if (spec.rtol > 0) tolerance.rtol = spec.rtol;
  return tolerance;
}

template <typename Inputs>
OracleResult Reference(const Inputs& inputs, double max_flops, ThreadPool* pool) {
  OracleOptions options;
  options.max_flops = max_flops;
  options.rows = inputs.aligned_rows();
  return OperatorOf<std::remove_cvref_t<decltype(inputs.batch())>>::Oracle(inputs.batch(), inputs.call(0),
                                                                           options, pool);
}

template <typename Batch>
GateCaseOf<Batch>::GateCaseOf(const judge::CaseSpec& spec, uint64_t seed, ThreadPool* pool)
    : spec_(spec),
      seed_(seed),
      inputs_(spec, {.seed = seed, .repeat_pages = seed % 2 == 1}),
      reference_(Reference(inputs_, kOracleFlops, pool)),
      tolerance_(ToleranceOf(spec)),
      other_q_(Reversed(inputs_.call(0).q)),
      fingerprint_(Fingerprint()) {
  other_call_ = inputs_.call(0);
  const TensorView& q = other_call_.q;
  other_call_.q = TensorView::Dense(other_q_.data(), q.dtype, {q.shape[0], q.shape[1], q.shape[2]});
  other_reference_ = OperatorOf<Batch>::Oracle(
      inputs_.batch(), other_call_, {.max_flops = kOtherOracleFlops, .sample = 0, .rows = {}}, pool);
}

template <typename Batch>
uint64_t GateCaseOf<Batch>::Fingerprint() const {
  return app::Fingerprint({other_q_.data(), other_q_.size()}, inputs_.Fingerprint());
}

template <typename Batch>
judge::GateResult RunGate(const GateCaseOf<Batch>& gate_case, Kernels& kernels,
                          const typename OperatorOf<Batch>::Variant& variant, int threads, bool with_lse) {
  judge::GateResult result;
  result.case_name = gate_case.spec().name;
  result.variant = variant.name;
  result.seed = gate_case.seed();
  GateRun<Batch> run(gate_case, kernels, variant, threads, with_lse);
  try {
    run.RunAll(result);
    result.passed = true;
  } catch (const Fault& fault) {
    // Where an input was written to, the rest comes of it.
    result.fault = gate_case.Intact() ? fault.what() : fmt::format("{}: {}", run.last_call(), kInputWritten);
  } catch (const std::exception& error) {
    result.fault = fmt::format("threw: {}", io::Shown(error.what(), kMostShown));
  }
  if (!result.passed) {
    result.bitwise_repeatable = false;
    result.same_bits_as.clear();
  }
  result.max_abs_error = run.max_abs_error();
  return result;
}

template OracleResult Reference(const SoftmaxInputs&, double, ThreadPool*);
template OracleResult Reference(const HstuInputs&, double, ThreadPool*);
template class GateCaseOf<SoftmaxBatch>;
template class GateCaseOf<HstuBatch>;
template judge::GateResult RunGate(const GateCaseOf<SoftmaxBatch>&, Kernels&, const SoftmaxVariant&, int,
                                   bool);
template judge::GateResult RunGate(const GateCaseOf<HstuBatch>&, Kernels&, const HstuVariant&, int, bool);

}  // namespace pagoda::app

#include "app/subjects/attend.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <type_traits>
#include <variant>

#include "base/sys/clock.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr int kWarmUps = 3;
constexpr int kTimedCalls = 11;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename Problem>
using BatchOf = std::remove_cvref_t<decltype(Problem::batch)>;

template <typename Problem>
void Time(const Problem& problem, Kernels& kernels,
          const typename OperatorOf<BatchOf<Problem>>::Variant& variant, bool with_lse,
          const AttendOptions& options, AttendRow& row) {
  std::vector<double> host;
  std::vector<double> device;
  ThreadPool& pool = kernels.Pool(options.threads);
  GuardedRunOf<BatchOf<Problem>> outputs(kernels, variant, problem.batch, options.threads, options.out_dtype,
                                         with_lse);
  for (int i = 0; i < kWarmUps + kTimedCalls; ++i) {
    pool.ResetCounters();
    const int64_t start = sys::NowNs();
    outputs.PlanAndRun(variant, problem.batch, problem.call);
    const int64_t end = sys::NowNs();
    if (i < kWarmUps) continue;
    const ThreadPool::Counters& counters = pool.counters();
    host.push_back(static_cast<double>(end - start) / 1e3);
    device.push_back(static_cast<double>(counters.last_end_ns - counters.first_start_ns) / 1e3);
  }
  row.host_us = Median(host);
  row.device_us = Median(device);
}

// Half of the distance to the next number of the dtype, relative to the number; f32's is beneath notice.
double RoundingOf(DType dtype) {
  if (dtype == DType::kBF16) return 0x1p-8;
  return dtype == DType::kF16 ? 0x1p-11 : 0;
}

void Check(const CaseFile& c, const GuardedOutput& run, DType out_dtype, AttendRow& row) {
  Tolerance tolerance = c.golden()->tolerance;
  tolerance.rtol += RoundingOf(out_dtype);  // what was asked for is no fault
  row.comparison = Compare(run.out(), run.lse(), c.golden()->want, tolerance);
  if (row.comparison->passed()) return;
  row.fault =
      fmt::format("{} of {} elements are outside the tolerance, the worst {}", row.comparison->outside,
                  row.comparison->compared, DescribeElement(*row.comparison));
}

template <typename Problem>
AttendResult AttendWith(const CaseFile& c, const Problem& problem, Kernels& kernels,
                        const AttendOptions& options) {
  using Op = OperatorOf<BatchOf<Problem>>;
  const std::span<const typename Op::Variant* const> all = Op::Variants(kernels.library());
  std::vector<std::string> names = options.variants;
  if (names.empty()) {
    for (const auto* variant : all) names.emplace_back(variant->name);
  }
  const bool with_lse = c.return_lse() || (options.check && !c.golden()->want.lse.empty());
  AttendResult result;
  for (const std::string& name : names) {
    AttendRow& row = result.rows.emplace_back();
    row.variant = name;
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto* v) { return v->name == name; });
    if (found == all.end()) {
      row.why_not = fmt::format("operator {} is not what it computes", NameOf(c.op()));
      continue;
    }
    const auto& variant = **found;
    if (Chooses(name)) kernels.KnowMachine();
    if (const Support support = Op::Supports(variant, problem.batch); !support.ok) {
      row.why_not = fmt::format("{} {}", support.field, support.reason);
      continue;
    }
    try {
      auto run = std::make_unique<GuardedRunOf<BatchOf<Problem>>>(
          kernels, variant, problem.batch, options.threads, options.out_dtype, with_lse);
      run->Poison();
      run->Run(problem.call);
      if (const auto damage = run->Damage()) row.fault = *damage;
      if (options.check && row.fault.empty()) Check(c, *run, options.out_dtype, row);
      if (options.time) Time(problem, kernels, variant, c.return_lse(), options, row);
      if (result.output == nullptr) {
        result.output = std::move(run);
        result.written_by = name;
      }
    } catch (const std::exception& error) {
      row.fault = fmt::format("threw: {}", error.what());
    }
  }
  return result;
}

}  // namespace

bool AttendResult::AnySupports() const {
  return std::any_of(rows.begin(), rows.end(), [](const AttendRow& row) { return !row.why_not; });
}

bool AttendResult::AnyFailed() const {
  return std::any_of(rows.begin(), rows.end(), [](const AttendRow& row) { return !row.fault.empty(); });
}

AttendResult Attend(const CaseFile& c, Kernels& kernels, const AttendOptions& options) {
  if (options.check && !c.golden()) {
    throw Error(ErrorCode::kInvalidArgument, "expected_o",
                "is missing, and --check compares with it; --make-golden adds it");
  }
  for (const std::string& name : options.variants) kernels.CheckName(name);
  return std::visit([&](const auto& problem) { return AttendWith(c, problem, kernels, options); },
                    c.problem());
}

}  // namespace pagoda::app

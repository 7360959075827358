#include "app/subjects/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/subjects/elements.h"

namespace pagoda::app {
namespace {

// Keeps the worst element seen so far.
class Judge {
 public:
  Comparison result;

  void Look(bool of_lse, int64_t row, int64_t head, int64_t dim, double got, double want, double allowed) {
    double error = got == want ? 0 : std::fabs(got - want);
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    ++result.compared;
    result.max_abs_error = std::max(result.max_abs_error, error);
    const bool outside = error > allowed || std::isnan(allowed);
    result.outside += outside ? 1 : 0;
    // Outside ranks above inside; among the outside the excess counts, among the inside the error.
    const double rank = outside ? error / std::max(allowed, std::numeric_limits<double>::min()) : error;
    if (outside == any_outside_ ? rank <= rank_ : any_outside_) return;
    any_outside_ = outside;
    rank_ = rank;
    result.of_lse = of_lse;
    result.row = row;
    result.head = head;
    result.dim = dim;
    result.got = got;
    result.want = want;
    result.allowed = allowed;
  }

 private:
  bool any_outside_ = false;
  double rank_ = -1;
};

}  // namespace

Tolerance GateTolerance(DType dtype) {
  if (dtype == DType::kBF16) return {8e-3, 8e-3, true};
  if (dtype == DType::kF16) return {1e-3, 1e-3, true};
  return {1e-5, 1e-5, true};
}

Comparison Compare(const TensorView& out, const TensorView& lse, const OracleResult& want,
                   const Tolerance& tolerance) {
  const int64_t heads = out.shape[1];
  const int64_t dim = out.shape[2];
  Judge judge;
  for (size_t i = 0; i < want.rows.size(); ++i) {
    const int64_t row = want.rows[i];
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t cell = static_cast<int64_t>(i) * heads + head;
      const double* reference = want.out.data() + cell * dim;
      const double atol =
          tolerance.scale_by_row ? tolerance.atol * std::min(1.0, want.magnitude[cell]) : tolerance.atol;
      const int64_t at = row * out.strides[0] + head * out.strides[1];
      for (int64_t d = 0; d < dim; ++d) {
        judge.Look(false, row, head, d, ReadElement(out.data, out.dtype, at + d * out.strides[2]),
                   reference[d], atol + tolerance.rtol * std::fabs(reference[d]));
      }
      if (lse.empty() || want.lse.empty()) continue;
      const double wanted = want.lse[cell];
      // An infinite expectation allows only itself.
      const double allowed = std::isinf(wanted) ? 0 : tolerance.atol + tolerance.rtol * std::fabs(wanted);
      judge.Look(true, row, head, 0,
                 ReadElement(lse.data, lse.dtype, row * lse.strides[0] + head * lse.strides[1]), wanted,
                 allowed);
    }
  }
  return judge.result;
}

std::string DescribeElement(const Comparison& c) {
  const std::string name = c.of_lse ? fmt::format("lse[{}][{}]", c.row, c.head)
                                    : fmt::format("o[{}][{}][{}]", c.row, c.head, c.dim);
  const std::string got = std::isnan(c.got) ? "NaN" : fmt::format("{:.6g}", c.got);  // whatever its sign
  return fmt::format("{} = {}, expected {:.6g} +- {:.2g}", name, got, c.want, c.allowed);
}

}  // namespace pagoda::app

#include "judge/stats/rates.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

// P(X <= k) for X binomial with n trials of probability p.
double AtMost(int k, int n, double p) {
  if (p <= 0) return 1;
  if (p >= 1) return k >= n ? 1 : 0;
  double sum = 0;
  for (int i = 0; i <= k; ++i) {
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) + i * std::log(p) +
                    (n - i) * std::log1p(-p));
  }
  return sum;
}

// The p at which P(X <= k) falls to `target`; the probability falls as p grows.
double WhereAtMostIs(double target, int k, int n) {
  constexpr int kSteps = 60;  // of bisection: beyond the precision of a double
  double low = 0, high = 1;
  for (int i = 0; i < kSteps; ++i) {
    const double middle = (low + high) / 2;
    (AtMost(k, n, middle) > target ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

Estimate Rate(int successes, int trials, double level) {
  if (successes < 0 || successes > trials) {
    throw Error(ErrorCode::kInvalidArgument, "successes",
                fmt::format("= {} is outside 0..{}", successes, trials));
  }
  if (!(level > 0 && level < 1)) {
    throw Error(ErrorCode::kInvalidArgument, "level", fmt::format("= {} is outside 0..1", level));
  }
  if (trials == 0) return {std::numeric_limits<double>::quiet_NaN(), 0, 1};
  const double tail = (1 - level) / 2;
  return {static_cast<double>(successes) / trials,
          successes == 0 ? 0 : WhereAtMostIs(1 - tail, successes - 1, trials),
          successes == trials ? 1 : WhereAtMostIs(tail, successes, trials)};
}

}  // namespace pagoda::judge

#include "judge/stats/two_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>

#include "judge/stats/power.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

bool IsExact(size_t values) { return values <= static_cast<size_t>(kMostExactRankSums); }

// The chance of each sum when `chosen` of the ranks are drawn without putting back.
std::vector<double> SumsOfChosen(const std::vector<int64_t>& ranks, size_t chosen) {
  const auto total = static_cast<size_t>(std::accumulate(ranks.begin(), ranks.end(), int64_t{0}));
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(total + 1, 0.0));
  ways[0][0] = 1;
  size_t dealt = 0, reach = 0;
  for (const int64_t rank : ranks) {
    const auto step = static_cast<size_t>(rank);
    reach += step;
    // With fewer than these the ranks that are left don't do to choose enough.
    const size_t least = chosen > ranks.size() - dealt ? chosen - (ranks.size() - dealt) : 0;
    ++dealt;
    for (size_t k = std::min(chosen, dealt); k > least; --k) {
      for (size_t sum = reach; sum + 1 > step; --sum) ways[k][sum] += ways[k - 1][sum - step];
    }
  }
  std::vector<double>& sums = ways[chosen];
  const double all = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (double& sum : sums) sum /= all;
  return std::move(sums);
}

// Both samples in one order with the sum of the first one's ranks. Twice the mean rank of tied values is a
// whole number.
struct Ranked {
  std::vector<int64_t> doubled;
  int64_t first_sum = 0;  // doubled
  double tie_term = 0;    // the sum of t^3 - t over groups of t tied values
};

Ranked RankTogether(std::span<const double> x, std::span<const double> y) {
  struct Value {
    double value;
    bool first;
  };
  std::vector<Value> values;
  for (const double v : x) values.push_back({v, true});
  for (const double v : y) values.push_back({v, false});
  std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) { return a.value < b.value; });
  Ranked ranked;
  for (size_t first = 0; first < values.size();) {
    size_t end = first + 1;
    while (end < values.size() && values[end].value == values[first].value) ++end;
    const auto tied = static_cast<double>(end - first);
    ranked.tie_term += tied * tied * tied - tied;
    for (size_t i = first; i < end; ++i) {
      ranked.doubled.push_back(static_cast<int64_t>(first + 1 + end));
      if (values[i].first) ranked.first_sum += ranked.doubled.back();
    }
    first = end;
  }
  return ranked;
}

double ExactP(const Ranked& ranked, size_t chosen) {
  const std::vector<double> chance = SumsOfChosen(ranked.doubled, chosen);
  const auto all = static_cast<int64_t>(ranked.doubled.size());
  // The sums are symmetric about this only without ties, so both tails are added up.
  const int64_t middle = static_cast<int64_t>(chosen) * (all + 1);
  const int64_t away = std::abs(ranked.first_sum - middle);
  double p = 0;
  for (size_t sum = 0; sum < chance.size(); ++sum) {
    if (std::abs(static_cast<int64_t>(sum) - middle) >= away) p += chance[sum];
  }
  return std::min(1.0, p);
}

double SpreadOfPairs(double n, double m, double tie_term) {
  const double all = n + m;
  return std::sqrt(n * m / 12 * (all + 1 - tie_term / (all * (all - 1))));
}

double NormalP(const Ranked& ranked, double n, double m) {
  const double away = std::abs(0.5 * static_cast<double>(ranked.first_sum) - 0.5 * n * (n + m + 1));
  const double spread = SpreadOfPairs(n, m, ranked.tie_term);
  // Half a pair for going from whole numbers to a curve.
  if (away <= 0.5 || !(spread > 0)) return 1;
  return std::erfc((away - 0.5) / spread / std::numbers::sqrt2);
}

// Differences to step in from either end: the largest c with P(U <= c - 1) <= tail; 0 when there is none.
size_t TailCount(size_t n, size_t m, double tail) {
  if (!IsExact(n + m)) {
    const auto a = static_cast<double>(n), b = static_cast<double>(m);
    const double last = 0.5 * a * b + NormalQuantile(tail) * SpreadOfPairs(a, b, 0) - 0.5;
    return last < 0 ? 0 : static_cast<size_t>(last) + 1;
  }
  const std::vector<double> chance = RankSumDistribution(static_cast<int>(n), static_cast<int>(m));
  double below = 0;
  size_t count = 0;
  while (count < chance.size() && (below += chance[count]) <= tail) ++count;
  return count;
}

}  // namespace

std::vector<double> RankSumDistribution(int n, int m) {
  if (n < 1 || m < 1 || n + m > kMostExactRankSums) {
    throw Error(ErrorCode::kInvalidArgument, "sample",
                fmt::format("has {} and {} values: give at least 1 each and at most {} together", n, m,
                            kMostExactRankSums));
  }
  std::vector<int64_t> ranks(static_cast<size_t>(n + m));
  std::iota(ranks.begin(), ranks.end(), 0);
  const std::vector<double> sums = SumsOfChosen(ranks, static_cast<size_t>(n));
  const std::ptrdiff_t first = n, pairs = first * m;
  const auto least = sums.begin() + first * (first - 1) / 2;
  return {least, least + pairs + 1};
}

double RankSumP(std::span<const double> x, std::span<const double> y) {
  RequireSample(x);
  RequireSample(y);
  const Ranked ranked = RankTogether(x, y);
  return IsExact(x.size() + y.size())
             ? ExactP(ranked, x.size())
             : NormalP(ranked, static_cast<double>(x.size()), static_cast<double>(y.size()));
}

Estimate ShiftInterval(std::span<const double> x, std::span<const double> y, double level) {
  RequireSample(x);
  RequireSample(y);
  RequireLevel(level);
  std::vector<double> differences;
  differences.reserve(x.size() * y.size());
  for (const double a : x) {
    for (const double b : y) differences.push_back(b - a);
  }
  std::sort(differences.begin(), differences.end());
  // The slack is for 1 - level, which is not a binary fraction.
  const size_t tail = TailCount(x.size(), y.size(), 0.5 * (1 - level) * (1 + 1e-12));
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  Estimate shift{Median(differences), -kUnbounded, kUnbounded};
  if (tail > 0) {
    shift.low = differences[tail - 1];
    shift.high = differences[differences.size() - tail];
  }
  return shift;
}

}  // namespace pagoda::judge

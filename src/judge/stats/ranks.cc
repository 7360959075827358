#include "judge/stats/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

void RequireNumbers(std::span<const double> sample) {
  if (sample.empty()) throw Error(ErrorCode::kInvalidArgument, "sample", "is empty: give at least one value");
  for (size_t i = 0; i < sample.size(); ++i) {
    if (std::isnan(sample[i])) {
      throw Error(ErrorCode::kInvalidArgument, fmt::format("sample[{}]", i), "is not a number");
    }
  }
}

void RequireExact(size_t n) {
  if (n > kMaxExactRanks) {
    throw Error(ErrorCode::kInvalidArgument, "sample",
                fmt::format("has {} values: the exact signed-rank test takes at most {}", n, kMaxExactRanks));
  }
}

std::vector<double> Sorted(std::span<const double> sample) {
  std::vector<double> sorted(sample.begin(), sample.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double MedianOfSorted(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

// The probability of each sum when every rank counts with chance 1/2. Halving at each step keeps the numbers
// in range where the counts of sign patterns would overflow.
std::vector<double> SubsetSums(std::span<const int64_t> ranks) {
  const int64_t total = std::accumulate(ranks.begin(), ranks.end(), int64_t{0});
  std::vector<double> chance(static_cast<size_t>(total) + 1, 0.0);
  chance[0] = 1;
  int64_t reach = 0;
  for (const int64_t rank : ranks) {
    reach += rank;
    for (int64_t sum = reach; sum >= 0; --sum) {
      const double with = sum >= rank ? chance[static_cast<size_t>(sum - rank)] : 0;
      chance[static_cast<size_t>(sum)] = 0.5 * (chance[static_cast<size_t>(sum)] + with);
    }
  }
  return chance;
}

// Walsh averages to step in from either end: the largest c with P(T <= c - 1) <= tail; 0 when there is none.
size_t TailCount(int n, double tail) {
  const std::vector<double> chance = SignedRankDistribution(n);
  double below = 0;
  size_t count = 0;
  while (count < chance.size() && (below += chance[count]) <= tail) ++count;
  return count;
}

// Ascending; `opposed` in place of the average of -inf with inf.
std::vector<double> AveragesOfPairs(std::span<const double> sample, double opposed) {
  std::vector<double> averages;
  averages.reserve(sample.size() * (sample.size() + 1) / 2);
  for (size_t i = 0; i < sample.size(); ++i) {
    for (size_t j = i; j < sample.size(); ++j) {
      const double average = 0.5 * (sample[i] + sample[j]);
      averages.push_back(std::isnan(average) ? opposed : average);
    }
  }
  std::sort(averages.begin(), averages.end());
  return averages;
}

// The interval whose lower end stands in `low` and whose upper end stands in `high`, averages of the pairs of
// n values.
Estimate IntervalOf(size_t n, const std::vector<double>& low, const std::vector<double>& high, double level) {
  // The exact tails are multiples of 2^-n; the slack is for 1 - level, which is not a binary fraction.
  const size_t tail = TailCount(static_cast<int>(n), 0.5 * (1 - level) * (1 + 1e-12));
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  Estimate estimate{MedianOfSorted(low), -kUnbounded, kUnbounded};
  if (MedianOfSorted(high) != estimate.value) estimate.value = std::numeric_limits<double>::quiet_NaN();
  if (tail > 0) {
    estimate.low = low[tail - 1];
    estimate.high = high[high.size() - tail];
  }
  return estimate;
}

}  // namespace

void RequireSample(std::span<const double> sample) {
  RequireNumbers(sample);
  for (size_t i = 0; i < sample.size(); ++i) {
    if (!std::isfinite(sample[i])) {
      throw Error(ErrorCode::kInvalidArgument, fmt::format("sample[{}]", i),
                  fmt::format("= {} is not a finite number", sample[i]));
    }
  }
}

void RequireLevel(double level) {
  if (!(level > 0 && level < 1)) {
    throw Error(ErrorCode::kInvalidArgument, "level", fmt::format("= {} is outside 0..1", level));
  }
}

double Median(std::span<const double> sample) {
  RequireSample(sample);
  return MedianOfSorted(Sorted(sample));
}

double Quantile(std::span<const double> sample, double q) {
  RequireSample(sample);
  if (!(q >= 0 && q <= 1)) {
    throw Error(ErrorCode::kInvalidArgument, "q", fmt::format("= {} is outside 0..1", q));
  }
  const std::vector<double> sorted = Sorted(sample);
  const double place = q * static_cast<double>(sorted.size() - 1);
  const size_t low = static_cast<size_t>(place);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

double Mean(std::span<const double> sample) {
  RequireSample(sample);
  return std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
}

double StandardDeviation(std::span<const double> sample) {
  const double mean = Mean(sample);
  if (sample.size() < 2) return 0;
  double squares = 0;
  for (const double x : sample) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / static_cast<double>(sample.size() - 1));
}

std::vector<double> WalshAverages(std::span<const double> sample) {
  RequireSample(sample);
  return AveragesOfPairs(sample, 0);  // of finite values, none are opposed
}

double HodgesLehmann(std::span<const double> sample) { return MedianOfSorted(WalshAverages(sample)); }

std::vector<double> SignedRankDistribution(int n) {
  if (n < 0 || n > kMaxExactRanks) {
    throw Error(ErrorCode::kInvalidArgument, "n", fmt::format("= {} is outside 0..{}", n, kMaxExactRanks));
  }
  std::vector<int64_t> ranks(static_cast<size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 1);
  return SubsetSums(ranks);
}

double SignedRankP(std::span<const double> sample) {
  RequireSample(sample);
  RequireExact(sample.size());
  std::vector<double> values;
  for (const double x : sample) {
    if (x != 0) values.push_back(x);
  }
  if (values.empty()) return 1;
  std::sort(values.begin(), values.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  // Twice the mean rank of tied values is a whole number, so the sums stay integers.
  std::vector<int64_t> doubled(values.size());
  int64_t negative = 0;
  int64_t positive = 0;
  for (size_t first = 0; first < values.size();) {
    size_t last = first;
    while (last + 1 < values.size() && std::abs(values[last + 1]) == std::abs(values[first])) ++last;
    for (size_t i = first; i <= last; ++i) {
      doubled[i] = static_cast<int64_t>(first + 1 + last + 1);
      (values[i] < 0 ? negative : positive) += doubled[i];
    }
    first = last + 1;
  }
  const std::vector<double> chance = SubsetSums(doubled);
  // The distribution is symmetric, so the smaller sum gives the same p for a sample and its mirror image.
  const auto end = chance.begin() + std::min(negative, positive) + 1;
  return std::min(1.0, 2 * std::accumulate(chance.begin(), end, 0.0));
}

Estimate HodgesLehmannInterval(std::span<const double> sample, double level) {
  RequireLevel(level);
  RequireExact(sample.size());
  const std::vector<double> averages = WalshAverages(sample);
  return IntervalOf(sample.size(), averages, averages, level);
}

Estimate OpenHodgesLehmannInterval(std::span<const double> sample, double level) {
  RequireLevel(level);
  RequireNumbers(sample);
  RequireExact(sample.size());
  constexpr double kBeyond = std::numeric_limits<double>::infinity();
  return IntervalOf(sample.size(), AveragesOfPairs(sample, -kBeyond), AveragesOfPairs(sample, kBeyond),
                    level);
}

}  // namespace pagoda::judge

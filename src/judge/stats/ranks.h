// Location of a small sample by ranks: median, quantiles, Hodges-Lehmann with the exact signed-rank interval.
// Hodges and Lehmann, Ann. Math. Stat. 34 (1963); Hollander, Wolfe and Chicken, Nonparametric Statistical
// Methods, 3rd ed., sections 3.1 to 3.3.
#pragma once

#include <span>
#include <vector>

namespace pagoda::judge {

// A value with an interval. low = -inf and high = inf when the sample is too small for the level.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Samples must be finite; an empty one throws Error(sample).
void RequireSample(std::span<const double> sample);
// Of an interval: throws Error(level) outside 0 < level < 1.
void RequireLevel(double level);

double Median(std::span<const double> sample);
// Linear interpolation between order statistics at q * (n - 1) (type 7 of Hyndman and Fan); 0 <= q <= 1.
double Quantile(std::span<const double> sample, double q);
double Mean(std::span<const double> sample);
// With n - 1; 0 for a sample of one.
double StandardDeviation(std::span<const double> sample);

// The averages of all pairs i <= j, ascending: n (n + 1) / 2 values.
std::vector<double> WalshAverages(std::span<const double> sample);
double HodgesLehmann(std::span<const double> sample);  // their median

// The null distribution of the signed-rank sum of n untied values: counts[w] of the 2^n sign patterns have
// sum w, divided by 2^n. n <= kMaxExactRanks.
inline constexpr int kMaxExactRanks = 1000;
std::vector<double> SignedRankDistribution(int n);

// The two-sided p-value of "the sample is symmetric about 0". Zeros are dropped and ties share their mean
// rank (Wilcoxon); the distribution is that of the ranks at hand, so it stays exact with ties. 1 when nothing
// is left.
double SignedRankP(std::span<const double> sample);

// Hodges-Lehmann and the interval between order statistics of the Walsh averages with coverage of at least
// `level` (0 < level < 1). Unadjusted for other contrasts.
Estimate HodgesLehmannInterval(std::span<const double> sample, double level);

// The same of values that may be -inf or inf, which say that something lies beyond what could be measured, by
// nobody knows how much. So the average of -inf with inf could be anything: for the lower end of the interval
// it is taken for -inf and for the upper one for inf, which keeps the coverage, and the value is NaN where it
// hangs on that choice.
Estimate OpenHodgesLehmannInterval(std::span<const double> sample, double level);

}  // namespace pagoda::judge

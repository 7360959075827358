// How many launches, and what they can show.
#pragma once

namespace pagoda::judge {

inline constexpr double kAlpha = 0.05;  // of a whole family of contrasts
inline constexpr double kPower = 0.95;  // wanted chance to see the effect
inline constexpr int kDefaultLaunches = 12;
inline constexpr int kMostLaunches = 1000;

// Inverse distribution functions, 0 < p < 1.
double NormalQuantile(double p);
double StudentQuantile(double p, int degrees);

// The level that the smallest p-value of a family of cases * contrasts must reach (Holm's first step).
double AdjustedAlpha(int cases, int contrasts);

// The fewest launches at which the exact signed-rank test can reach `alpha` at all: J >= 1 + log2(1 / alpha).
int LeastLaunches(double alpha);

// The same for the exact rank-sum test of two runs of J launches each: 2 / C(2J, J) <= alpha.
int LeastLaunchesOfTwo(double alpha);

// The launches of a run of which nothing is known yet: kDefaultLaunches, or kSpareLaunches above the fewest
// where that is more. At the very fewest a single launch of the other sign hides an effect, and a family of
// 40 contrasts sees twice delta at a launch spread of 1% in only nine runs of ten; three more make that at
// least 95 of 100 in families of 1 to 500 (normal noise; tests/power).
inline constexpr int kSpareLaunches = 3;
int PlannedLaunches(double alpha);

// The standard error of Hodges-Lehmann over `launches` values of standard deviation `sigma`: its efficiency
// to the mean is 0.955 for normal values.
double StandardError(double sigma, int launches);

// The smallest effect (in ln, >= 0) that a run sees with chance `power`:
//   max(t_{J-1} s, delta_star) + z_power s, with t two-sided at `alpha`. Infinite when launches <
//   LeastLaunches(alpha).
double MinimumDetectableEffect(double sigma, int launches, double delta_star, double alpha,
                               double power = kPower);

// The fewest launches, at least `least` and the fewest for `alpha` with the spare ones, at which the effect
// above is no more than `effect`. `sigma` is the spread of the null arm's launch values, so that the choice
// doesn't look at a contrast. 0 when kMostLaunches don't do.
int LaunchesFor(double sigma, double effect, double delta_star, double alpha, int least = kDefaultLaunches);

}  // namespace pagoda::judge

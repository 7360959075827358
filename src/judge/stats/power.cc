#include "judge/stats/power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

void RequireChance(double p, const char* name) {
  if (!(p > 0 && p < 1)) {
    throw Error(ErrorCode::kInvalidArgument, name, fmt::format("= {} is outside 0..1", p));
  }
}

// P(X > x) = p solved for x >= 0 by halving: the tails are monotone, and 200 halvings reach the last bit.
template <typename Tail>
double SolveTail(double p, Tail tail) {
  double high = 1;
  while (tail(high) > p) high *= 2;
  double low = 0;
  for (int i = 0; i < 200 && high - low > 1e-15 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (tail(middle) > p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// Student's upper tail for whole degrees of freedom as a finite series in cos(atan(t / sqrt(degrees))):
// Abramowitz and Stegun 26.7.3 and 26.7.4.
double StudentTail(double t, int degrees) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle);
  const double squared = cosine * cosine;
  double inside = 0;  // P(|T| <= t)
  if (degrees % 2 == 1) {
    double term = cosine;
    double sum = degrees > 1 ? term : 0;
    for (int k = 3; k <= degrees - 2; k += 2) sum += term *= squared * (k - 1) / k;
    inside = 2 / std::numbers::pi * (angle + std::sin(angle) * sum);
  } else {
    double term = 1;
    double sum = 1;
    for (int k = 2; k <= degrees - 2; k += 2) sum += term *= squared * (k - 1) / k;
    inside = std::sin(angle) * sum;
  }
  return 0.5 * (1 - inside);
}

template <typename Tail>
double QuantileFromTail(double p, Tail tail) {
  if (p == 0.5) return 0;
  return p > 0.5 ? SolveTail(1 - p, tail) : -SolveTail(p, tail);
}

}  // namespace

double NormalQuantile(double p) {
  RequireChance(p, "p");
  return QuantileFromTail(p, [](double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); });
}

double StudentQuantile(double p, int degrees) {
  RequireChance(p, "p");
  if (degrees < 1) {
    throw Error(ErrorCode::kInvalidArgument, "degrees", fmt::format("= {} is below 1", degrees));
  }
  return QuantileFromTail(p, [degrees](double t) { return StudentTail(t, degrees); });
}

double AdjustedAlpha(int cases, int contrasts) {
  if (cases < 1 || contrasts < 1) {
    throw Error(ErrorCode::kInvalidArgument, "family",
                fmt::format("has {} cases x {} contrasts: both must be at least 1", cases, contrasts));
  }
  return kAlpha / (static_cast<double>(cases) * contrasts);
}

int LeastLaunches(double alpha) {
  RequireChance(alpha, "alpha");
  // The slack keeps an alpha that is a power of two from asking for one launch more.
  return static_cast<int>(std::ceil(1 + std::log2(1 / alpha) - 1e-9));
}

int LeastLaunchesOfTwo(double alpha) {
  RequireChance(alpha, "alpha");
  double p = 2;  // of two runs that don't overlap
  int launches = 0;
  for (; p > alpha; ++launches) {
    const double next = launches + 1;
    p *= next / (2 * (2 * next - 1));  // C(2J, J) = C(2J - 2, J - 1) * 2 (2J - 1) / J
  }
  return launches;
}

int PlannedLaunches(double alpha) {
  return std::max(kDefaultLaunches, LeastLaunches(alpha) + kSpareLaunches);
}

double StandardError(double sigma, int launches) { return sigma / std::sqrt(0.955 * launches); }

double MinimumDetectableEffect(double sigma, int launches, double delta_star, double alpha, double power) {
  if (launches < 2 || launches < LeastLaunches(alpha)) return std::numeric_limits<double>::infinity();
  const double s = StandardError(sigma, launches);
  const double critical = StudentQuantile(1 - alpha / 2, launches - 1) * s;
  return std::max(critical, delta_star) + NormalQuantile(power) * s;
}

int LaunchesFor(double sigma, double effect, double delta_star, double alpha, int least) {
  RequireChance(alpha, "alpha");
  const double z = NormalQuantile(kPower);
  // MinimumDetectableEffect(...) <= effect, turned round so that it takes one tail and no search for the
  // quantile.
  const auto sees = [&](int launches) {
    const double s = StandardError(sigma, launches);
    return delta_star + z * s <= effect && StudentTail((effect - z * s) / s, launches - 1) <= alpha / 2;
  };
  int low = std::max(least, LeastLaunches(alpha) + kSpareLaunches);
  int high = kMostLaunches;
  if (low > high || !sees(high)) return 0;
  // The effect falls with every launch, so halving finds the first that is small enough.
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (sees(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace pagoda::judge

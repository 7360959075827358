#include "judge/verdict/score.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/stats/rates.h"

namespace pagoda::judge {
namespace {

constexpr double kLevel = 0.95;

}  // namespace

void Score::Add(const Outcome& outcome) {
  verdicts_.push_back(outcome.verdict);
  if (!std::isfinite(outcome.theta.value)) return;
  thetas_.push_back(outcome.theta.value);
  if (outcome.theta.low <= theta_ && theta_ <= outcome.theta.high) ++held_;
}

int Score::runs() const { return static_cast<int>(verdicts_.size()); }

int Score::Count(Verdict verdict) const {
  return static_cast<int>(std::count(verdicts_.begin(), verdicts_.end(), verdict));
}

Verdict Score::Truth() const {
  if (theta_ == 0) return Verdict::kTie;
  return theta_ > 0 ? Verdict::kLoss : Verdict::kWin;
}

Estimate Score::Wrong() const {
  int wrong = 0;
  for (const Verdict directed : {Verdict::kWin, Verdict::kLoss}) {
    if (directed != Truth()) wrong += Count(directed);
  }
  return Rate(wrong, runs(), kLevel);
}

Estimate Score::Found() const { return Rate(Count(Truth()), runs(), kLevel); }

Estimate Score::Held() const { return Rate(held_, static_cast<int>(thetas_.size()), kLevel); }

double Score::MedianSpeedup() const {
  return thetas_.empty() ? std::numeric_limits<double>::quiet_NaN() : std::exp(-Median(thetas_));
}

}  // namespace pagoda::judge

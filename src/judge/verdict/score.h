// Verdicts on arms whose truth is known beforehand: how often they are right.
#pragma once

#include <string>
#include <vector>

#include "judge/stats/ranks.h"
#include "judge/verdict/case.h"

namespace pagoda::judge {

// The verdicts of many runs on one arm, one case and one clock.
class Score {
 public:
  // `theta` is the truth, ln(t_arm / t_baseline): 0 for the same code.
  explicit Score(double theta) : theta_(theta) {}

  void Add(const Outcome& outcome);

  int runs() const;
  int Count(Verdict verdict) const;
  // Verdicts that contradict the truth: WIN or LOSS on the same code, WIN on slower code. With its 95%
  // interval; NaN without a run.
  Estimate Wrong() const;
  // LOSS on slower code, WIN on faster code; of the same code those called TIE. The rest, but for the wrong
  // ones, is the honest INCONCLUSIVE.
  Estimate Found() const;
  // Runs whose 95% interval of the speed-up holds the truth.
  Estimate Held() const;
  // The speed-up in the middle of the runs, as a ratio; NaN without one that has a number.
  double MedianSpeedup() const;

 private:
  Verdict Truth() const;

  double theta_;
  std::vector<Verdict> verdicts_;
  std::vector<double> thetas_;
  int held_ = 0;
};

}  // namespace pagoda::judge

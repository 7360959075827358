#include "judge/verdict/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "judge/stats/crossing.h"
#include "judge/stats/launch_value.h"
#include "judge/verdict/contrast.h"
#include "judge/verdict/samples.h"

namespace pagoda::judge {
namespace {

constexpr double kLevel = 0.95;

// Consecutive points at which the same one is ahead, from the first such verdict to the last.
struct Stretch {
  bool a_ahead = false;
  size_t first = 0, last = 0;  // indices of points
};

// Two variants over the points of a sweep that both were measured at.
class Pair {
 public:
  Pair(const std::string& a, const std::string& b, Statistic statistic)
      : duel_{.a = a, .b = b, .ahead = {}, .crossovers = {}}, statistic_(statistic) {}

  // `b_against_a` is the outcome at this point.
  void AddPoint(int64_t value, const CaseRecords& records, const Outcome& b_against_a) {
    const size_t at = values_.size();
    values_.push_back(value);
    for (const LaunchRecord* launch : records.usable) {
      const ArmSamples *a = FindArm(*launch, duel_.a, 0), *b = FindArm(*launch, duel_.b, 0);
      if (a == nullptr || b == nullptr) continue;
      const LaunchValue theta = ReduceLaunch(b->device_ns, a->device_ns);
      std::vector<double>& curve = curves_[launch->launch];
      curve.resize(at, std::numeric_limits<double>::quiet_NaN());
      curve.push_back(statistic_ == Statistic::kTypical ? theta.typical : theta.floor);
    }
    ++duel_.points;
    ties_ += b_against_a.verdict == Verdict::kTie ? 1 : 0;
    if (b_against_a.verdict != Verdict::kWin && b_against_a.verdict != Verdict::kLoss) return;
    ++duel_.points_ahead;
    const bool a_ahead = b_against_a.verdict == Verdict::kLoss;
    if (stretches_.empty() || stretches_.back().a_ahead != a_ahead) stretches_.push_back({a_ahead, at, at});
    stretches_.back().last = at;
  }

  SweepDuel Judge() && {
    duel_.course = CourseOf();
    if (stretches_.size() == 1) duel_.ahead = stretches_.front().a_ahead ? duel_.a : duel_.b;
    if (duel_.course != Course::kCrosses) return std::move(duel_);
    for (size_t i = 0; i + 1 < stretches_.size(); ++i) {
      const size_t first = i == 0 ? 0 : stretches_[i].first;
      const size_t last = i + 2 == stretches_.size() ? values_.size() - 1 : stretches_[i + 1].last;
      duel_.crossovers.push_back(CrossoverBetween(stretches_[i], stretches_[i + 1], first, last));
    }
    return std::move(duel_);
  }

 private:
  Course CourseOf() const {
    if (duel_.points < 2) return Course::kNotMeasured;
    if (stretches_.size() > 1) return Course::kCrosses;
    if (duel_.points_ahead == duel_.points) return Course::kAhead;
    if (duel_.points_ahead > 0) return Course::kNeverBehind;
    return ties_ == duel_.points ? Course::kTie : Course::kUndecided;
  }

  Crossover CrossoverBetween(const Stretch& before, const Stretch& behind, size_t first, size_t last) const {
    Crossover found{.below = before.a_ahead ? duel_.a : duel_.b,
                    .above = before.a_ahead ? duel_.b : duel_.a,
                    .at = {},
                    .below_until = values_[before.last],
                    .above_from = values_[behind.first],
                    .first = values_[first],
                    .last = values_[last]};
    std::vector<double> axis, crossings;
    for (size_t i = first; i <= last; ++i) axis.push_back(std::log(static_cast<double>(values_[i])));
    for (const auto& [launch, curve] : curves_) {
      std::vector<double> y(axis.size(), std::numeric_limits<double>::quiet_NaN());
      for (size_t i = first; i <= last && i < curve.size(); ++i) {
        y[i - first] = before.a_ahead ? curve[i] : -curve[i];
      }
      if (const auto crossing = CrossingDown(axis, y)) {
        crossings.push_back(*crossing);
      } else {
        ++found.launches_left_out;
      }
    }
    found.launches = static_cast<int>(crossings.size());
    constexpr double kNowhere = std::numeric_limits<double>::quiet_NaN();
    const Estimate at = crossings.empty() ? Estimate{kNowhere, kNowhere, kNowhere}
                                          : OpenHodgesLehmannInterval(crossings, kLevel);
    found.at = {std::exp(at.value), std::exp(at.low), std::exp(at.high)};
    return found;
  }

  SweepDuel duel_;
  Statistic statistic_;
  std::vector<int64_t> values_;
  std::map<int, std::vector<double>> curves_;  // by launch: ln(t_b / t_a) at the points, NaN where not timed
  std::vector<Stretch> stretches_;
  int ties_ = 0;
};

}  // namespace

std::string_view NameOf(Course course) {
  switch (course) {
    case Course::kCrosses:
      return "crosses";
    case Course::kAhead:
      return "ahead";
    case Course::kNeverBehind:
      return "never_behind";
    case Course::kTie:
      return "tie";
    case Course::kUndecided:
      return "undecided";
    case Course::kNotMeasured:
      return "not_measured";
  }
  return "";
}

std::vector<SweepVerdict> JudgeSweeps(const Manifest& manifest, const std::vector<CaseRecords>& sorted,
                                      const std::vector<CaseRanking>& rankings, const Duels& duels,
                                      Statistic statistic) {
  std::map<std::string, size_t, std::less<>> places;
  for (size_t c = 0; c < manifest.cases.size(); ++c) places.emplace(manifest.cases[c].name, c);
  const std::vector<std::string>& variants = manifest.variants;
  std::vector<SweepVerdict> verdicts;
  for (const Sweep& sweep : manifest.sweeps) {
    SweepVerdict verdict{.name = sweep.name, .axis = sweep.axis, .points = {}, .duels = {}};
    for (const SweepPoint& point : sweep.points) {
      SweepStanding standing{.case_name = point.case_name, .value = point.value, .winners = {}};
      const std::vector<std::string>& winners = rankings[places.at(point.case_name)].winners;
      std::copy_if(variants.begin(), variants.end(), std::back_inserter(standing.winners),
                   [&](const std::string& v) {
                     return std::find(winners.begin(), winners.end(), v) != winners.end();
                   });
      verdict.points.push_back(std::move(standing));
    }
    for (size_t i = 0; i < variants.size(); ++i) {
      for (size_t k = i + 1; k < variants.size(); ++k) {
        Pair pair(variants[i], variants[k], statistic);
        const Contrast& contrast = duels.Of(variants[k], variants[i]);
        for (const SweepPoint& point : sweep.points) {
          const size_t c = places.at(point.case_name);
          if (!MeasuredOn(sorted[c], variants[i]) || !MeasuredOn(sorted[c], variants[k])) continue;
          pair.AddPoint(point.value, sorted[c], contrast.cases[c].device);
        }
        verdict.duels.push_back(std::move(pair).Judge());
      }
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace pagoda::judge

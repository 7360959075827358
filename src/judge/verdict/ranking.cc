#include "judge/verdict/ranking.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace pagoda::judge {

Ranking Rank(const std::vector<std::string>& variants, const Duel& duel) {
  Ranking ranking{.order = variants, .winners = {}};
  // Equals keep the order given, hence the position behind the sum.
  std::map<std::string, std::pair<double, size_t>> place;
  for (size_t i = 0; i < variants.size(); ++i) {
    double sum = 0;
    for (const std::string& other : variants) {
      if (other == variants[i]) continue;
      // NaN where no launch timed both: that says nothing either way.
      const double theta = duel(variants[i], other).theta.value;
      if (!std::isnan(theta)) sum += theta;
    }
    place[variants[i]] = {sum, i};
  }
  std::vector<std::string>& order = ranking.order;
  std::sort(order.begin(), order.end(),
            [&](const std::string& a, const std::string& b) { return place.at(a) < place.at(b); });
  // Hodges-Lehmann estimates of three near-equal variants need not be transitive.
  if (order.size() > 1 && duel(order[0], order[1]).theta.value > 0) std::swap(order[0], order[1]);
  for (const std::string& variant : order) {
    const bool beaten = std::any_of(order.begin(), order.end(), [&](const std::string& other) {
      return other != variant && duel(other, variant).verdict == Verdict::kWin;
    });
    if (!beaten) ranking.winners.push_back(variant);
  }
  if (ranking.winners.empty()) ranking.winners = order;  // a circle of wins: nobody is ahead
  return ranking;
}

Duels::Duels(const std::vector<std::string>& variants, const PairTable& pairs) {
  for (const std::string& a : variants) {
    for (const std::string& b : variants) {
      if (a != b) contrasts_.emplace(std::pair(a, b), pairs.Build(a, b));
    }
  }
}

const Contrast& Duels::Of(std::string_view variant, std::string_view baseline) const {
  return contrasts_.at({std::string(variant), std::string(baseline)});
}

bool MeasuredOn(const CaseRecords& records, std::string_view variant) {
  if (records.failures.contains(variant) || records.unsupported.contains(variant)) return false;
  if (!records.passed_checks.contains(variant)) return false;
  return std::any_of(records.usable.begin(), records.usable.end(),
                     [&](const LaunchRecord* x) { return FindArm(*x, variant, 0) != nullptr; });
}

std::vector<CaseRanking> RankCases(const std::vector<std::string>& variants,
                                   const std::vector<CaseRecords>& records, const Duels& duels) {
  std::vector<CaseRanking> rankings;
  for (size_t c = 0; c < records.size(); ++c) {
    std::vector<std::string> measured;
    for (const std::string& variant : variants) {
      if (MeasuredOn(records[c], variant)) measured.push_back(variant);
    }
    const Duel duel = [&duels, c](std::string_view a, std::string_view b) -> const Outcome& {
      return duels.Of(a, b).cases[c].device;
    };
    Ranking ranking = Rank(measured, duel);
    CaseRanking place;
    place.case_name = records[c].facts->name;
    if (!ranking.order.empty()) place.leader = ranking.order[0];
    if (ranking.order.size() > 1) {
      place.runner_up = ranking.order[1];
      place.lead = duel(place.leader, place.runner_up);
    }
    place.order = std::move(ranking.order);
    place.winners = std::move(ranking.winners);
    rankings.push_back(std::move(place));
  }
  return rankings;
}

std::vector<std::string> Eligible(const std::vector<std::string>& variants,
                                  const std::vector<CaseRecords>& records) {
  std::vector<std::string> eligible;
  std::ptrdiff_t most = 1;
  for (const std::string& variant : variants) {
    const bool failed = std::any_of(records.begin(), records.end(),
                                    [&](const CaseRecords& x) { return x.failures.contains(variant); });
    if (failed) continue;
    const auto cases = std::count_if(records.begin(), records.end(),
                                     [&](const CaseRecords& x) { return MeasuredOn(x, variant); });
    if (cases < most) continue;
    if (cases > most) eligible.clear();
    most = cases;
    eligible.push_back(variant);
  }
  return eligible;
}

}  // namespace pagoda::judge

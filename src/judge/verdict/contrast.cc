#include "judge/verdict/contrast.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "judge/stats/holm.h"
#include "judge/stats/power.h"

namespace pagoda::judge {
namespace {

constexpr std::array<Clock, 2> kClocks = {Clock::kDevice, Clock::kHost};
constexpr size_t Index(Clock clock) { return clock == Clock::kDevice ? 0 : 1; }

struct Ruling {
  Verdict verdict = Verdict::kInvalid;
  Reason reason = Reason::kNone;
  std::string why;
  std::string next;
};

// What is settled about a case before any time is looked at.
std::optional<Ruling> RuleOut(const CaseRecords& records, std::string_view variant,
                              std::string_view baseline) {
  for (const std::string_view name : {variant, baseline}) {
    if (const auto failure = records.failures.find(name); failure != records.failures.end()) {
      return Ruling{Verdict::kInvalid, failure->second.reason,
                    fmt::format("{}: {}", name, failure->second.why),
                    fmt::format("Mend {}, then run again; its times mean nothing until it passes.", name)};
    }
  }
  for (const std::string_view name : {variant, baseline}) {
    if (const auto skip = records.unsupported.find(name); skip != records.unsupported.end()) {
      return Ruling{Verdict::kInconclusive, Reason::kUnsupported,
                    fmt::format("{} skips it: {}", name, skip->second),
                    "Leave the case out with --only, or compare variants that support it."};
    }
  }
  if (records.usable.empty()) return std::nullopt;
  for (const std::string_view name : {variant, baseline}) {
    if (!records.passed_checks.contains(name)) {
      return Ruling{Verdict::kInconclusive, Reason::kNotGated,
                    fmt::format("no gate run or check has proven {} right on it", name),
                    "Run `pagoda gate` on the suite, then run again."};
    }
  }
  return std::nullopt;
}

bool IsMissing(const Outcome& outcome) {
  return outcome.verdict == Verdict::kInconclusive &&
         (outcome.reason == Reason::kUnsupported || outcome.reason == Reason::kNotGated ||
          outcome.launches_used == 0);
}

void Count(Counts& counts, const Outcome& outcome) {
  switch (outcome.verdict) {
    case Verdict::kWin:
      ++counts.win;
      break;
    case Verdict::kLoss:
      ++counts.loss;
      break;
    case Verdict::kTie:
      ++counts.tie;
      break;
    case Verdict::kInvalid:
      ++counts.invalid;
      break;
    case Verdict::kInconclusive:
    case Verdict::kMixed:
      ++counts.inconclusive;
      counts.missing += IsMissing(outcome) ? 1 : 0;
      break;
  }
}

Outcome& OutcomeOf(CaseVerdict& verdict, Clock clock) {
  return clock == Clock::kDevice ? verdict.device : verdict.host;
}
const Outcome& OutcomeOf(const CaseVerdict& verdict, Clock clock) {
  return clock == Clock::kDevice ? verdict.device : verdict.host;
}
Outcome& OverallOf(Contrast& contrast, Clock clock) {
  return clock == Clock::kDevice ? contrast.overall : contrast.overall_host;
}
Counts& CountsOf(Contrast& contrast, Clock clock) {
  return clock == Clock::kDevice ? contrast.counts : contrast.counts_host;
}

template <typename Predicate>
std::vector<std::string> CasesWhere(const Contrast& contrast, Clock clock, Predicate predicate) {
  std::vector<std::string> names;
  for (const CaseVerdict& verdict : contrast.cases) {
    if (predicate(OutcomeOf(verdict, clock))) names.push_back(verdict.case_name);
  }
  return names;
}

// What the cases do to the verdict over all of them. A loss among wins and a win among losses are the same
// thing seen from either side, so both are MIXED; so is a tie that only hides a win and a loss.
void BendOverall(Contrast& contrast, Clock clock) {
  Outcome& overall = OverallOf(contrast, clock);
  const Counts& counts = CountsOf(contrast, clock);
  const auto invalid =
      CasesWhere(contrast, clock, [](const Outcome& x) { return x.verdict == Verdict::kInvalid; });
  const auto missing = CasesWhere(contrast, clock, IsMissing);
  if (invalid.size() == contrast.cases.size()) {
    const Outcome& first = OutcomeOf(contrast.cases.front(), clock);
    Settle(overall, Verdict::kInvalid, first.reason, first.why, first.next);
    return;
  }
  if (!invalid.empty()) {
    Settle(overall, Verdict::kInconclusive, Reason::kInvalidCase,
           fmt::format("INVALID on {}", fmt::join(invalid, ", ")), "Mend what failed there, then run again.");
    return;
  }
  if (!missing.empty()) {
    Settle(overall, Verdict::kInconclusive, Reason::kMissingCase,
           fmt::format("not measured on {}", fmt::join(missing, ", ")),
           "Measure those cases too, or leave them out with --only.");
    return;
  }
  const bool mixed = (overall.verdict == Verdict::kWin && counts.loss > 0) ||
                     (overall.verdict == Verdict::kLoss && counts.win > 0) ||
                     (overall.verdict == Verdict::kTie && counts.win > 0 && counts.loss > 0);
  if (!mixed) return;
  const auto wins = CasesWhere(contrast, clock, [](const Outcome& x) { return x.verdict == Verdict::kWin; });
  const auto losses =
      CasesWhere(contrast, clock, [](const Outcome& x) { return x.verdict == Verdict::kLoss; });
  std::string why;
  if (!losses.empty()) why += fmt::format("LOSS on {}", fmt::join(losses, ", "));
  if (!wins.empty()) why += fmt::format("{}WIN on {}", why.empty() ? "" : "; ", fmt::join(wins, ", "));
  Settle(overall, Verdict::kMixed, Reason::kNone, std::move(why), "Choose by case.");
}

}  // namespace

struct PairTable::Measured {
  Contrast contrast;
  std::vector<std::optional<Ruling>> rulings;    // by case
  std::array<std::vector<RuleInput>, 2> inputs;  // by clock, then case
  std::array<RuleInput, 2> overall_inputs;       // by clock
};

PairTable::PairTable(const Manifest& manifest, const std::vector<CaseRecords>& records, Statistic statistic)
    : manifest_(manifest), records_(records), statistic_(statistic) {
  std::vector<Pair> contrasts;
  std::vector<Pair> others;
  for (size_t i = 0; i < manifest.variants.size(); ++i) {
    for (size_t j = i + 1; j < manifest.variants.size(); ++j) {
      const std::string& a = manifest.variants[i];
      const std::string& b = manifest.variants[j];
      (a == manifest.baseline || b == manifest.baseline ? contrasts : others).push_back(Key(a, b));
    }
  }
  AdjustFamily(contrasts);
  AdjustFamily(others);
}

PairTable::Pair PairTable::Key(std::string_view a, std::string_view b) {
  return a < b ? Pair(a, b) : Pair(b, a);
}

int PairTable::PairsInFamilyOf(const Pair& pair) const {
  const int others = static_cast<int>(manifest_.variants.size()) - 1;
  const bool contrast = pair.first == manifest_.baseline || pair.second == manifest_.baseline;
  return contrast ? others : others * (others - 1) / 2;
}

PairTable::Measured PairTable::MeasurePair(std::string_view variant, std::string_view baseline) const {
  const int pairs = PairsInFamilyOf(Key(variant, baseline));
  Measured measured;
  measured.contrast.variant = variant;
  measured.contrast.baseline = baseline;
  measured.contrast.cases.resize(records_.size());
  for (const CaseRecords& records : records_) {
    measured.rulings.push_back(RuleOut(records, variant, baseline));
  }
  for (const Clock clock : kClocks) {
    std::vector<ContrastSample> samples;
    std::vector<double> weights;
    RuleInput overall{.statistic = statistic_, .delta = manifest_.delta, .planned = manifest_.launches};
    overall.alpha = AdjustedAlpha(1, pairs);
    for (size_t c = 0; c < records_.size(); ++c) {
      const CaseRecords& records = records_[c];
      const RuleInput input{.statistic = statistic_,
                            .delta = manifest_.delta,
                            .planned = manifest_.launches,
                            .left_out = records.left_out,
                            .coarseness = CoarsenessOf(records, variant, baseline, clock),
                            .alpha = AdjustedAlpha(static_cast<int>(records_.size()), pairs)};
      ContrastSample sample = SampleOf(records, variant, baseline, manifest_.baseline, clock);
      CaseVerdict& verdict = measured.contrast.cases[c];
      verdict.case_name = records.facts->name;
      verdict.weight = records.facts->weight;
      OutcomeOf(verdict, clock) = Measure(sample, input);
      measured.inputs[Index(clock)].push_back(input);
      if (measured.rulings[c] || sample.typical.empty()) continue;
      overall.left_out = std::max(overall.left_out, input.left_out);
      overall.coarseness = std::max(overall.coarseness, input.coarseness);
      samples.push_back(std::move(sample));
      weights.push_back(records.facts->weight);
    }
    measured.overall_inputs[Index(clock)] = overall;
    OverallOf(measured.contrast, clock) = Measure(WeightedMean(samples, weights), overall);
  }
  return measured;
}

void PairTable::AdjustFamily(const std::vector<Pair>& family) {
  const size_t cases = records_.size();
  std::vector<Measured> measured;
  measured.reserve(family.size());
  for (const auto& [a, b] : family) measured.push_back(MeasurePair(a, b));
  for (const Clock clock : kClocks) {
    std::vector<double> case_p;
    std::vector<double*> case_places;
    std::vector<double> overall_p;
    std::vector<double*> overall_places;
    for (size_t i = 0; i < family.size(); ++i) {
      Adjusted& place = adjusted_[family[i]];
      std::vector<double>& adjusted = place.cases[Index(clock)];
      adjusted.assign(cases, 1.0);
      for (size_t c = 0; c < cases; ++c) {
        if (measured[i].rulings[c]) continue;
        case_p.push_back(OutcomeOf(measured[i].contrast.cases[c], clock).p);
        case_places.push_back(&adjusted[c]);
      }
      overall_p.push_back(OverallOf(measured[i].contrast, clock).p);
      overall_places.push_back(&place.overall[Index(clock)]);
    }
    const std::vector<double> case_adjusted = HolmAdjust(case_p, family.size() * cases);
    for (size_t i = 0; i < case_places.size(); ++i) *case_places[i] = case_adjusted[i];
    const std::vector<double> overall_adjusted = HolmAdjust(overall_p, family.size());
    for (size_t i = 0; i < overall_places.size(); ++i) *overall_places[i] = overall_adjusted[i];
  }
}

Contrast PairTable::Build(std::string_view variant, std::string_view baseline) const {
  Measured measured = MeasurePair(variant, baseline);
  const Adjusted& adjusted = adjusted_.at(Key(variant, baseline));
  Contrast& contrast = measured.contrast;
  for (const Clock clock : kClocks) {
    const size_t k = Index(clock);
    for (size_t c = 0; c < contrast.cases.size(); ++c) {
      Outcome& outcome = OutcomeOf(contrast.cases[c], clock);
      outcome.p_adjusted = adjusted.cases[k][c];
      if (const auto& ruling = measured.rulings[c]) {
        Settle(outcome, ruling->verdict, ruling->reason, ruling->why, ruling->next);
      } else {
        Decide(outcome, measured.inputs[k][c]);
      }
      Count(CountsOf(contrast, clock), outcome);
    }
    Outcome& overall = OverallOf(contrast, clock);
    overall.p_adjusted = adjusted.overall[k];
    Decide(overall, measured.overall_inputs[k]);
    BendOverall(contrast, clock);
  }
  for (CaseVerdict& verdict : contrast.cases) {
    verdict.host_differs = verdict.device.verdict != verdict.host.verdict;
  }
  return std::move(contrast);
}

StatisticChoice ChooseStatistic(const Manifest& manifest, const std::vector<CaseRecords>& records) {
  StatisticChoice choice;
  double typical = 0;
  double floor = 0;
  int cases = 0;
  for (const CaseRecords& place : records) {
    const ContrastSample sample =
        SampleOf(place, manifest.baseline, manifest.baseline, manifest.baseline, Clock::kDevice);
    if (sample.null_typical.size() < 2) continue;
    // A spread of exactly 0 has no logarithm; nothing real is this quiet.
    constexpr double kQuietest = 1e-12;
    typical += std::log(std::max(kQuietest, StandardDeviation(sample.null_typical)));
    floor += std::log(std::max(kQuietest, StandardDeviation(sample.null_floor)));
    ++cases;
  }
  if (cases == 0) return choice;
  choice.spread_typical = std::exp(typical / cases);
  choice.spread_floor = std::exp(floor / cases);
  if (choice.spread_floor < choice.spread_typical) choice.statistic = Statistic::kFloor;
  return choice;
}

}  // namespace pagoda::judge

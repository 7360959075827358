#include "judge/verdict/contrast.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "judge/stats/power.h"
#include "judge/verdict/ruling.h"

namespace pagoda::judge {

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

MeasuredContrast PairTable::MeasurePair(std::string_view variant, std::string_view baseline) const {
  const int pairs = PairsInFamilyOf(Key(variant, baseline));
  MeasuredContrast measured;
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
  std::vector<MeasuredContrast> measured;
  measured.reserve(family.size());
  for (const auto& [a, b] : family) measured.push_back(MeasurePair(a, b));
  std::vector<AdjustedP> adjusted = AdjustTogether(measured);
  for (size_t i = 0; i < family.size(); ++i) adjusted_[family[i]] = std::move(adjusted[i]);
}

Contrast PairTable::Build(std::string_view variant, std::string_view baseline) const {
  return Conclude(MeasurePair(variant, baseline), adjusted_.at(Key(variant, baseline)));
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

#include "judge/verdict/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/io/shown.h"
#include "base/listed.h"
#include "judge/record/jsonl.h"
#include "judge/stats/power.h"
#include "judge/verdict/ruling.h"
#include "judge/verdict/samples.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

constexpr size_t kMostNames = 4;

struct SortedRun {
  const ComparedRun& run;
  std::vector<CaseRecords> records;
  StatisticChoice choice;

  // In the order of `case_names`, which the run has all.
  std::vector<CaseRecords> Of(const std::vector<std::string>& case_names) const {
    std::vector<CaseRecords> found;
    found.reserve(case_names.size());
    for (const std::string& name : case_names) {
      found.push_back(*std::find_if(records.begin(), records.end(),
                                    [&](const CaseRecords& place) { return place.facts->name == name; }));
    }
    return found;
  }
};

SortedRun Sorted(const ComparedRun& run) {
  std::vector<CaseRecords> records = SortRecords(run.manifest, run.records);
  const StatisticChoice choice = ChooseStatistic(run.manifest, records);
  return {run, std::move(records), choice};
}

std::vector<std::string> CaseNames(const Manifest& manifest) {
  std::vector<std::string> names;
  names.reserve(manifest.cases.size());
  for (const ManifestCase& item : manifest.cases) names.push_back(item.name);
  return names;
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> Common(std::vector<std::string> names, const std::vector<std::string>& others) {
  std::erase_if(names, [&](const std::string& name) { return !Has(others, name); });
  return names;
}

std::vector<std::string> Without(std::vector<std::string> names, const std::vector<std::string>& others) {
  std::erase_if(names, [&](const std::string& name) { return Has(others, name); });
  return names;
}

[[noreturn]] void Refuse(const ComparedRun& before, const ComparedRun& after, const std::string& reason) {
  throw Error(ErrorCode::kInvalidArgument, after.name,
              fmt::format("can't be compared with {}: {}", before.name, reason));
}

// What differs in the definition of one case; empty when nothing does.
std::string OtherProblem(const ManifestCase& a, const ManifestCase& b) {
  if (a.dtype != b.dtype) return fmt::format("dtype {} there and {} here", a.dtype, b.dtype);
  if (a.cache != b.cache) return fmt::format("a {} cache there and a {} one here", a.cache, b.cache);
  if (const auto changes = Changes(a.problem, b.problem); !changes.empty()) {
    const auto& [name, there, here] = changes.front();
    return fmt::format("{} {} there and {} here", name, io::Shown(there), io::Shown(here));
  }
  const auto number = [](std::string_view what, double there, double here) {
    return there == here ? "" : fmt::format("{} {} there and {} here", what, there, here);
  };
  for (const std::string& difference :
       {number("bytes", a.bytes, b.bytes), number("FLOPs", a.flops, b.flops),
        number("bytes of a run", a.run_bytes, b.run_bytes), number("weight", a.weight, b.weight)}) {
    if (!difference.empty()) return difference;
  }
  return "";
}

void RequireComparable(const ComparedRun& before, const ComparedRun& after) {
  const Manifest& a = before.manifest;
  const Manifest& b = after.manifest;
  if (ToJson(a) == ToJson(b)) Refuse(before, after, "it is the same run; give two runs");
  if (a.delta != b.delta) {
    Refuse(
        before, after,
        fmt::format("delta is {} there and {} here, so the verdicts aren't by one rule; measure again with "
                    "one --delta",
                    a.delta, b.delta));
  }
  if (!Has(b.variants, a.baseline)) {
    Refuse(before, after,
           fmt::format("the baseline there, {}, was not measured here (variants: {}); measure it in both",
                       a.baseline, ListedUpTo(kMostNames, b.variants)));
  }
  bool common = false;
  for (const ManifestCase& item : a.cases) {
    const auto same = std::find_if(b.cases.begin(), b.cases.end(),
                                   [&](const ManifestCase& other) { return other.name == item.name; });
    if (same == b.cases.end()) continue;
    common = true;
    if (const std::string difference = OtherProblem(item, *same); !difference.empty()) {
      Refuse(before, after,
             fmt::format("{} is another problem: {}; measure again with one definition of the case",
                         item.name, difference));
    }
  }
  if (!common) {
    Refuse(before, after,
           fmt::format("they have no case in common (there: {}; here: {})",
                       ListedUpTo(kMostNames, CaseNames(a)), ListedUpTo(kMostNames, CaseNames(b))));
  }
}

// What is common to both and what isn't; no verdicts yet.
Comparison Outline(const SortedRun& before, const SortedRun& after) {
  const Manifest& a = before.run.manifest;
  const Manifest& b = after.run.manifest;
  Comparison comparison;
  comparison.baseline = a.baseline;
  if (before.choice.spread_floor * after.choice.spread_floor <
      before.choice.spread_typical * after.choice.spread_typical) {
    comparison.statistic = Statistic::kFloor;
  }
  comparison.cases = Common(CaseNames(a), CaseNames(b));
  comparison.variants = Common(a.variants, b.variants);
  comparison.cases_only_before = Without(CaseNames(a), CaseNames(b));
  comparison.cases_only_after = Without(CaseNames(b), CaseNames(a));
  comparison.variants_only_before = Without(a.variants, b.variants);
  comparison.variants_only_after = Without(b.variants, a.variants);
  return comparison;
}

// One side of a comparison: a run with its records of the common cases.
struct Side {
  const Manifest& manifest;
  std::vector<CaseRecords> cases;
};

// One contrast on one case in both runs, by one clock.
struct CaseOfTwo {
  ContrastSample before, after;
  int before_left_out = 0, after_left_out = 0;
  double coarseness = 0;
};

CaseOfTwo CaseOf(const Comparison& comparison, std::string_view variant, const Side& before,
                 const Side& after, size_t c, Clock clock) {
  const std::string& baseline = comparison.baseline;
  const CaseRecords& earlier = before.cases[c];
  const CaseRecords& later = after.cases[c];
  return {.before = SampleOf(earlier, variant, baseline, before.manifest.baseline, clock),
          .after = SampleOf(later, variant, baseline, after.manifest.baseline, clock),
          .before_left_out = earlier.left_out,
          .after_left_out = later.left_out,
          .coarseness = std::max(CoarsenessOf(earlier, variant, baseline, clock),
                                 CoarsenessOf(later, variant, baseline, clock))};
}

// With the launches of the run that lost the larger share of them.
RuleInput InputOf(const CaseOfTwo& both, Statistic statistic, const Side& before, const Side& after,
                  double alpha) {
  const int before_planned = before.manifest.launches;
  const int after_planned = after.manifest.launches;
  const bool later = both.after_left_out * before_planned > both.before_left_out * after_planned;
  return {.statistic = statistic,
          .delta = before.manifest.delta,
          .planned = later ? after_planned : before_planned,
          .left_out = later ? both.after_left_out : both.before_left_out,
          .coarseness = both.coarseness,
          .alpha = alpha,
          .two_runs = true};
}

// The weighted mean over cases, with the worst that is known of any.
CaseOfTwo MeanOf(const std::vector<CaseOfTwo>& cases, const std::vector<double>& weights) {
  CaseOfTwo mean;
  std::vector<ContrastSample> before, after;
  for (const CaseOfTwo& both : cases) {
    before.push_back(both.before);
    after.push_back(both.after);
    mean.before_left_out = std::max(mean.before_left_out, both.before_left_out);
    mean.after_left_out = std::max(mean.after_left_out, both.after_left_out);
    mean.coarseness = std::max(mean.coarseness, both.coarseness);
  }
  mean.before = WeightedMean(before, weights);
  mean.after = WeightedMean(after, weights);
  return mean;
}

void MeasureByClock(const Comparison& comparison, const Side& before, const Side& after, int questions_a_case,
                    Clock clock, MeasuredContrast& measured) {
  Contrast& contrast = measured.contrast;
  std::vector<CaseOfTwo> usable;
  std::vector<double> weights;
  for (size_t c = 0; c < contrast.cases.size(); ++c) {
    CaseOfTwo both = CaseOf(comparison, contrast.variant, before, after, c, clock);
    const RuleInput input = InputOf(both, comparison.statistic, before, after,
                                    AdjustedAlpha(static_cast<int>(contrast.cases.size()), questions_a_case));
    OutcomeOf(contrast.cases[c], clock) = MeasureChange(both.before, both.after, input);
    measured.inputs[Index(clock)].push_back(input);
    if (measured.rulings[c] || both.before.typical.empty() || both.after.typical.empty()) continue;
    usable.push_back(std::move(both));
    weights.push_back(contrast.cases[c].weight);
  }
  const CaseOfTwo mean = MeanOf(usable, weights);
  const RuleInput input =
      InputOf(mean, comparison.statistic, before, after, AdjustedAlpha(1, questions_a_case));
  measured.overall_inputs[Index(clock)] = input;
  OverallOf(contrast, clock) = MeasureChange(mean.before, mean.after, input);
}

MeasuredContrast MeasureVariant(const Comparison& comparison, const std::string& variant, const Side& before,
                                const Side& after, int questions_a_case) {
  MeasuredContrast measured;
  measured.contrast.variant = variant;
  measured.contrast.baseline = comparison.baseline;
  for (size_t c = 0; c < comparison.cases.size(); ++c) {
    std::optional<Ruling> ruling = RuleOut(before.cases[c], variant, comparison.baseline);
    if (!ruling) ruling = RuleOut(after.cases[c], variant, comparison.baseline);
    measured.rulings.push_back(std::move(ruling));
    CaseVerdict verdict;
    verdict.case_name = comparison.cases[c];
    verdict.weight = before.cases[c].facts->weight;
    measured.contrast.cases.push_back(std::move(verdict));
  }
  for (const Clock clock : kClocks) {
    MeasureByClock(comparison, before, after, questions_a_case, clock, measured);
  }
  return measured;
}

Contrast Concluded(MeasuredContrast measured, const AdjustedP& adjusted) {
  Contrast change = Conclude(std::move(measured), adjusted);
  for (const Clock clock : kClocks) {
    Outcome& overall = OverallOf(change, clock);
    // "Choose by case" answers which variant to take; here nothing is to be chosen.
    if (overall.verdict == Verdict::kMixed) overall.next = "Look at the cases one by one.";
  }
  return change;
}

}  // namespace

std::vector<Comparison> CompareRuns(std::span<const ComparedRun> runs) {
  std::vector<Comparison> comparisons;
  if (runs.empty()) return comparisons;
  for (const ComparedRun& later : runs.subspan(1)) RequireComparable(runs.front(), later);
  std::vector<SortedRun> sorted;
  sorted.reserve(runs.size());
  for (const ComparedRun& run : runs) sorted.push_back(Sorted(run));

  int questions_a_case = 0;
  for (const SortedRun& after : std::span(sorted).subspan(1)) {
    comparisons.push_back(Outline(sorted.front(), after));
    questions_a_case += static_cast<int>(comparisons.back().variants.size()) - 1;
  }
  std::vector<MeasuredContrast> family;
  for (size_t i = 0; i < comparisons.size(); ++i) {
    Comparison& comparison = comparisons[i];
    const Side before{sorted.front().run.manifest, sorted.front().Of(comparison.cases)};
    const Side after{sorted[i + 1].run.manifest, sorted[i + 1].Of(comparison.cases)};
    const PairTable before_pairs(before.manifest, before.cases, comparison.statistic);
    const PairTable after_pairs(after.manifest, after.cases, comparison.statistic);
    for (const std::string& variant : comparison.variants) {
      if (variant == comparison.baseline) continue;
      comparison.changes.push_back({.before = before_pairs.Build(variant, comparison.baseline),
                                    .after = after_pairs.Build(variant, comparison.baseline),
                                    .change = {}});
      family.push_back(MeasureVariant(comparison, variant, before, after, questions_a_case));
    }
  }
  const std::vector<AdjustedP> adjusted = AdjustTogether(family);
  size_t next = 0;
  for (Comparison& comparison : comparisons) {
    for (Change& change : comparison.changes) {
      change.change = Concluded(std::move(family[next]), adjusted[next]);
      ++next;
    }
  }
  return comparisons;
}

}  // namespace pagoda::judge

#include "judge/verdict/overall.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "judge/stats/power.h"
#include "judge/verdict/ranking.h"
#include "judge/verdict/samples.h"

namespace pagoda::judge {
namespace {

// The null arm in the place of a variant, so that it gets the same numbers.
ContrastSample NullSample(const CaseRecords& records, const std::string& baseline, Clock clock) {
  ContrastSample sample = SampleOf(records, baseline, baseline, baseline, clock);
  sample.typical = sample.null_typical;
  sample.floor = sample.null_floor;
  return sample;
}

Outcome MeasureNull(const ContrastSample& sample, const Manifest& manifest, Statistic statistic) {
  return Measure(sample, {.statistic = statistic, .delta = manifest.delta, .planned = manifest.launches});
}

void AddNulls(const Manifest& manifest, const std::vector<CaseRecords>& sorted, RunVerdict& run) {
  run.nulls.resize(sorted.size());
  for (const Clock clock : {Clock::kDevice, Clock::kHost}) {
    std::vector<ContrastSample> samples;
    std::vector<double> weights;
    for (size_t c = 0; c < sorted.size(); ++c) {
      NullFigures& figures = run.nulls[c];
      figures.case_name = sorted[c].facts->name;
      ContrastSample sample = NullSample(sorted[c], manifest.baseline, clock);
      const Outcome null = MeasureNull(sample, manifest, run.statistic);
      (clock == Clock::kDevice ? figures.device : figures.host) = null.null;
      (clock == Clock::kDevice ? figures.device_sigma : figures.host_sigma) = null.null_sigma;
      figures.launches = null.launches_used;
      if (sample.typical.empty()) continue;
      samples.push_back(std::move(sample));
      weights.push_back(sorted[c].facts->weight);
    }
    const Outcome overall = MeasureNull(WeightedMean(samples, weights), manifest, run.statistic);
    (clock == Clock::kDevice ? run.null : run.null_host) = overall.null;
    if (clock == Clock::kDevice) run.mde = overall.mde;
  }
}

void AddContrasts(const Manifest& manifest, const Duels& duels, RunVerdict& run) {
  double mde = 0;
  for (const std::string& variant : manifest.variants) {
    if (variant == manifest.baseline) continue;
    run.contrasts.push_back(duels.Of(variant, manifest.baseline));
    // A contrast that has no numbers must not hide what the others could see.
    if (run.contrasts.back().overall.mde > mde) mde = run.contrasts.back().overall.mde;
  }
  if (mde > 0) run.mde = mde;
}

std::string WhyNeverTimed(const CaseRecords& records) {
  return fmt::format("no usable launch: {} contaminated, {} hung or crashed, {} never run", records.left_out,
                     records.failed, records.never_run);
}

void AddUnmeasured(const Manifest& manifest, const std::vector<CaseRecords>& sorted, RunVerdict& run) {
  for (const CaseRecords& records : sorted) {
    for (const std::string& variant : manifest.variants) {
      Unmeasured item{.case_name = records.facts->name, .variant = variant, .why = {}};
      if (const auto failure = records.failures.find(variant); failure != records.failures.end()) {
        item.reason = failure->second.reason;
        item.why = failure->second.why;
      } else if (const auto skip = records.unsupported.find(variant); skip != records.unsupported.end()) {
        item.reason = Reason::kUnsupported;
        item.why = skip->second;
      } else if (MeasuredOn(records, variant)) {
        continue;
      } else if (!records.usable.empty() && !records.passed_checks.contains(variant)) {
        item.reason = Reason::kNotGated;
        item.why = "no gate run or check has proven it right";
      } else {
        item.why = records.usable.empty() ? WhyNeverTimed(records) : "no usable launch timed it";
      }
      run.unmeasured.push_back(std::move(item));
    }
  }
}

void AddDifferences(const Contrast& contrast, RunVerdict& run) {
  const auto add = [&](const std::string& case_name, const Outcome& device, const Outcome& host) {
    if (device.verdict == host.verdict) return;
    run.differences.push_back({.case_name = case_name,
                               .variant = contrast.variant,
                               .baseline = contrast.baseline,
                               .device = device.verdict,
                               .host = host.verdict});
  };
  for (const CaseVerdict& verdict : contrast.cases) add(verdict.case_name, verdict.device, verdict.host);
  add("", contrast.overall, contrast.overall_host);
}

void AddProof(const Manifest& manifest, const Records& records, const std::vector<CaseRecords>& sorted,
              RunVerdict& run) {
  std::set<uint64_t> seeds;
  bool repeatable = true;
  for (const GateRecord& gate : records.gates) {
    seeds.insert(gate.seed);
    run.gates_passed += gate.passed ? 1 : 0;
    repeatable = repeatable && gate.bitwise_repeatable;
  }
  for (const CaseRecords& place : sorted) {
    run.gates_total += static_cast<int>((manifest.variants.size() - place.unsupported.size()) * seeds.size());
  }
  run.gates_missing = run.gates_total - static_cast<int>(records.gates.size());
  run.bitwise_all = repeatable && run.gates_total > 0 && run.gates_missing == 0;
  for (const CaseRecords& place : sorted) {
    run.launches.planned += manifest.launches;
    run.launches.used += static_cast<int>(place.usable.size());
    run.launches.left_out += place.left_out;
    run.launches.rerun += place.rerun;
    run.launches.failed += place.failed;
    run.launches.never_run += place.never_run;
  }
}

void SetTop(RunVerdict& run, Verdict verdict, Reason reason, std::string why, std::string next) {
  run.verdict = verdict;
  run.reason = reason;
  run.why = std::move(why);
  run.next = std::move(next);
}

// Why nobody leads: every variant failed but one, nothing was measured, or there is only one.
void SetTopWithoutRival(const Manifest& manifest, const std::vector<CaseRecords>& sorted, RunVerdict& run) {
  for (const CaseRecords& records : sorted) {
    if (records.failures.empty()) continue;
    const auto& [variant, failure] = *records.failures.begin();
    SetTop(run, Verdict::kInvalid, failure.reason,
           fmt::format("{} on {}: {}", variant, records.facts->name, failure.why),
           fmt::format("Mend {}, then run again.", variant));
    return;
  }
  if (manifest.variants.size() == 1) {
    SetTop(run, Verdict::kInconclusive, Reason::kOneVariant,
           fmt::format("{} is the only variant: its null arm was timed and nothing else", manifest.baseline),
           "Name a second variant with --variants.");
    return;
  }
  SetTop(run, Verdict::kInconclusive, Reason::kMissing,
         "fewer than two variants were measured on the same cases",
         "Finish the run with --resume, or choose cases that two variants support.");
}

}  // namespace

RunVerdict Judge(const Manifest& manifest, const Records& records) {
  const std::vector<CaseRecords> sorted = SortRecords(manifest, records);
  RunVerdict run;
  run.baseline = manifest.baseline;
  const StatisticChoice choice = ChooseStatistic(manifest, sorted);
  run.statistic = choice.statistic;
  run.null_spread_typical = choice.spread_typical;
  run.null_spread_floor = choice.spread_floor;
  AddProof(manifest, records, sorted, run);
  run.figures = ComputeFigures(manifest, records, sorted);
  run.medians = AggregateMedians(manifest, sorted, run.figures);
  AddNulls(manifest, sorted, run);
  AddUnmeasured(manifest, sorted, run);

  const PairTable pairs(manifest, sorted, run.statistic);
  const Duels duels(manifest.variants, pairs);
  AddContrasts(manifest, duels, run);
  run.cases = RankCases(manifest.variants, sorted, duels);
  run.regrets = RegretsOf(manifest.choosers, run.cases, duels);
  run.sweeps = JudgeSweeps(manifest, sorted, run.cases, duels, run.statistic);

  const Duel overall = [&duels](std::string_view a, std::string_view b) -> const Outcome& {
    return duels.Of(a, b).overall;
  };
  const Ranking ranking = Rank(Eligible(manifest.variants, sorted), overall);
  run.winners = ranking.winners;
  if (!ranking.order.empty()) run.leader = ranking.order[0];
  if (ranking.order.size() > 1) {
    run.runner_up = ranking.order[1];
    run.top = duels.Of(run.leader, run.runner_up);
    const Outcome& top = run.top->overall;
    run.lead = top.speedup;
    run.strong = top.strong;
    SetTop(run, top.verdict, top.reason, top.why, top.next);
  } else {
    SetTopWithoutRival(manifest, sorted, run);
  }
  for (const Contrast& contrast : run.contrasts) AddDifferences(contrast, run);
  const bool top_is_new = run.top && run.leader != manifest.baseline && run.runner_up != manifest.baseline;
  if (top_is_new) AddDifferences(*run.top, run);
  run.recommendation = Recommend(run, duels);
  return run;
}

}  // namespace pagoda::judge

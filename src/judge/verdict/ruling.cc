#include "judge/verdict/ruling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "judge/stats/holm.h"

namespace pagoda::judge {
namespace {

bool IsMissing(const Outcome& outcome) {
  return outcome.verdict == Verdict::kInconclusive &&
         (outcome.reason == Reason::kUnsupported || outcome.reason == Reason::kNotGated ||
          outcome.launches_used == 0);
}

void Count(const Outcome& outcome, Counts& counts) {
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

template <typename Predicate>
std::vector<std::string> CasesWhere(const Contrast& contrast, Clock clock, Predicate predicate) {
  std::vector<std::string> names;
  for (const CaseVerdict& verdict : contrast.cases) {
    if (predicate(OutcomeOf(verdict, clock))) names.push_back(verdict.case_name);
  }
  return names;
}

// What the cases do to the verdict over all of them.
void BendOverall(Clock clock, Contrast& contrast) {
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

Outcome& OutcomeOf(CaseVerdict& verdict, Clock clock) {
  return clock == Clock::kDevice ? verdict.device : verdict.host;
}
const Outcome& OutcomeOf(const CaseVerdict& verdict, Clock clock) {
  return clock == Clock::kDevice ? verdict.device : verdict.host;
}
Outcome& OverallOf(Contrast& contrast, Clock clock) {
  return clock == Clock::kDevice ? contrast.overall : contrast.overall_host;
}
const Outcome& OverallOf(const Contrast& contrast, Clock clock) {
  return clock == Clock::kDevice ? contrast.overall : contrast.overall_host;
}
Counts& CountsOf(Contrast& contrast, Clock clock) {
  return clock == Clock::kDevice ? contrast.counts : contrast.counts_host;
}

std::vector<AdjustedP> AdjustTogether(const std::vector<MeasuredContrast>& family) {
  std::vector<AdjustedP> adjusted(family.size());
  for (const Clock clock : kClocks) {
    std::vector<double> case_p, overall_p;
    std::vector<double*> case_places;
    size_t questions = 0;
    for (size_t i = 0; i < family.size(); ++i) {
      const std::vector<CaseVerdict>& cases = family[i].contrast.cases;
      std::vector<double>& place = adjusted[i].cases[Index(clock)];
      place.assign(cases.size(), 1.0);
      questions += cases.size();
      for (size_t c = 0; c < cases.size(); ++c) {
        if (family[i].rulings[c]) continue;
        case_p.push_back(OutcomeOf(cases[c], clock).p);
        case_places.push_back(&place[c]);
      }
      overall_p.push_back(OverallOf(family[i].contrast, clock).p);
    }
    const std::vector<double> case_adjusted = HolmAdjust(case_p, questions);
    for (size_t i = 0; i < case_places.size(); ++i) *case_places[i] = case_adjusted[i];
    const std::vector<double> overall_adjusted = HolmAdjust(overall_p, family.size());
    for (size_t i = 0; i < family.size(); ++i) adjusted[i].overall[Index(clock)] = overall_adjusted[i];
  }
  return adjusted;
}

Contrast Conclude(MeasuredContrast measured, const AdjustedP& adjusted) {
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
      Count(outcome, CountsOf(contrast, clock));
    }
    Outcome& overall = OverallOf(contrast, clock);
    overall.p_adjusted = adjusted.overall[k];
    Decide(overall, measured.overall_inputs[k]);
    BendOverall(clock, contrast);
  }
  for (CaseVerdict& verdict : contrast.cases) {
    verdict.host_differs = verdict.device.verdict != verdict.host.verdict;
  }
  return std::move(contrast);
}

}  // namespace pagoda::judge

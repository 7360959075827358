#include "judge/verdict/recommend.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/listed.h"
#include "judge/verdict/overall.h"

namespace pagoda::judge {
namespace {

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Cases that a sentence names; a report's tables have them all.
constexpr size_t kNamed = 3;

std::string Times(const Estimate& ratio) {
  return fmt::format("{:.3f}x [{:.3f}, {:.3f}]", ratio.value, ratio.low, ratio.high);
}

std::string Chosen(const RunVerdict& run) {
  if (run.verdict == Verdict::kWin || run.verdict == Verdict::kMixed) return run.leader;
  return Contains(run.winners, run.baseline) ? run.baseline : run.leader;
}

std::string Answer(const RunVerdict& run, const std::string& keep) {
  if (keep.empty()) return fmt::format("There is no variant to recommend: {}.", run.why);
  if (!run.top) return fmt::format("{} is the only variant left to choose: {}.", keep, run.why);
  const std::string lead = Times(run.lead);
  if (run.verdict == Verdict::kWin) {
    return fmt::format("Keep {} as the default: {} over {}, the next best, overall.", keep, lead,
                       run.runner_up);
  }
  if (run.verdict == Verdict::kMixed) {
    return fmt::format("Keep {} as the default where one variant must serve all cases: {} over {} overall.",
                       keep, lead, run.runner_up);
  }
  const std::string between =
      run.verdict == Verdict::kTie
          ? fmt::format("{} and {} tie overall, {}", run.leader, run.runner_up, lead)
          : fmt::format("between {} and {} there is no verdict ({})", run.leader, run.runner_up, run.why);
  if (keep == run.baseline) {
    return fmt::format("Keep {}, the baseline: no variant beats it overall; {}.", keep, between);
  }
  return fmt::format("Keep {} as the default: {} is beaten overall, and {}.", keep, run.baseline, between);
}

void WeighCase(const CaseRanking& ranking, size_t c, const Duels& duels, Recommendation& advice) {
  const std::string& keep = advice.keep;
  if (!Contains(ranking.order, keep)) {
    advice.no_evidence.push_back(ranking.case_name);
    return;
  }
  const auto against = [&](const std::string& rival) -> const Outcome& {
    return duels.Of(rival, keep).cases[c].device;
  };
  Preference better{.case_name = ranking.case_name, .variants = {}};
  std::string rival;
  for (const std::string& variant : ranking.order) {
    if (variant == keep || Contains(advice.avoid, variant)) continue;
    if (rival.empty()) rival = variant;
    if (against(variant).verdict == Verdict::kWin) better.variants.push_back(variant);
  }
  if (!better.variants.empty()) {
    better.speedup = against(better.variants.front()).speedup.value;
    advice.prefer.push_back(std::move(better));
  } else if (rival.empty() || against(rival).verdict == Verdict::kInconclusive) {
    advice.no_evidence.push_back(ranking.case_name);
  } else if (against(rival).verdict == Verdict::kTie) {
    advice.either.push_back(ranking.case_name);
  }
}

void SayPreferences(Recommendation& advice) {
  std::vector<Preference> strongest_first = advice.prefer;
  std::sort(strongest_first.begin(), strongest_first.end(), [](const Preference& a, const Preference& b) {
    return a.speedup != b.speedup ? a.speedup > b.speedup : a.case_name < b.case_name;
  });
  std::map<std::string, std::vector<std::string>> cases_of;
  for (const Preference& preference : strongest_first) {
    cases_of[preference.variants.front()].push_back(
        fmt::format("{} ({:.3f}x)", preference.case_name, preference.speedup));
  }
  for (const auto& [variant, cases] : cases_of) {
    advice.sentences.push_back(fmt::format("Prefer {} on {}.", variant, ListedUpTo(kNamed, cases)));
  }
}

void SayDifferences(const RunVerdict& run, Recommendation& advice) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> by_contrast;
  for (const Difference& x : run.differences) {
    by_contrast[{x.variant, x.baseline}].push_back(fmt::format(
        "{} ({} by device time, {} by host time)", x.case_name.empty() ? "all cases together" : x.case_name,
        NameOf(x.device), NameOf(x.host)));
  }
  for (const auto& [contrast, cases] : by_contrast) {
    advice.sentences.push_back(fmt::format("Host time judges {} against {} differently on {}.",
                                           contrast.first, contrast.second, ListedUpTo(kNamed, cases)));
  }
}

bool IsFailure(Reason reason) {
  return reason == Reason::kGateFailed || reason == Reason::kTimedOutputWrong || reason == Reason::kHung ||
         reason == Reason::kCrashed;
}

std::string_view InWords(Reason reason) {
  switch (reason) {
    case Reason::kHung:
      return "it hung on";
    case Reason::kCrashed:
      return "it crashed on";
    default:
      return "it was wrong on";
  }
}

std::map<std::string, std::vector<std::string>> FaultsOf(const RunVerdict& run) {
  std::map<std::string, std::vector<std::string>> faults;
  for (const Unmeasured& item : run.unmeasured) {
    if (IsFailure(item.reason))
      faults[item.variant].push_back(fmt::format("{} {}", InWords(item.reason), item.case_name));
  }
  return faults;
}

}  // namespace

Recommendation Recommend(const RunVerdict& run, const Duels& duels) {
  Recommendation advice;
  advice.keep = Chosen(run);
  advice.sentences.push_back(Answer(run, advice.keep));
  const auto faults = FaultsOf(run);
  for (const auto& [variant, what] : faults) advice.avoid.push_back(variant);
  if (run.top) {
    for (size_t c = 0; c < run.cases.size(); ++c) WeighCase(run.cases[c], c, duels, advice);
  }
  SayPreferences(advice);
  if (!advice.either.empty()) {
    advice.sentences.push_back(
        fmt::format("Its best rival ties with it on {}.", ListedUpTo(kNamed, advice.either)));
  }
  if (!advice.no_evidence.empty()) {
    advice.sentences.push_back(
        fmt::format("There is no evidence for or against it on {}.", ListedUpTo(kNamed, advice.no_evidence)));
  }
  for (const auto& [variant, what] : faults)
    advice.sentences.push_back(fmt::format("Don't use {}: {}.", variant, ListedUpTo(kNamed, what)));
  SayDifferences(run, advice);
  return advice;
}

}  // namespace pagoda::judge

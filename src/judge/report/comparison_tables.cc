#include "judge/report/comparison_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/listed.h"
#include "judge/report/numbers.h"
#include "judge/report/tables.h"

namespace pagoda::judge {
namespace {

using Row = std::vector<Cell>;

constexpr size_t kMostNames = 4;

std::string WithInterval(const Outcome& outcome) {
  if (outcome.verdict == Verdict::kInvalid || !std::isfinite(outcome.speedup.value)) return "";
  return RatioWithInterval(outcome.speedup.value, outcome.speedup.low, outcome.speedup.high);
}

std::string WithVerdict(const Outcome& outcome) {
  return fmt::format("{} {}", WithInterval(outcome), MarkOf(outcome.verdict));
}

// Nothing is known of a case that only one of the runs has.
std::string WithVerdict(const CaseVerdict* verdict) {
  return verdict == nullptr ? "" : WithVerdict(verdict->device);
}

std::vector<std::string> CasesWith(const Contrast& change, Verdict verdict) {
  std::vector<std::string> names;
  for (const CaseVerdict& c : change.cases) {
    if (c.device.verdict == verdict) names.push_back(c.case_name);
  }
  return names;
}

bool AnyInvalid(const Comparison& comparison) {
  return std::any_of(comparison.changes.begin(), comparison.changes.end(),
                     [](const Change& c) { return c.change.counts.invalid > 0; });
}

std::string CommitOf(const EnvironmentFacts& facts) {
  return facts.git_commit + (facts.git_dirty ? " with local changes" : "");
}

std::string BestBandwidth(const Manifest& manifest) {
  double best = 0;
  for (const BandwidthCeiling& c : manifest.ceilings.bandwidth) best = std::max(best, c.gb_per_s);
  return best > 0 ? Significant(best) + " GB/s" : "";
}

bool HasAny(const std::vector<std::string>& names, const std::vector<std::string>& others) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(others.begin(), others.end(), name) != others.end();
  });
}

std::string DeviceTime(const Figures* figures) {
  return figures == nullptr || !std::isfinite(figures->device_us) ? "" : Micros(figures->device_us);
}

std::string RooflineShare(const Figures* figures) {
  return figures == nullptr || !(figures->roofline_fraction > 0) ? "" : Percent(figures->roofline_fraction);
}

}  // namespace

std::vector<DifferingFact> DifferingFacts(const Manifest& before, const Manifest& after) {
  const EnvironmentFacts& a = before.environment;
  const EnvironmentFacts& b = after.environment;
  std::vector<DifferingFact> facts = {
      {"suite", before.suite, after.suite},
      {"time", before.time, after.time},
      {"CPU", a.cpu, b.cpu},
      {"CPU flags", a.cpu_flags, b.cpu_flags},
      {"instruction set", a.isa, b.isa},
      {"caches", a.caches, b.caches},
      {"memory", a.memory, b.memory},
      {"bandwidth ceiling", BestBandwidth(before), BestBandwidth(after)},
      {"kernel", a.kernel, b.kernel},
      {"threads", std::to_string(before.threads), std::to_string(after.threads)},
      {"commit", CommitOf(a), CommitOf(b)},
      {"binary", a.binary_hash, b.binary_hash},
      {"compiler", a.compiler, b.compiler},
      {"build flags", a.build_flags, b.build_flags},
      {"baseline", before.baseline, after.baseline},
      {"launches a case", std::to_string(before.launches), std::to_string(after.launches)},
      {"seed", std::to_string(before.seed), std::to_string(after.seed)},
      {"command", before.command_line, after.command_line}};
  for (const auto& [name, was, is] : Changes(before.settings, after.settings))
    facts.push_back({name, was, is});
  std::erase_if(facts, [](const DifferingFact& fact) { return fact.before == fact.after; });
  return facts;
}

std::vector<CaseWinners> WinnersOf(const ComparedReplays& runs) {
  std::vector<CaseWinners> all;
  for (const std::string& name : runs.comparison.cases) {
    CaseWinners winners{.case_name = name, .before = {}, .after = {}};
    if (const CaseRanking* ranking = FindRanking(runs.before.run, name)) winners.before = ranking->winners;
    if (const CaseRanking* ranking = FindRanking(runs.after.run, name)) winners.after = ranking->winners;
    winners.agree = HasAny(winners.before, winners.after);
    all.push_back(std::move(winners));
  }
  return all;
}

Table WinnersTable(const std::vector<CaseWinners>& winners) {
  Table table{.columns = {{"case"}, {"fastest before"}, {"fastest after"}}};
  for (const CaseWinners& w : winners) {
    if (w.agree) continue;
    table.rows.push_back({{.text = w.case_name, .code = true}, {Listed(w.before)}, {Listed(w.after)}});
  }
  return table;
}

Table ChangeTable(const Comparison& comparison) {
  const bool any_invalid = AnyInvalid(comparison);
  Table table{.columns = {{"variant"}, {"WIN", true}, {"TIE", true}, {"LOSS", true}, {"?", true}}};
  if (any_invalid) table.columns.push_back({"INV", true});
  for (const char* title : {"overall", "change", "before", "after"}) table.columns.push_back({title});
  for (const auto& [before, after, change] : comparison.changes) {
    const Counts& counts = change.counts;
    Row row = {{.text = change.variant, .code = true},
               {Count(counts.win)},
               {Count(counts.tie)},
               {Count(counts.loss)},
               {Count(counts.inconclusive)}};
    if (any_invalid) row.push_back({Count(counts.invalid)});
    row.push_back({MarkOf(change.overall.verdict), InkOf(change.overall.verdict)});
    row.push_back({WithInterval(change.overall)});
    row.push_back({WithVerdict(before.overall)});
    row.push_back({WithVerdict(after.overall)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table ChangeCaseTable(const Comparison& comparison) {
  Table table{.columns = {{""}, {"before"}, {"after"}, {"change"}, {""}}};
  for (size_t c = 0; c < comparison.cases.size(); ++c) {
    const std::string& name = comparison.cases[c];
    table.rows.push_back({{name, Ink::kBold}});
    for (const auto& [before, after, change] : comparison.changes) {
      const Outcome& outcome = change.cases[c].device;
      table.rows.push_back({{"  " + change.variant},
                            {WithVerdict(FindCase(before, name))},
                            {WithVerdict(FindCase(after, name))},
                            {WithInterval(outcome)},
                            {MarkOf(outcome.verdict), InkOf(outcome.verdict)}});
    }
  }
  return table;
}

Table TimesTable(const ComparedReplays& runs) {
  Table table{.columns = {{""},
                          {"before", true},
                          {"after", true},
                          {"before / after", true},
                          {"roofline before", true},
                          {"after", true}}};
  for (const std::string& name : runs.comparison.cases) {
    table.rows.push_back({{name, Ink::kBold}});
    for (const std::string& variant : runs.comparison.variants) {
      const Figures* before = FindFigures(runs.before.run, name, variant);
      const Figures* after = FindFigures(runs.after.run, name, variant);
      const bool both = !DeviceTime(before).empty() && !DeviceTime(after).empty();
      table.rows.push_back({{"  " + variant},
                            {DeviceTime(before)},
                            {DeviceTime(after)},
                            {both ? Ratio(before->device_us / after->device_us) : ""},
                            {RooflineShare(before)},
                            {RooflineShare(after)}});
    }
  }
  return table;
}

std::vector<std::string> ChangeSentences(const Comparison& comparison) {
  std::vector<std::string> sentences;
  for (const Change& c : comparison.changes) {
    const auto said = [&c](Verdict verdict, std::string_view what) {
      const std::vector<std::string> names = CasesWith(c.change, verdict);
      return names.empty() ? "" : fmt::format("{} on {}", what, ListedUpTo(kMostNames, names));
    };
    std::vector<std::string> parts = {said(Verdict::kLoss, "fell behind"), said(Verdict::kWin, "gained"),
                                      said(Verdict::kTie, "stayed the same")};
    std::erase(parts, "");
    sentences.push_back(fmt::format("{} against {}: {}.", c.change.variant, comparison.baseline,
                                    parts.empty() ? "no case is decided" : Listed(parts)));
  }
  return sentences;
}

std::vector<std::string> UndecidedSentences(const Comparison& comparison) {
  std::vector<std::string> sentences;
  for (const Change& c : comparison.changes) {
    for (const CaseVerdict& verdict : c.change.cases) {
      const Outcome& outcome = verdict.device;
      if (outcome.why.empty()) continue;
      sentences.push_back(fmt::format("{} {} on {}: {}. {}", MarkOf(outcome.verdict), c.change.variant,
                                      verdict.case_name, outcome.why, outcome.next));
    }
  }
  return sentences;
}

std::vector<std::string> NotCompared(const Comparison& comparison) {
  std::vector<std::string> sentences;
  const auto add = [&](std::string_view what, const std::vector<std::string>& names) {
    if (!names.empty()) sentences.push_back(fmt::format("{}: {}", what, ListedUpTo(kMostNames, names)));
  };
  add("cases of the run before only", comparison.cases_only_before);
  add("cases of the run after only", comparison.cases_only_after);
  add("variants of the run before only", comparison.variants_only_before);
  add("variants of the run after only", comparison.variants_only_after);
  return sentences;
}

std::string ChangeLegend(const Comparison& comparison) {
  return fmt::format(
      "speed-ups are time of {0} / time of the variant; change is the speed-up after / before: WIN, the "
      "variant "
      "gained on {0}; LOSS, it fell behind; TIE, shown to be the same. Where all variants change to one "
      "side, "
      "{0} may be what changed",
      comparison.baseline);
}

std::string TimesLegend() {
  return "times of two runs are not paired, so they get no verdict: drift and another build's placement look "
         "like a difference. To judge a change of code in pairs: pagoda bench SUITE --variants NAME "
         "--baseline-lib OLD/libpagoda_kernels.so";
}

}  // namespace pagoda::judge

#include "judge/report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/report/numbers.h"

namespace pagoda::judge {
namespace {

using Row = std::vector<Cell>;

std::string WithInterval(const Estimate& ratio) {
  return RatioWithInterval(ratio.value, ratio.low, ratio.high);
}

// The times of a wrong result say nothing, so no ratio either.
std::string RatioOf(const Outcome& outcome) {
  if (outcome.verdict == Verdict::kInvalid || !std::isfinite(outcome.speedup.value)) return "";
  return WithInterval(outcome.speedup);
}

std::string BriefRatioOf(const Outcome& outcome) {
  return RatioOf(outcome).empty() ? "" : Ratio(outcome.speedup.value);
}

Cell NameCell(std::string name) { return {.text = std::move(name), .code = true}; }

Cell VerdictCell(const Outcome& outcome) { return {MarkOf(outcome.verdict), InkOf(outcome.verdict)}; }

bool Timed(const Figures* figures) { return figures != nullptr && std::isfinite(figures->device_us); }

// Operations a second where arithmetic is the bound, else bytes.
bool ComputeBound(const Figures& figures) { return figures.bound_us > 0 && !figures.memory_bound; }

std::string UnitOf(const Figures& figures) { return ComputeBound(figures) ? "GFLOP/s" : "GB/s"; }

std::string RateOf(const Figures& figures) {
  return Significant(ComputeBound(figures) ? figures.gflop_per_s : figures.gb_per_s);
}

// Rate, share of the roofline, largest error.
void AddFigures(const Figures* figures, bool with_unit, Row& row) {
  if (!Timed(figures)) {
    const bool checked = figures != nullptr && figures->gates_total > 0;
    row.insert(row.end(), {Cell{}, Cell{}, {checked ? Scientific(figures->max_abs_error) : ""}});
    return;
  }
  const bool bounded = figures->roofline_fraction > 0;
  row.push_back({with_unit ? fmt::format("{} {}", RateOf(*figures), UnitOf(*figures)) : RateOf(*figures)});
  row.push_back({bounded ? Percent(figures->roofline_fraction) + (figures->suspect ? " !" : "") : "",
                 figures->suspect ? Ink::kBad : Ink::kPlain});
  row.push_back({Scientific(figures->max_abs_error)});
}

bool TimedByAny(const Replay& replay, const std::string& case_name) {
  const auto& variants = replay.manifest.variants;
  return std::any_of(variants.begin(), variants.end(), [&](const std::string& variant) {
    return Timed(FindFigures(replay.run, case_name, variant));
  });
}

Cell DeviceCell(const Figures* figures) { return {Timed(figures) ? Micros(figures->device_us) : ""}; }

Cell HostCell(const Figures* figures) { return {Timed(figures) ? Micros(figures->host_us) : ""}; }

std::string CaseHeading(const Replay& replay, const std::string& case_name) {
  const Figures* figures = FindFigures(replay.run, case_name, replay.run.baseline);
  if (figures == nullptr || !(figures->bound_us > 0)) return case_name + "  (rate in GB/s)";
  return fmt::format("{}  (bound {}, {}; rate in {})", case_name, Micros(figures->bound_us),
                     figures->memory_bound ? "memory" : "compute", UnitOf(*figures));
}

bool AnyInvalid(const RunVerdict& run) {
  return std::any_of(run.contrasts.begin(), run.contrasts.end(),
                     [](const Contrast& c) { return c.counts.invalid > 0; });
}

std::string DTypeOf(const Replay& replay, const std::string& case_name) {
  const ManifestCase* found = FindManifestCase(replay.manifest, case_name);
  return found == nullptr ? "" : found->dtype;
}

Trouble TroubleOf(const Contrast& contrast, const std::string& case_name, const Outcome& outcome) {
  return {.verdict = outcome.verdict,
          .variant = contrast.variant,
          .baseline = contrast.baseline,
          .case_name = case_name,
          .ratio = RatioOf(outcome),
          .not_beaten = {},
          .reason = outcome.why,
          .next = outcome.next};
}

void DescribeLoss(const Replay& replay, Trouble& loss) {
  const CaseRanking* ranking = FindRanking(replay.run, loss.case_name);
  if (ranking != nullptr) loss.not_beaten = ranking->winners;
}

}  // namespace

Ink InkOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWin:
      return Ink::kGood;
    case Verdict::kLoss:
    case Verdict::kInvalid:
      return Ink::kBad;
    case Verdict::kTie:
      return Ink::kPlain;
    case Verdict::kInconclusive:
    case Verdict::kMixed:
      return Ink::kDoubt;
  }
  return Ink::kPlain;
}

std::string MarkOf(Verdict verdict) {
  if (verdict == Verdict::kInconclusive) return "?";
  return verdict == Verdict::kInvalid ? "INV" : std::string(NameOf(verdict));
}

std::string Legend(const Replay& replay) {
  return std::string(
             "ratios are time of A / time of the variant, above 1 is faster than A; ? is INCONCLUSIVE") +
         (AnyInvalid(replay.run) ? ", INV is INVALID" : "");
}

Table SummaryTable(const Replay& replay) {
  const bool any_invalid = AnyInvalid(replay.run);
  Table table{.columns = {{""}, {"variant"}, {"WIN", true}, {"TIE", true}, {"LOSS", true}, {"?", true}}};
  if (any_invalid) table.columns.push_back({"INV", true});
  for (const char* title : {"overall", "device time", "host time"}) table.columns.push_back({title});
  table.rows.push_back({{LabelOf(replay.manifest, replay.run.baseline), Ink::kBold},
                        NameCell(replay.run.baseline),
                        {""},
                        {""},
                        {""},
                        {""}});
  if (any_invalid) table.rows.back().push_back({});
  table.rows.back().push_back({"baseline", Ink::kFaint});
  for (const Contrast& contrast : replay.run.contrasts) {
    const Counts& counts = contrast.counts;
    Row row = {{LabelOf(replay.manifest, contrast.variant), Ink::kBold},
               NameCell(contrast.variant),
               {Count(counts.win)},
               {Count(counts.tie)},
               {Count(counts.loss)},
               {Count(counts.inconclusive)}};
    if (any_invalid) row.push_back({Count(counts.invalid)});
    row.push_back(VerdictCell(contrast.overall));
    row.push_back({RatioOf(contrast.overall)});
    row.push_back({BriefRatioOf(contrast.overall_host)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table CompactCaseTable(const Replay& replay) {
  const RunVerdict& run = replay.run;
  Table table{.columns = {{"case"}, {LabelOf(replay.manifest, run.baseline), true}}};
  for (const Contrast& contrast : run.contrasts) {
    table.columns.push_back({LabelOf(replay.manifest, contrast.variant), true});
    table.columns.push_back({""});
  }
  for (const CaseRanking& ranking : run.cases) {
    Row row = {NameCell(ranking.case_name), DeviceCell(FindFigures(run, ranking.case_name, run.baseline))};
    for (const Contrast& contrast : run.contrasts) {
      const CaseVerdict* verdict = FindCase(contrast, ranking.case_name);
      if (verdict == nullptr) {
        row.insert(row.end(), {Cell{}, Cell{}});
        continue;
      }
      row.push_back({BriefRatioOf(verdict->device)});
      row.push_back(VerdictCell(verdict->device));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table FullCaseTable(const Replay& replay) {
  const RunVerdict& run = replay.run;
  const std::string against = "against " + LabelOf(replay.manifest, run.baseline);
  Table table{.columns = {{""},
                          {"device", true},
                          {against},
                          {""},
                          {"host", true},
                          {against},
                          {""},
                          {"rate", true},
                          {"roofline", true},
                          {"max error", true}}};
  for (const CaseRanking& ranking : run.cases) {
    if (!TimedByAny(replay, ranking.case_name)) {
      table.rows.push_back({{ranking.case_name + "  not measured", Ink::kFaint}});
      continue;
    }
    table.rows.push_back({{CaseHeading(replay, ranking.case_name), Ink::kBold}});
    for (const std::string& variant : VariantsByLabel(replay.manifest)) {
      const Figures* figures = FindFigures(run, ranking.case_name, variant);
      const Contrast* contrast = FindContrast(run, variant);
      const CaseVerdict* verdict = contrast == nullptr ? nullptr : FindCase(*contrast, ranking.case_name);
      Row row = {{"  " + LabelOf(replay.manifest, variant)}, DeviceCell(figures)};
      if (verdict == nullptr) {
        row.insert(row.end(), {Cell{}, Cell{}, HostCell(figures), Cell{}, Cell{}});
      } else {
        row.push_back({RatioOf(verdict->device)});
        row.push_back(VerdictCell(verdict->device));
        row.push_back(HostCell(figures));
        row.push_back({BriefRatioOf(verdict->host)});
        row.push_back(VerdictCell(verdict->host));
      }
      AddFigures(figures, false, row);
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table ContrastTable(const Replay& replay, const Contrast& contrast) {
  const std::string a = LabelOf(replay.manifest, contrast.baseline);
  const std::string b = LabelOf(replay.manifest, contrast.variant);
  Table table{.columns = {{"case"},
                          {"dtype"},
                          {a, true},
                          {b, true},
                          {"speedup"},
                          {"verdict"},
                          {b + " rate", true},
                          {b + " of roofline", true},
                          {b + " max error", true}}};
  for (const CaseVerdict& verdict : contrast.cases) {
    const Figures* figures = FindFigures(replay.run, verdict.case_name, contrast.variant);
    Row row = {NameCell(verdict.case_name),
               {DTypeOf(replay, verdict.case_name)},
               DeviceCell(FindFigures(replay.run, verdict.case_name, contrast.baseline)),
               DeviceCell(figures),
               {RatioOf(verdict.device)},
               {std::string(NameOf(verdict.device.verdict))}};
    AddFigures(figures, true, row);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table HostTable(const Replay& replay, const Contrast& contrast) {
  Table table{.columns = {{"case"},
                          {LabelOf(replay.manifest, contrast.baseline), true},
                          {LabelOf(replay.manifest, contrast.variant), true},
                          {"speedup"},
                          {"verdict"}}};
  for (const CaseVerdict& verdict : contrast.cases) {
    table.rows.push_back({NameCell(verdict.case_name),
                          HostCell(FindFigures(replay.run, verdict.case_name, contrast.baseline)),
                          HostCell(FindFigures(replay.run, verdict.case_name, contrast.variant)),
                          {RatioOf(verdict.host)},
                          {std::string(NameOf(verdict.host.verdict))}});
  }
  return table;
}

Table FiguresTable(const Replay& replay, const std::string& variant) {
  Table table{.columns = {{"case"},
                          {"dtype"},
                          {"device", true},
                          {"host", true},
                          {"rate", true},
                          {"roofline", true},
                          {"max error", true}}};
  for (const ManifestCase& c : replay.manifest.cases) {
    const Figures* figures = FindFigures(replay.run, c.name, variant);
    Row row = {NameCell(c.name), {c.dtype}, DeviceCell(figures), HostCell(figures)};
    AddFigures(figures, true, row);
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<Trouble> TroublesOf(const Replay& replay) {
  std::vector<Trouble> troubles;
  for (const Verdict wanted : {Verdict::kInvalid, Verdict::kLoss, Verdict::kInconclusive}) {
    for (const Contrast& contrast : replay.run.contrasts) {
      for (const CaseVerdict& c : contrast.cases) {
        if (c.device.verdict != wanted) continue;
        troubles.push_back(TroubleOf(contrast, c.case_name, c.device));
        if (wanted == Verdict::kLoss) DescribeLoss(replay, troubles.back());
      }
      if (contrast.overall.verdict == wanted && wanted != Verdict::kLoss) {
        troubles.push_back(TroubleOf(contrast, "", contrast.overall));
      }
    }
  }
  return troubles;
}

}  // namespace pagoda::judge

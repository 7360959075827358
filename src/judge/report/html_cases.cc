#include "judge/report/html_cases.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string_view>

#include "judge/report/html_parts.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"

namespace pagoda::judge {
namespace {

constexpr std::string_view kRight = " class=\"right\"";

std::string Title(std::string_view title, std::string_view attributes) {
  return fmt::format("<th scope=\"col\"{}>{}</th>", attributes, title);
}

// `sort`: the value that report.js sorts by; what isn't finite counts as empty.
std::string NumberCell(const std::string& text, double sort) {
  if (!std::isfinite(sort)) return "<td></td>";
  return fmt::format("<td{} data-sort=\"{:.6g}\">{}</td>", kRight, sort, text);
}

std::string VerdictCell(const Outcome& outcome) {
  return fmt::format("<td class=\"{0}\">{0}</td>", NameOf(outcome.verdict));
}

// The times of a wrong result say nothing, so no ratio either.
std::string SpeedupCell(const Outcome& outcome) {
  const Estimate& ratio = outcome.speedup;
  if (outcome.verdict == Verdict::kInvalid) return "<td></td>";
  return NumberCell(RatioWithInterval(ratio.value, ratio.low, ratio.high), ratio.value);
}

std::string OutcomeCells(const Outcome* outcome) {
  if (outcome == nullptr) return "<td></td><td class=\"faint\">baseline</td>";
  return SpeedupCell(*outcome) + VerdictCell(*outcome);
}

std::string RateCells(const Figures& f) {
  std::string html =
      NumberCell(Significant(f.gb_per_s), f.gb_per_s) + NumberCell(Significant(f.gflop_per_s), f.gflop_per_s);
  if (f.roofline_fraction > 0) {
    html +=
        NumberCell(Percent(f.roofline_fraction) + (f.suspect ? " <span class=\"LOSS\">suspect</span>" : ""),
                   f.roofline_fraction);
  } else {
    html += "<td></td>";
  }
  return html;
}

class Cases {
 public:
  explicit Cases(const Replay& replay) : replay_(replay), contrasted_(!replay.run.contrasts.empty()) {}

  std::string Print() {
    std::string rows;
    for (const ManifestCase& c : replay_.manifest.cases) {
      for (const std::string& variant : VariantsByLabel(replay_.manifest)) rows += Row(c, variant);
    }
    const size_t count = replay_.manifest.cases.size() * replay_.manifest.variants.size();
    return Form() +
           HtmlScrolling("All cases", count,
                         "<table id=\"cases\">\n" + Titles() + "<tbody>\n" + rows + "</tbody>\n</table>\n");
  }

 private:
  std::string Titles() const {
    std::string html = "<thead><tr>";
    for (const char* title : {"case", "variant", "dtype", "cache"}) html += Title(title, "");
    html += Title("device", kRight);
    if (contrasted_) html += Title("speedup", kRight) + Title("verdict", "");
    html += Title("host", kRight);
    if (contrasted_) html += Title("host speedup", kRight) + Title("host verdict", "");
    for (const char* title : {"GB/s", "GFLOP/s", "of roofline", "max error"}) html += Title(title, kRight);
    return html + "</tr></thead>\n";
  }

  std::string Row(const ManifestCase& c, const std::string& variant) {
    const Figures* found = FindFigures(replay_.run, c.name, variant);
    const Contrast* contrast = FindContrast(replay_.run, variant);
    const CaseVerdict* verdict = contrast == nullptr ? nullptr : FindCase(*contrast, c.name);
    const std::string_view name = verdict == nullptr ? "baseline" : NameOf(verdict->device.verdict);
    verdicts_.insert(name);
    const Figures figures = found == nullptr ? Untimed() : *found;
    std::string html = fmt::format(
        "<tr data-verdict=\"{}\"><th scope=\"row\">{}</th><td><b>{}</b> {}</td><td>{}</td><td>{}</td>", name,
        HtmlName(c.name), LabelOf(replay_.manifest, variant), HtmlName(variant), HtmlText(c.dtype),
        HtmlText(c.cache));
    html += NumberCell(Micros(figures.device_us), figures.device_us);
    if (contrasted_) html += OutcomeCells(verdict == nullptr ? nullptr : &verdict->device);
    html += NumberCell(Micros(figures.host_us), figures.host_us);
    if (contrasted_) html += OutcomeCells(verdict == nullptr ? nullptr : &verdict->host);
    html += RateCells(figures);
    const bool checked = figures.gates_total > 0 || std::isfinite(figures.device_us);
    html += checked ? NumberCell(Scientific(figures.max_abs_error), figures.max_abs_error) : "<td></td>";
    return html + "</tr>\n";
  }

  static Figures Untimed() {
    Figures figures;
    figures.device_us = figures.host_us = figures.gb_per_s = figures.gflop_per_s = std::nan("");
    return figures;
  }

  std::string Form() const {
    std::string options = "<option value=\"\">any</option>";
    for (const std::string_view verdict : verdicts_) options += fmt::format("<option>{}</option>", verdict);
    return "<form id=\"filter\" hidden>\n<label>Text <input type=\"search\" name=\"text\" "
           "autocomplete=\"off\"></label>\n<label>Verdict <select name=\"verdict\">" +
           options + "</select></label>\n<output name=\"shown\"></output>\n</form>\n";
  }

  const Replay& replay_;
  bool contrasted_;
  std::set<std::string_view> verdicts_;  // of device time, that some row has
};

}  // namespace

std::string CaseTable(const Replay& replay) { return Cases(replay).Print(); }

}  // namespace pagoda::judge

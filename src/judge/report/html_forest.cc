#include "judge/report/html_forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "judge/report/html_parts.h"
#include "judge/report/log_axis.h"
#include "judge/report/numbers.h"
#include "judge/report/tables.h"
#include "judge/report/text.h"

namespace pagoda::judge {
namespace {

// A wide interval may take the axis this far past the outermost speedup; more would squeeze all others.
constexpr double kMostBeyond = 1.5;
// A run whose speedups are all 1 still shows more than its tie zone.
constexpr double kLeastSpan = 1.06;

// One line of the plot.
struct Line {
  std::string label;  // "B", or the null arm's
  std::string name;
  std::string css_class;  // the verdict's name, or "null"
  std::string verdict;    // its short mark; empty for the null arm
  Estimate ratio;         // not drawable when there is none
};

struct Strip {
  std::string heading;  // HTML
  std::string title;
  std::vector<Line> lines;
};

// With too few launches an interval reaches from 0 to infinity: there is none to draw.
bool HasInterval(const Estimate& ratio) { return Drawable(ratio.low) && Drawable(ratio.high); }

std::string RatioText(const Line& line) {
  if (!Drawable(line.ratio.value)) return line.verdict.empty() ? "not measured" : "no speedup";
  return RatioWithInterval(line.ratio.value, line.ratio.low, line.ratio.high);
}

class Forest {
 public:
  explicit Forest(const Replay& replay) : replay_(replay) {
    const std::vector<ManifestCase>& cases = replay.manifest.cases;
    for (const ManifestCase& c : cases) strips_.push_back({HtmlName(c.name), c.name, LinesOf(c.name)});
    const std::string all = Counted(static_cast<int64_t>(cases.size()), "case", "cases") + " together";
    strips_.push_back({all + " (geometric mean)", all, OverallLines()});
    axis_ = AxisOver(ValuesOnTheAxis(), kLeastSpan);
  }

  bool Empty() const {
    return std::none_of(strips_.begin(), strips_.end(), [](const Strip& strip) {
      return std::any_of(strip.lines.begin(), strip.lines.end(),
                         [](const Line& line) { return Drawable(line.ratio.value); });
    });
  }

  std::string Draw() const {
    std::string plot = "<div class=\"forest\">\n" + Ground() + AxisRow();
    size_t lines = 0;
    for (const Strip& strip : strips_) {
      plot += Draw(strip);
      lines += strip.lines.size();
    }
    plot += "</div>\n";
    // Only a box that is needed: without one the axis stays in sight while the page scrolls.
    if (lines > kManyRows) plot = HtmlScrolling("Speedups of all cases", lines, plot);
    return HtmlLegend(LegendItems()) + plot;
  }

 private:
  Line LineOf(const Contrast& contrast, const Outcome& outcome) const {
    const bool valid = outcome.verdict != Verdict::kInvalid;  // the times of a wrong result say nothing
    return {LabelOf(replay_.manifest, contrast.variant), contrast.variant,
            std::string(NameOf(outcome.verdict)), MarkOf(outcome.verdict),
            valid ? outcome.speedup : Estimate{}};
  }

  Line NullLine(const Estimate& ratio) const {
    return {LabelOf(replay_.manifest, replay_.run.baseline) + "′", "null arm", "null", "", ratio};
  }

  std::vector<Line> LinesOf(const std::string& case_name) const {
    std::vector<Line> lines;
    for (const Contrast& contrast : replay_.run.contrasts) {
      const CaseVerdict* verdict = FindCase(contrast, case_name);
      if (verdict != nullptr) lines.push_back(LineOf(contrast, verdict->device));
    }
    for (const NullFigures& null : replay_.run.nulls) {
      if (null.case_name == case_name) lines.push_back(NullLine(null.device));
    }
    return lines;
  }

  std::vector<Line> OverallLines() const {
    std::vector<Line> lines;
    lines.reserve(replay_.run.contrasts.size() + 1);
    for (const Contrast& contrast : replay_.run.contrasts)
      lines.push_back(LineOf(contrast, contrast.overall));
    lines.push_back(NullLine(replay_.run.null));
    return lines;
  }

  std::vector<double> ValuesOnTheAxis() const {
    const double tie = 1 + replay_.manifest.delta;
    std::vector<double> values = {1 / tie, tie};
    for (const Strip& strip : strips_) {
      for (const Line& line : strip.lines) {
        if (Drawable(line.ratio.value)) values.push_back(line.ratio.value);
      }
    }
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const double low = *least / kMostBeyond, high = *most * kMostBeyond;
    for (const Strip& strip : strips_) {
      for (const Line& line : strip.lines) {
        if (!HasInterval(line.ratio)) continue;
        values.push_back(std::max(line.ratio.low, low));
        values.push_back(std::min(line.ratio.high, high));
      }
    }
    return values;
  }

  std::vector<std::string> LegendItems() const {
    std::set<Verdict> seen;
    for (const Contrast& contrast : replay_.run.contrasts) {
      seen.insert(contrast.overall.verdict);
      for (const CaseVerdict& c : contrast.cases) seen.insert(c.device.verdict);
    }
    std::vector<std::string> items;
    for (const Verdict verdict : seen) {
      const std::string_view name = NameOf(verdict);
      const std::string mark = MarkOf(verdict);
      items.push_back(fmt::format("{} <span class=\"{}\">{}{}</span>", HtmlMark(MarkId(verdict), name), name,
                                  name, mark == name ? "" : fmt::format(" ({})", mark)));
    }
    items.push_back(fmt::format("{} null arm: {} against itself, linked a second time",
                                HtmlMark("m-null", "null"), HtmlName(replay_.run.baseline)));
    items.push_back(fmt::format("<span class=\"zone\"></span> tie zone: within {} of 1",
                                SetPercent(replay_.manifest.delta)));
    return items;
  }

  // What lies behind every strip: the tie zone, the ticks, the line at 1.
  std::string Ground() const {
    const double tie = 1 + replay_.manifest.delta;
    std::string html = R"(<svg class="shapes" aria-hidden="true"><defs><g id="ground">)";
    html += fmt::format("<rect class=\"zone\" x=\"{}\" width=\"{}\" height=\"100%\"/>",
                        SvgLength(axis_.At(1 / tie)), SvgLength(axis_.At(tie) - axis_.At(1 / tie)));
    for (const double tick : TicksOf(axis_)) {
      html +=
          fmt::format("<line class=\"tick\" x1=\"{0}\" x2=\"{0}\" y2=\"100%\"/>", SvgLength(axis_.At(tick)));
    }
    html += fmt::format("<line class=\"one\" x1=\"{0}\" x2=\"{0}\" y2=\"100%\"/>", SvgLength(axis_.At(1)));
    return html + "</g></defs></svg>\n";
  }

  std::string AxisRow() const {
    std::string html = "<div class=\"rows axis\"><svg aria-hidden=\"true\">";
    for (const double tick : TicksOf(axis_)) {
      html += fmt::format("<text x=\"{}\" y=\"1.1em\">{}×</text>", SvgLength(axis_.At(tick)), TickText(tick));
    }
    return html + "</svg><span class=\"ratio\">← slower | faster →</span></div>\n";
  }

  std::string Mark(const Line& line, double y) const {
    if (!Drawable(line.ratio.value)) return "";
    std::string svg = fmt::format("<g class=\"{}\">", line.css_class);
    if (HasInterval(line.ratio)) {
      svg +=
          fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", SvgLength(axis_.At(line.ratio.low)),
                      SvgLength(axis_.At(line.ratio.high)), SvgLength(y), SvgLength(y));
      if (line.ratio.low < axis_.low) svg += Use("less", 0, y);
      if (line.ratio.high > axis_.high) svg += Use("more", 1, y);
    }
    return svg + Use(line.css_class, axis_.At(line.ratio.value), y) + "</g>";
  }

  static std::string Use(std::string_view mark, double x, double y) {
    return fmt::format("<use href=\"#m-{}\" x=\"{}\" y=\"{}\"/>", mark, SvgLength(x), SvgLength(y));
  }

  std::string Draw(const Strip& strip) const {
    std::string marks, words, description;
    for (size_t i = 0; i < strip.lines.size(); ++i) {
      const Line& line = strip.lines[i];
      marks += Mark(line, (static_cast<double>(i) + 0.5) / static_cast<double>(strip.lines.size()));
      words += fmt::format(
          "<span class=\"who\"><b>{}</b> {}</span><span class=\"ratio\"><b class=\"{}\">{}</b> {}</span>\n",
          line.label, HtmlText(line.name), line.css_class, line.verdict, RatioText(line));
      description += fmt::format("{} {}: {}. ", line.label, line.css_class, RatioText(line));
    }
    return fmt::format(
        "<h3>{}</h3>\n<div class=\"rows\" style=\"--lines:{}\">\n<svg role=\"img\"><title>Speedups on "
        "{}</title><desc>{}</desc><use href=\"#ground\"/>{}</svg>\n{}</div>\n",
        strip.heading, strip.lines.size(), HtmlText(strip.title), description, marks, words);
  }

  const Replay& replay_;
  std::vector<Strip> strips_;
  LogAxis axis_;
};

}  // namespace

std::string ForestPlot(const Replay& replay) {
  if (replay.run.contrasts.empty()) {
    return "<p>Only one variant was measured, so there is no speedup to draw.</p>\n";
  }
  const Forest forest(replay);
  return forest.Empty() ? "<p>Nothing was timed, so there is no speedup to draw.</p>\n" : forest.Draw();
}

}  // namespace pagoda::judge

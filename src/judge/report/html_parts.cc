#include "judge/report/html_parts.h"

#include <fmt/format.h>

#include <array>

namespace pagoda::judge {
namespace {

std::string_view ClassOf(Ink ink) {
  switch (ink) {
    case Ink::kPlain:
      return "";
    case Ink::kBold:
      return "bold";
    case Ink::kGood:
      return "WIN";
    case Ink::kBad:
      return "LOSS";
    case Ink::kDoubt:
      return "INCONCLUSIVE";
    case Ink::kFaint:
      return "faint";
  }
  return "";
}

std::string CellHtml(const Cell& cell) {
  if (cell.code) return HtmlName(cell.text);
  const std::string_view css_class = ClassOf(cell.ink);
  if (css_class.empty() || cell.text.empty()) return HtmlText(cell.text);
  return fmt::format("<span class=\"{}\">{}</span>", css_class, HtmlText(cell.text));
}

struct Shape {
  std::string_view id, path;
};
constexpr std::array kVerdictShapes = {Shape{"WIN", "M0-6 6 5H-6z"},
                                       Shape{"LOSS", "M0 6 6-5H-6z"},
                                       Shape{"TIE", "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z"},
                                       Shape{"INCONCLUSIVE", "M0-6 6 0 0 6-6 0z"},
                                       Shape{"INVALID", "M-5-5 5 5M5-5-5 5"},
                                       Shape{"MIXED", "M-5-5H5V5H-5z"},
                                       Shape{"null", "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z"},
                                       Shape{"less", "M4-5-3 0 4 5"},
                                       Shape{"more", "M-4-5 3 0-4 5"}};
constexpr std::array<std::string_view, kVariantMarks> kVariantShapes = {"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
                                                                        "M0-5 5 4H-5z",
                                                                        "M-4-4H4V4H-4z",
                                                                        "M0-5.5 5.5 0 0 5.5-5.5 0z",
                                                                        "M0 5 5-4H-5z",
                                                                        "M-4-4 4 4M4-4-4 4",
                                                                        "M0-5V5M-5 0H5",
                                                                        "M-4 0a4 4 0 1 0 8 0z"};

}  // namespace

std::string HtmlName(std::string_view name) {
  return name.empty() ? "" : fmt::format("<code>{}</code>", HtmlText(name));
}

std::string HtmlScrolling(std::string_view label, size_t rows, std::string_view html) {
  return fmt::format("<div class=\"scroll{}\" role=\"region\" aria-label=\"{}\" tabindex=\"0\">\n{}</div>\n",
                     rows > kManyRows ? " tall" : "", HtmlText(label), html);
}

std::string HtmlTable(const Table& table, std::string_view label) {
  std::string html = "<table>\n<thead><tr>";
  for (const Column& column : table.columns) {
    html += fmt::format("<th scope=\"col\"{}>{}</th>", column.right ? " class=\"right\"" : "",
                        HtmlText(column.title));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (size_t c = 0; c < table.columns.size(); ++c) {
      html += fmt::format("<td{}>{}</td>", table.columns[c].right ? " class=\"right\"" : "",
                          c < row.size() ? CellHtml(row[c]) : "");
    }
    html += "</tr>\n";
  }
  return HtmlScrolling(label, table.rows.size(), html + "</tbody>\n</table>\n");
}

std::string SvgLength(double share) { return fmt::format("{:.2f}%", 100 * share); }

std::string SvgShapes() {
  std::string html = "<svg class=\"shapes\" aria-hidden=\"true\"><defs>";
  for (const Shape& shape : kVerdictShapes) {
    html += fmt::format("<path id=\"m-{}\" d=\"{}\"/>", shape.id, shape.path);
  }
  for (size_t i = 0; i < kVariantMarks; ++i) {
    html += fmt::format("<path id=\"{}\" d=\"{}\"/>", VariantMarkId(i), kVariantShapes[i]);
  }
  return html + "</defs></svg>\n";
}

std::string MarkId(Verdict verdict) { return fmt::format("m-{}", NameOf(verdict)); }

std::string VariantMarkId(size_t place) { return fmt::format("v{}", place % kVariantMarks); }

std::string HtmlMark(std::string_view mark_id, std::string_view css_class) {
  return fmt::format(
      "<svg class=\"mark {}\" aria-hidden=\"true\"><use href=\"#{}\" x=\"50%\" y=\"50%\"/></svg>", css_class,
      mark_id);
}

std::string HtmlLegend(const std::vector<std::string>& items) {
  std::string html = "<ul class=\"legend\">\n";
  for (const std::string& item : items) html += "<li>" + item + "</li>\n";
  return html + "</ul>\n";
}

std::vector<std::string> VariantLegend(const Manifest& manifest) {
  std::vector<std::string> items;
  const std::vector<std::string> variants = VariantsByLabel(manifest);
  items.reserve(variants.size());
  for (size_t i = 0; i < variants.size(); ++i) {
    items.push_back(fmt::format("{} <b>{}</b> {}", HtmlMark(VariantMarkId(i), VariantMarkId(i)),
                                LabelOf(manifest, variants[i]), HtmlName(variants[i])));
  }
  return items;
}

}  // namespace pagoda::judge

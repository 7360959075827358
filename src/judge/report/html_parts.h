// Pieces that the sections of report.html share. All of them return HTML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "judge/report/replay.h"
#include "judge/report/text.h"

namespace pagoda::judge {

// A name in a fixed-width font, which may break anywhere.
std::string HtmlName(std::string_view name);

// A box that scrolls by itself when its content is wider than the screen, and downwards too when it has more
// than kManyRows rows. `label` is what a screen reader calls it.
inline constexpr size_t kManyRows = 60;  // fill a few screens
std::string HtmlScrolling(std::string_view label, size_t rows, std::string_view html);

// A table in such a box.
std::string HtmlTable(const Table& table, std::string_view label);

// A share of a picture's width or height, as an SVG length. Across, pictures are drawn in percent, so that
// they fit every screen and their text keeps its size.
std::string SvgLength(double share);

// The shapes of all marks, once a page. A mark is put in a picture by its number.
std::string SvgShapes();
// "m-WIN" and so on: a verdict's mark, told apart by shape and colour.
std::string MarkId(Verdict verdict);
// The mark of the variant at this place in VariantsByLabel; there are kVariantMarks different ones.
inline constexpr size_t kVariantMarks = 8;
std::string VariantMarkId(size_t place);

// A mark within text.
std::string HtmlMark(std::string_view mark_id, std::string_view css_class);

// Items of a legend, one beside the other.
std::string HtmlLegend(const std::vector<std::string>& items);
// Every variant's mark, label and name.
std::vector<std::string> VariantLegend(const Manifest& manifest);

}  // namespace pagoda::judge

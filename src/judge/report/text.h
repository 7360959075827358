// Plain-text building blocks of the printers: names made safe, columns, wrapped sentences, ink.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pagoda::judge {

enum class Ink { kPlain, kBold, kGood, kBad, kDoubt, kFaint };

// `text` between the terminal's escape sequences for `ink`; unchanged without colour.
std::string Inked(std::string_view text, Ink ink, bool colour);

// Characters that a terminal shows for UTF-8 text without escape sequences, one column each.
size_t DisplayWidth(std::string_view text);

// Text on one line and without control characters (C0, DEL and C1): each becomes a space. Names and reasons
// come from files, and a terminal must not obey them.
std::string OneLine(std::string_view text);

// Words broken into lines of at most `width` columns; the first line starts with `first`, the others with
// `rest`. What stands in square brackets isn't broken; a word longer than a line stands alone. Ends with a
// newline.
std::string Wrapped(std::string_view text, size_t width, std::string_view first, std::string_view rest);

struct Cell {
  std::string text;
  Ink ink = Ink::kPlain;
  bool code = false;  // a name: Markdown sets it in backticks
};

struct Column {
  std::string title;
  bool right = false;  // numbers align right
};

// Rows may be shorter than the columns; the rest is blank. A row whose only cell is the first may run over
// the columns to its right: it is a heading.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};
};

// Columns two spaces apart, no trailing spaces, titles faint when in colour. Cells go through OneLine.
std::string PlainTable(const Table& table, std::string_view indent, bool colour);

// A pipe table; ink is ignored, headings become bold first cells.
std::string MarkdownTable(const Table& table);

// Text that Markdown shows as it is: what would start emphasis, code, HTML, a link or a table cell is
// escaped.
std::string MarkdownLiteral(std::string_view text);

// Text inside an HTML element or a quoted attribute, on one line. The only way from a record into HTML.
std::string HtmlText(std::string_view text);

// Text in backticks, with as many as it takes; safe inside a table.
std::string MarkdownCode(std::string_view text);

}  // namespace pagoda::judge

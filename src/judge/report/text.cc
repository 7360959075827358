#include "judge/report/text.h"

#include <algorithm>
#include <cctype>

namespace pagoda::judge {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kReset = "\x1b[0m";

std::string_view EscapeSequence(Ink ink) {
  switch (ink) {
    case Ink::kPlain:
      return "";
    case Ink::kBold:
      return "\x1b[1m";
    case Ink::kGood:
      return "\x1b[32m";
    case Ink::kBad:
      return "\x1b[31m";
    case Ink::kDoubt:
      return "\x1b[33m";
    case Ink::kFaint:
      return "\x1b[2m";
  }
  return "";
}

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// U+0080 to U+009F: some terminals obey them like escape sequences.
bool IsC1(std::string_view text, size_t at) {
  return text[at] == '\xc2' && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0x80 &&
         static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
}

bool NeedsEscape(std::string_view text, size_t at) {
  switch (text[at]) {
    case '|':
    case '*':
    case '<':
    case '>':
    case '~':
    case '\\':
      return true;
    case '_':  // inside a word it is literal
      return at == 0 || at + 1 == text.size() || !IsWordCharacter(text[at - 1]) ||
             !IsWordCharacter(text[at + 1]);
    case ']':
      return at + 1 < text.size() && text[at + 1] == '(';
    default:
      return false;
  }
}

bool IsHeading(const std::vector<Cell>& row) { return row.size() == 1; }

std::vector<size_t> WidthsOf(const Table& table) {
  std::vector<size_t> widths;
  widths.reserve(table.columns.size());
  for (const Column& column : table.columns) widths.push_back(DisplayWidth(column.title));
  for (const auto& row : table.rows) {
    if (IsHeading(row)) continue;
    for (size_t c = 0; c < std::min(row.size(), widths.size()); ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(OneLine(row[c].text)));
    }
  }
  return widths;
}

std::string PlainRow(const std::vector<Cell>& row, const Table& table, const std::vector<size_t>& widths,
                     std::string_view indent, bool colour) {
  std::string line(indent);
  size_t owed = 0;  // blanks that are only written if something follows
  for (size_t c = 0; c < std::min(row.size(), widths.size()); ++c) {
    const std::string safe = OneLine(row[c].text);
    const size_t width = DisplayWidth(safe);
    const size_t padding = widths[c] - std::min(widths[c], width);
    if (c > 0) owed += kGap.size();
    if (table.columns[c].right) owed += padding;
    if (!safe.empty()) {
      line.append(owed, ' ').append(Inked(safe, row[c].ink, colour));
      owed = 0;
    }
    if (!table.columns[c].right) owed += padding;
  }
  return line + '\n';
}

// The first space that isn't inside square brackets.
size_t EndOfWord(std::string_view text) {
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = text.find(']', i) != std::string_view::npos;
    if (text[i] == ']') inside = false;
    if (text[i] == ' ' && !inside) return i;
  }
  return text.size();
}

std::string MarkdownCell(const Cell& cell) {
  if (cell.text.empty()) return "";
  return cell.code ? MarkdownCode(cell.text) : MarkdownLiteral(cell.text);
}

}  // namespace

std::string Inked(std::string_view text, Ink ink, bool colour) {
  if (!colour || ink == Ink::kPlain || text.empty()) return std::string(text);
  return std::string(EscapeSequence(ink)).append(text).append(kReset);
}

size_t DisplayWidth(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string OneLine(std::string_view text) {
  std::string line;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsC1(text, i)) {
      line += ' ';
      ++i;
    } else {
      line += IsControl(text[i]) ? ' ' : text[i];
    }
  }
  return line;
}

std::string Wrapped(std::string_view unsafe, size_t width, std::string_view first, std::string_view rest) {
  const std::string safe = OneLine(unsafe);
  std::string_view text = safe;
  std::string lines(first);
  size_t used = DisplayWidth(first);
  bool line_has_word = false;
  while (!text.empty()) {
    const size_t end = EndOfWord(text);
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const size_t needed = DisplayWidth(word) + (line_has_word ? 1 : 0);
    if (line_has_word && used + needed > width) {
      lines.append("\n").append(rest);
      used = DisplayWidth(rest);
      line_has_word = false;
    }
    if (line_has_word) lines += ' ';
    lines += word;
    used += DisplayWidth(word) + (line_has_word ? 1 : 0);
    line_has_word = true;
  }
  return lines + '\n';
}

std::string PlainTable(const Table& table, std::string_view indent, bool colour) {
  const std::vector<size_t> widths = WidthsOf(table);
  std::vector<Cell> titles;
  titles.reserve(table.columns.size());
  for (const Column& column : table.columns) titles.push_back({column.title, Ink::kFaint});
  std::string text = PlainRow(titles, table, widths, indent, colour);
  for (const auto& row : table.rows) text += PlainRow(row, table, widths, indent, colour);
  return text;
}

std::string MarkdownTable(const Table& table) {
  std::string text = "|";
  for (const Column& column : table.columns) text += ' ' + MarkdownLiteral(column.title) + " |";
  text += "\n|";
  for (const Column& column : table.columns) text += column.right ? "---:|" : "---|";
  text += '\n';
  for (const auto& row : table.rows) {
    text += '|';
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const std::string cell = c < row.size() ? MarkdownCell(row[c]) : "";
      const bool heading = IsHeading(row) && c == 0 && table.columns.size() > 1;
      text += cell.empty() ? " |" : heading ? " **" + cell + "** |" : ' ' + cell + " |";
    }
    text += '\n';
  }
  return text;
}

std::string MarkdownLiteral(std::string_view text) {
  const std::string safe = OneLine(text);
  std::string escaped;
  for (size_t i = 0; i < safe.size(); ++i) {
    if (NeedsEscape(safe, i)) escaped += '\\';
    escaped += safe[i];
  }
  return escaped;
}

std::string HtmlText(std::string_view text) {
  std::string escaped;
  for (const char c : OneLine(text)) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string MarkdownCode(std::string_view text) {
  size_t longest = 0, run = 0;
  std::string body;
  for (const char c : OneLine(text)) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    if (c == '|') body += '\\';
    body += c;
  }
  const std::string fence(longest + 1, '`');
  const std::string_view pad = longest > 0 ? " " : "";
  return fence + std::string(pad) + body + std::string(pad) + fence;
}

}  // namespace pagoda::judge

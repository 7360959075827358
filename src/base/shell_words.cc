#include "base/shell_words.h"

#include <fmt/format.h>

#include <cstddef>

#include "pagoda/status.h"

namespace pagoda {
namespace {

constexpr std::string_view kWhite = " \t\r\n";
constexpr std::string_view kEscapedInQuotes = "\\\"$`";

constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,+@%-";

bool IsOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

// Including U+0080 to U+009F, which some terminals obey: in UTF-8 c2 80 to c2 9f.
bool IsControl(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  return byte(at) < 0x20 || byte(at) == 0x7f ||
         (byte(at) == 0xc2 && byte(at + 1) >= 0x80 && byte(at + 1) < 0xa0);
}

std::string Escaped(std::string_view word) {
  std::string text = "$'";
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\n') {
      text += "\\n";
    } else if (word[i] == '\t') {
      text += "\\t";
    } else if (IsControl(word, i)) {
      text += fmt::format("\\{:03o}", static_cast<unsigned char>(word[i]));
    } else {
      if (IsOneOf(word[i], "'\\")) text += '\\';
      text += word[i];
    }
  }
  return text + '\'';
}

}  // namespace

std::vector<std::string> SplitWords(std::string_view text, std::string_view field) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && IsOneOf(c, kWhite)) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c != '\\' || quote == '\'') {
      words.back() += c;
    } else if (i + 1 == text.size()) {
      throw Error(ErrorCode::kInvalidArgument, field, "ends with a backslash; leave it away or double it");
    } else {
      const char next = text[++i];
      if (quote == '"' && !IsOneOf(next, kEscapedInQuotes)) words.back() += c;
      words.back() += next;
    }
  }
  if (quote != '\0') {
    throw Error(ErrorCode::kInvalidArgument, field, fmt::format("has a {} that is not closed", quote));
  }
  return words;
}

std::string QuotedWord(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  for (size_t i = 0; i < word.size(); ++i) {
    if (IsControl(word, i)) return Escaped(word);
  }
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + '\'';
}

}  // namespace pagoda

#include "base/shell_words.h"

#include <fmt/format.h>

#include <cstddef>

#include "pagoda/status.h"

namespace pagoda {
namespace {

constexpr std::string_view kWhite = " \t\r\n";
constexpr std::string_view kEscapedInQuotes = "\\\"$`";

bool IsOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

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

}  // namespace pagoda

#include "base/suggest.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace pagoda {
namespace {

// Names longer than this are not typed by hand; comparing them would cost the square of their length.
constexpr size_t kLongestName = 256;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace

int EditDistance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<int> before_last(width), last(width), row(width);
  for (size_t j = 0; j < width; ++j) last[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substitution, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> Suggest(std::string_view wrong, std::span<const std::string> known) {
  if (wrong.empty() || wrong.size() > kLongestName) return std::nullopt;
  const std::string typed = Lower(wrong);
  const std::string* best = nullptr;
  int best_distance = 0;
  for (const std::string& name : known) {
    if (name.size() > kLongestName) continue;
    const std::string candidate = Lower(name);
    // What was typed may be the beginning of a long name.
    const bool begins = typed.size() >= 3 && candidate.starts_with(typed);
    const int distance = begins ? 1 : EditDistance(typed, candidate);
    const int allowed = std::max(1, static_cast<int>(std::min(typed.size(), candidate.size())) / 3);
    if (distance > allowed || (best != nullptr && distance >= best_distance)) continue;
    best = &name;
    best_distance = distance;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string DidYouMean(std::string_view wrong, std::span<const std::string> known) {
  const auto name = Suggest(wrong, known);
  return name ? "; did you mean \"" + *name + "\"?" : std::string();
}

}  // namespace pagoda

// "Did you mean": the known name closest to a wrong one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pagoda {

// Insertions, deletions, substitutions and swaps of neighbours that turn a into b (optimal string alignment).
int EditDistance(std::string_view a, std::string_view b);

// The closest of `known`, the first among equals; nothing when even that one is too far to be a slip. Ignores
// case.
std::optional<std::string> Suggest(std::string_view wrong, std::span<const std::string> known);

// "; did you mean \"causal\"?", or empty.
std::string DidYouMean(std::string_view wrong, std::span<const std::string> known);

}  // namespace pagoda

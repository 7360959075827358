// A command line as words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pagoda {

// Splits as a POSIX shell does: white space separates, '...' and "..." keep together, a backslash takes the
// next character as it is ("\$" and the like inside "..."). Nothing is expanded. Throws Error (`field`) where
// a quote is not closed or a backslash ends the text.
std::vector<std::string> SplitWords(std::string_view text, std::string_view field);

}  // namespace pagoda

// A command line as words, and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pagoda {

// Splits as a POSIX shell does: white space separates, '...' and "..." keep together, a backslash takes the
// next character as it is ("\$" and the like inside "..."). Nothing is expanded. Throws Error (`field`) where
// a quote is not closed or a backslash ends the text.
std::vector<std::string> SplitWords(std::string_view text, std::string_view field);

// The word as a shell reads it back, on one line: plain where that is possible, else '...', and with control
// characters $'...', which bash, zsh and ksh know.
std::string QuotedWord(std::string_view word);

}  // namespace pagoda

// Text from a file, made fit for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pagoda::io {

// The first `most` bytes, with "..." when that is not all, and control characters as '?': a file can't fill a
// terminal or send it commands through an error message.
inline std::string Shown(std::string_view text, size_t most = 80) {
  std::string shown(text.substr(0, most));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text.size() > most ? shown + "..." : shown;
}

}  // namespace pagoda::io

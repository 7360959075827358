// The kernel's small text files (/proc, /sys), any of which a machine may lack.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace pagoda::sys {

// The text without trailing white space; nothing when it can't be read.
std::optional<std::string> ReadSmallFile(const std::filesystem::path& path);
// The integer that the file begins with.
std::optional<int64_t> ReadIntFile(const std::filesystem::path& path);

}  // namespace pagoda::sys

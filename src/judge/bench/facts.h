// What a run ran on, for the manifest.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/record/record.h"

namespace pagoda::judge {

// The machine and this build. `binaries` are the program and the libraries that it measures: their contents
// give binary_hash.
EnvironmentFacts ReadEnvironmentFacts(const std::vector<std::filesystem::path>& binaries);

// 16 hexadecimal digits over the contents of the files, in this order. Throws Error (kIo) naming a file.
std::string HashOfFiles(const std::vector<std::filesystem::path>& files);

// "2026-03-01T12:34:56Z" for now, and the same as a part of a file name: "2026-03-01-123456".
std::string UtcTime();
std::string UtcTimeForFileName();

// The arguments as one line that a shell reads back as they are.
std::string CommandLine(const std::vector<std::string>& argv);

}  // namespace pagoda::judge

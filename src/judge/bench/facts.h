// What a run ran on, for the manifest.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/record/record.h"

namespace pagoda::judge {

// The machine and this build, with one hash of all its code.
EnvironmentFacts ReadEnvironmentFacts(const std::vector<CodeFile>& code);

// 16 hexadecimal digits over its contents. Throws Error (kIo) naming the file.
std::string HashOfFile(const std::filesystem::path& file);

// "2026-03-01T12:34:56Z" for now, and the same as a part of a file name: "2026-03-01-123456".
std::string UtcTime();
std::string UtcTimeForFileName();

// The arguments as one line that a shell reads back as they are.
std::string CommandLine(const std::vector<std::string>& argv);

}  // namespace pagoda::judge

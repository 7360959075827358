// Whole files in and out.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/sys/file.h"

namespace pagoda::io {

// A file's bytes, mapped read-only, with its path for messages.
class MappedFile {
 public:
  // Throws Error, see sys::FileMap.
  explicit MappedFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return map_.bytes(); }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes().data()), bytes().size()}; }

 private:
  std::filesystem::path path_;
  sys::FileMap map_;
};

// The file's text. Throws Error when it is longer than `max_bytes`.
std::string ReadTextFile(const std::filesystem::path& path, size_t max_bytes = size_t{64} << 20);

// Replaces the file in one step: a reader, or a crash, sees the old text or the new one. Throws Error (kIo).
void WriteFileAtomically(const std::filesystem::path& path, std::string_view contents);

}  // namespace pagoda::io

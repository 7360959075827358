// Files: a read-only map, and an output file that appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace pagoda::sys {

// The bytes of a regular file, mapped. Whoever cuts the file short meanwhile makes reads of the lost part
// fault: replace files, don't truncate them.
class FileMap {
 public:
  FileMap() = default;
  // Throws Error with the path as its field: kInvalidArgument where no regular file is there, otherwise kIo.
  explicit FileMap(const std::filesystem::path& path);
  FileMap(FileMap&& other) noexcept;
  FileMap& operator=(FileMap&& other) noexcept;
  ~FileMap();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// What tells a file from one that takes its place or from itself with other contents, without reading it.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  int64_t size = 0;
  int64_t changed_ns = 0;  // of contents or place, which nobody can set back as they can the time of writing
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
// Of what a link points to. Throws Error (kIo, the path as its field).
FileIdentity IdentityOf(const std::filesystem::path& path);

// Bytes written go to a temporary file in the same folder; Commit syncs it and renames it over `path`.
// Without Commit nothing is left. A `path` that exists and is a device or a pipe (/dev/stdout, /dev/null) is
// written directly; a link is followed. All throw Error (kIo, the path as its field) with the system's
// reason; a directory is kInvalidArgument.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void Write(std::span<const std::byte> bytes);
  void Commit();

 private:
  [[noreturn]] void Fail(const char* step);

  std::filesystem::path path_;    // as asked for, for messages
  std::filesystem::path target_;  // links followed
  std::string temporary_;         // empty when written directly
  int fd_ = -1;
};

// Appends to a file, creating it: each Append is one write of the whole text, so that lines of two writers do
// not mix. Sync waits until the disk has them.
class AppendFile {
 public:
  explicit AppendFile(std::filesystem::path path);
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  void Append(std::string_view text);
  void Sync();

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace pagoda::sys

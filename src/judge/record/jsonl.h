// Records on disk: an append-only JSON Lines file, and the manifest as one JSON object.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "judge/record/record.h"

namespace pagoda::judge {

// Appends records to a file, one line each, on disk (fsync) before Append returns. One writer per file at a
// time.
class RecordWriter {
 public:
  // Creates the file or goes on with it. A last line that a kill cut short is removed first, so that the next
  // record starts a line of its own. Throws Error(path).
  explicit RecordWriter(const std::filesystem::path& path);
  ~RecordWriter();
  RecordWriter(RecordWriter&&) noexcept;
  RecordWriter& operator=(RecordWriter&&) noexcept;

  // Throws Error(path) when the line can't be written whole, a full disk for one; the file then holds exactly
  // the records before it. Throws Error(field) when the record holds what the reader would refuse.
  void Append(const LaunchRecord& record);
  void Append(const GateRecord& record);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads what RecordWriter wrote. A last line without its newline is ignored and counted in torn_lines; any
// other line that can't be used is an Error whose field is "FILE:LINE: name". A record of a newer schema is
// refused.
Records ReadRecords(const std::filesystem::path& path);

// Both directions of one line or file, for callers that hold the text. `where` leads the field of an Error.
std::string ToJsonLine(const LaunchRecord& record);  // no newline
std::string ToJsonLine(const GateRecord& record);
Records ParseRecords(std::string_view text, std::string_view where);
std::string ToJson(const Manifest& manifest);
Manifest ParseManifest(std::string_view text, std::string_view where);

// Writes the manifest beside its place and renames it, so that a reader sees all of it or nothing. Throws
// Error(path).
void WriteManifest(const std::filesystem::path& path, const Manifest& manifest);
Manifest ReadManifest(const std::filesystem::path& path);

}  // namespace pagoda::judge

#include "base/io/mapped_file.h"

#include <fmt/format.h>

#include <utility>

#include "pagoda/status.h"

namespace pagoda::io {

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)), map_(path_) {}

std::string ReadTextFile(const std::filesystem::path& path, size_t max_bytes) {
  const MappedFile file(path);
  if (file.bytes().size() > max_bytes) {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                fmt::format("has {} bytes; at most {} are read", file.bytes().size(), max_bytes));
  }
  return std::string(file.text());
}

void WriteFileAtomically(const std::filesystem::path& path, std::string_view contents) {
  sys::OutputFile file(path);
  file.Write(std::as_bytes(std::span(contents)));
  file.Commit();
}

}  // namespace pagoda::io

#include "base/sys/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace pagoda::sys {

std::optional<std::string> ReadSmallFile(const std::filesystem::path& path) {
  // Files in /proc report a size of 0: read until the end, up to what none of them exceeds.
  constexpr size_t kMost = size_t{1} << 22;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::string text;
  char block[8192];
  ssize_t n = 0;
  while (text.size() < kMost && ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))) {
    if (n > 0) text.append(block, static_cast<size_t>(n));
  }
  close(fd);
  if (n < 0) return std::nullopt;
  const size_t last = text.find_last_not_of(" \t\r\n");
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

std::optional<int64_t> ReadIntFile(const std::filesystem::path& path) {
  const auto text = ReadSmallFile(path);
  int64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace pagoda::sys

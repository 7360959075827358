#include "base/sys/machine_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "base/sys/clock.h"
#include "pagoda/status.h"

namespace pagoda::sys {

std::filesystem::path MachineLock::DefaultPath() {
  const char* path = std::getenv("PAGODA_LOCK");
  if (path != nullptr && *path != '\0') return path;
  return std::filesystem::temp_directory_path() / "pagoda-machine.lock";
}

MachineLock::MachineLock(std::filesystem::path path) : path_(std::move(path)) {
  // In a folder where anyone may write, a link could lead anywhere, and creating over another user's file is
  // refused by the kernel: first open what is there.
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  fd_ = open(path_.c_str(), kFlags);
  if (fd_ < 0 && errno == ENOENT) {
    fd_ = open(path_.c_str(), kFlags | O_CREAT, 0666);
    if (fd_ >= 0) fchmod(fd_, 0666);  // other users take turns too, whatever the umask
  }
  if (fd_ < 0) {
    throw Error(ErrorCode::kIo, path_.string(),
                fmt::format("can't be opened as the machine's lock: {}; name another file in PAGODA_LOCK",
                            std::strerror(errno)));
  }
}

MachineLock::~MachineLock() { close(fd_); }

bool MachineLock::TryLock(std::string_view purpose) {
  while (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return false;
    throw Error(ErrorCode::kIo, path_.string(), fmt::format("can't be locked: {}", std::strerror(errno)));
  }
  const std::string holder = fmt::format("pid {} ({})\n", getpid(), purpose);
  if (ftruncate(fd_, 0) != 0 || pwrite(fd_, holder.data(), holder.size(), 0) < 0) {
    // The lock holds all the same; only its name tag is missing.
    return true;
  }
  return true;
}

bool MachineLock::LockWithin(double wait_s, std::string_view purpose,
                             const std::function<bool()>& cancelled) {
  const int64_t give_up = NowNs() + static_cast<int64_t>(wait_s * 1e9);
  while (!TryLock(purpose)) {
    if (NowNs() >= give_up || (cancelled && cancelled())) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

std::string MachineLock::Holder() const {
  char text[256];
  const ssize_t n = pread(fd_, text, sizeof text, 0);
  std::string_view holder(text, n > 0 ? static_cast<size_t>(n) : 0);
  holder = holder.substr(0, holder.find('\n'));
  if (!holder.starts_with("pid ")) return "another process";
  std::string shown(holder);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return shown;
}

}  // namespace pagoda::sys

#include "base/sys/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "pagoda/status.h"

namespace pagoda::sys {
namespace {

[[noreturn]] void ThrowNoRoom(size_t bytes, const char* why) {
  throw Error(ErrorCode::kInvalidArgument, "shared memory",
              fmt::format("of {} bytes can't be had ({}); free memory", bytes, why));
}

}  // namespace

SharedMemory::SharedMemory(size_t bytes) : size_(std::max<size_t>(bytes, 1)) {
  if (size_ > static_cast<size_t>(std::numeric_limits<off_t>::max())) ThrowNoRoom(bytes, "too much");
  fd_ = memfd_create("pagoda", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void* map = MAP_FAILED;
  if (fd_ >= 0 && ftruncate(fd_, static_cast<off_t>(size_)) == 0) {
    fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    map = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  }
  if (map == MAP_FAILED) {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    ThrowNoRoom(bytes, std::strerror(error));
  }
  data_ = static_cast<std::byte*>(map);
  madvise(map, size_, MADV_HUGEPAGE);  // given where the system allows that for shared memory
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ == nullptr) return;
  munmap(data_, size_);
  close(fd_);
}

std::string SharedMemory::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), fd_); }

}  // namespace pagoda::sys

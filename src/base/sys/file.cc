#include "base/sys/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "pagoda/status.h"

namespace pagoda::sys {
namespace {

[[noreturn]] void ThrowIo(const std::filesystem::path& path, std::string_view what, int error) {
  std::string_view mend;
  if (error == ENOSPC || error == EDQUOT) mend = "; free some space or choose another place";
  if (error == EFBIG) mend = "; raise the limit (ulimit -f) or choose another file system";
  if (error == ENOENT) mend = "; check the path";
  throw Error(ErrorCode::kIo, path.string(), fmt::format("{}: {}{}", what, std::strerror(error), mend));
}

// Whether all of it was written; errno says why not.
bool WriteAll(int fd, const std::byte* data, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) {
      errno = ENOSPC;
      return false;
    }
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

FileIdentity IdentityOf(const std::filesystem::path& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) ThrowIo(path, "can't be looked at", errno);
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .changed_ns = status.st_ctim.tv_sec * kNsPerSecond + status.st_ctim.tv_nsec};
}

FileMap::FileMap(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    throw Error(ErrorCode::kInvalidArgument, path.string(), "does not exist; check the path");
  }
  if (file.get() < 0) ThrowIo(path, "can't be opened", errno);
  struct stat info{};
  if (fstat(file.get(), &info) != 0) ThrowIo(path, "can't be examined", errno);
  if (!S_ISREG(info.st_mode)) {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                S_ISDIR(info.st_mode) ? "is a directory; name a file in it" : "is not a regular file");
  }
  size_ = static_cast<size_t>(info.st_size);
  if (size_ == 0) return;
  void* map = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (map == MAP_FAILED) ThrowIo(path, "can't be mapped", errno);
  data_ = static_cast<const std::byte*>(map);
}

FileMap::FileMap(FileMap&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

FileMap& FileMap::operator=(FileMap&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

FileMap::~FileMap() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)), target_(path_) {
  struct stat info{};
  if (stat(path_.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      throw Error(ErrorCode::kInvalidArgument, path_.string(), "is a directory; name a file in it");
    }
    if (!S_ISREG(info.st_mode)) {
      fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      if (fd_ < 0) ThrowIo(path_, "can't be opened for writing", errno);
      return;
    }
    std::error_code ignored;
    const std::filesystem::path real = std::filesystem::canonical(path_, ignored);
    if (!real.empty()) target_ = real;
  }
  temporary_ = target_.parent_path() / fmt::format(".{}.XXXXXX", target_.filename().string());
  fd_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) {
    const int error = errno;
    temporary_.clear();
    ThrowIo(path_, "can't be created", error);
  }
  // mkostemp made it private; a report is as public as the user's other files.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(fd_, 0666 & ~mask);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::Fail(const char* step) {
  const int error = errno;
  ThrowIo(path_, fmt::format("can't be {}", step), error);
}

void OutputFile::Write(std::span<const std::byte> bytes) {
  if (fd_ < 0) throw Error(ErrorCode::kInternal, path_.string(), "was written to after it was committed");
  if (!WriteAll(fd_, bytes.data(), bytes.size())) Fail("written");
}

void OutputFile::Commit() {
  if (fd_ < 0) throw Error(ErrorCode::kInternal, path_.string(), "was committed twice");
  const bool direct = temporary_.empty();
  if (!direct && fsync(fd_) != 0) Fail("written to the disk");
  // Network file systems report a full disk only here.
  if (close(std::exchange(fd_, -1)) != 0) Fail("closed");
  if (direct) return;
  if (rename(temporary_.c_str(), target_.c_str()) != 0) Fail("put in place");
  temporary_.clear();
  const std::filesystem::path folder = target_.parent_path().empty() ? "." : target_.parent_path();
  const Descriptor parent(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) fsync(parent.get());
}

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ < 0) ThrowIo(path_, "can't be opened for appending", errno);
}

AppendFile::~AppendFile() { close(fd_); }

void AppendFile::Append(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  if (!WriteAll(fd_, bytes.data(), bytes.size())) ThrowIo(path_, "can't be written", errno);
}

void AppendFile::Sync() {
  if (fsync(fd_) != 0 && errno != EINVAL) ThrowIo(path_, "can't be written to the disk", errno);
}

}  // namespace pagoda::sys

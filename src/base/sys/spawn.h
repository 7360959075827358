// A child program with pipes to its standard streams.
#pragma once

#include <signal.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pagoda::sys {

// An owned file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { Close(); }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void Close();

 private:
  int fd_ = -1;
};

struct SpawnOptions {
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to this process's own
  bool own_group = false;  // a process group of its own, of which it is the first
};

// Not reaped: that, and its end, are the caller's business.
struct Spawned {
  int pid = -1;
  Fd in, out, err;  // this process's ends, non-blocking
};

// Starts argv[0], looked up in PATH, with all signals unblocked. The child dies with the thread that calls.
// Throws Error (kIo, argv[0] as its field) when the program can't be started, kInvalidArgument when argv is
// empty.
Spawned Spawn(const std::vector<std::string>& argv, const SpawnOptions& options = {});

// Writes what fits into `fd`, and moves `text` on by that; closes it when the reader has gone.
void WriteSome(Fd& fd, std::string_view& text);

// Whether the child has ended; it stays to be reaped.
bool HasEnded(int pid);
// Waits for its end and returns its status, as waitpid does.
int Reap(int pid);
// "ended with exit code 3" or, with a signal that isn't 0, "was killed by signal 11 (Segmentation fault)".
std::string DescribeEnd(int exit_code, int signal);

// Writing to a child that has gone must be an error, not the end of this process. A SIGPIPE that this thread
// caused meanwhile is taken back; the handlers of the host program are not touched.
class WithoutSigpipe {
 public:
  WithoutSigpipe();
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
  ~WithoutSigpipe();

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

}  // namespace pagoda::sys

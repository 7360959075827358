#include "base/sys/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/sys/clock.h"
#include "pagoda/status.h"

namespace pagoda::sys {
namespace {

// How often `cancelled` is asked and, where the kernel has no pidfd, the child's end noticed.
constexpr int kPollMs = 100;
constexpr int kPollWithoutPidfdMs = 5;

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
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

[[noreturn]] void ThrowStart(const ProcessSpec& spec, int error) {
  throw Error(ErrorCode::kIo, spec.argv.empty() ? "argv[0]" : spec.argv[0],
              fmt::format("can't be started: {}", std::strerror(error)));
}

struct Pipe {
  Fd read, write;
};

Pipe MakePipe(const ProcessSpec& spec) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ThrowStart(spec, errno);
  std::array<Fd, 2> safe{Fd(ends[0]), Fd(ends[1])};
  for (Fd& fd : safe) {
    if (fd.get() > STDERR_FILENO) continue;
    // With a standard stream closed in this process, the end took its number and would be lost in the dup2s.
    Fd moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!moved.open()) ThrowStart(spec, errno);
    fd = std::move(moved);
  }
  return {std::move(safe[0]), std::move(safe[1])};
}

// Writing to a child that has gone must be an error, not the end of this process. A SIGPIPE that this thread
// caused meanwhile is taken back; the handlers of the host program are not touched.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
  ~WithoutSigpipe() {
    if (!was_pending_) {
      const timespec now{};
      while (sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

std::vector<std::string> EnvironmentOf(const ProcessSpec& spec) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool replaced =
        std::any_of(spec.environment.begin(), spec.environment.end(), [&](const auto& added) {
          return text.starts_with(added.first) && text.substr(added.first.size()).starts_with('=');
        });
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : spec.environment) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

class Child {
 public:
  explicit Child(const ProcessSpec& spec)
      : spec_(spec), in_(MakePipe(spec)), out_(MakePipe(spec)), err_(MakePipe(spec)) {
    Start();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!reaped_) KillAndReap();
  }

  ProcessResult Finish();

 private:
  void Start();
  [[noreturn]] void Exec(pid_t parent, const Fd& failure, char* const* argv, char* const* envp) const;
  bool HasEnded() const;
  // Kills what is left of the group, of which the child is the first; until it is reaped nobody else can have
  // its number.
  void KillAndReap();
  void PollOnce(int timeout_ms);
  void Feed();
  // Reads what is there; closes the pipe at its end.
  void Drain(Fd& from, std::string& into, size_t most, bool is_stdout);

  const ProcessSpec& spec_;
  Pipe in_, out_, err_;
  Fd pidfd_;
  pid_t pid_ = -1;
  bool reaped_ = false;
  int status_ = 0;
  size_t fed_ = 0;
  int64_t last_output_ns_ = 0;
  ProcessResult result_;
};

// Between fork and exec: only calls that are safe in a signal handler, as other threads may hold any lock.
void Child::Exec(pid_t parent, const Fd& failure, char* const* argv, char* const* envp) const {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (dup2(in_.read.get(), STDIN_FILENO) >= 0 && dup2(out_.write.get(), STDOUT_FILENO) >= 0 &&
      dup2(err_.write.get(), STDERR_FILENO) >= 0) {
    execvpe(argv[0], argv, envp);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(failure.get(), &error, sizeof error);
  _exit(127);
}

void Child::Start() {
  Pipe failure = MakePipe(spec_);  // closed by a successful exec
  std::vector<std::string> arguments = spec_.argv, variables = EnvironmentOf(spec_);
  const std::vector<char*> argv = Pointers(arguments), envp = Pointers(variables);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) ThrowStart(spec_, errno);
  if (pid_ == 0) Exec(parent, failure.write, argv.data(), envp.data());
  setpgid(pid_, pid_);  // here too: whoever comes first
  in_.read.Close();
  out_.write.Close();
  err_.write.Close();
  failure.write.Close();
  int error = 0;
  ssize_t n = 0;
  do {
    n = read(failure.read.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n == sizeof error) {
    waitpid(pid_, nullptr, 0);
    ThrowStart(spec_, error);
  }
  for (const Fd* fd : {&in_.write, &out_.read, &err_.read}) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
#if defined(SYS_pidfd_open)
  pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
#endif
}

void Child::Feed() {
  while (in_.write.open() && fed_ < spec_.stdin_text.size()) {
    const ssize_t n = write(in_.write.get(), spec_.stdin_text.data() + fed_, spec_.stdin_text.size() - fed_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) {  // the child does not want the rest
      in_.write.Close();
      return;
    }
    fed_ += static_cast<size_t>(n);
  }
  in_.write.Close();
}

void Child::Drain(Fd& from, std::string& into, size_t most, bool is_stdout) {
  std::array<char, 65536> block;
  // A child that writes without end must not keep this from looking at the clock. More than a pipe holds.
  constexpr int kMostBlocks = 32;
  for (int i = 0; i < kMostBlocks && from.open(); ++i) {
    const ssize_t n = read(from.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      from.Close();
      return;
    }
    const std::string_view piece(block.data(), static_cast<size_t>(n));
    last_output_ns_ = NowNs();
    if (is_stdout && spec_.on_stdout) {
      spec_.on_stdout(piece);
      continue;
    }
    const size_t room = most - into.size();
    into.append(piece.substr(0, room));
    result_.truncated = result_.truncated || piece.size() > room;
  }
}

void Child::PollOnce(int timeout_ms) {
  std::vector<pollfd> waits;
  if (in_.write.open()) waits.push_back({in_.write.get(), POLLOUT, 0});
  if (out_.read.open()) waits.push_back({out_.read.get(), POLLIN, 0});
  if (err_.read.open()) waits.push_back({err_.read.get(), POLLIN, 0});
  if (pidfd_.open()) waits.push_back({pidfd_.get(), POLLIN, 0});
  if (!pidfd_.open()) timeout_ms = std::min(timeout_ms, kPollWithoutPidfdMs);
  poll(waits.data(), waits.size(), timeout_ms);
  Feed();
  Drain(out_.read, result_.out, spec_.max_stdout, true);
  Drain(err_.read, result_.err, spec_.max_stderr, false);
}

bool Child::HasEnded() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

void Child::KillAndReap() {
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
}

ProcessResult Child::Finish() {
  const WithoutSigpipe guard;
  const int64_t begin = NowNs();
  last_output_ns_ = begin;
  const auto since_s = [](int64_t then_ns) { return static_cast<double>(NowNs() - then_ns) * 1e-9; };
  while (!HasEnded()) {
    int wait_ms = kPollMs;
    if (spec_.timeout_s > 0) {
      const double left_s =
          spec_.timeout_s - since_s(spec_.output_restarts_timeout ? last_output_ns_ : begin);
      result_.timed_out = left_s <= 0;
      wait_ms = std::min(wait_ms, 1 + static_cast<int>(std::max(0.0, left_s) * 1000));
    }
    result_.cancelled = !result_.timed_out && spec_.cancelled && spec_.cancelled();
    if (result_.timed_out || result_.cancelled) break;
    PollOnce(wait_ms);
  }
  result_.wall_s = since_s(begin);
  KillAndReap();
  Drain(out_.read, result_.out, spec_.max_stdout, true);
  Drain(err_.read, result_.err, spec_.max_stderr, false);
  if (WIFEXITED(status_)) result_.exit_code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) result_.signal = WTERMSIG(status_);
  return std::move(result_);
}

}  // namespace

std::string ProcessResult::Describe() const {
  if (timed_out) return fmt::format("did not end within {:.3g} s and was killed", wall_s);
  if (cancelled) return "was stopped";
  if (signal != 0) return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  return fmt::format("ended with exit code {}", exit_code);
}

ProcessResult RunProcess(const ProcessSpec& spec) {
  if (spec.argv.empty()) throw Error(ErrorCode::kInvalidArgument, "argv", "is empty; it takes a program");
  Child child(spec);
  return child.Finish();
}

int OwnPid() { return getpid(); }

std::FILE* TakeStandardOutput() {
  std::fflush(stdout);
  const int mine = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  std::FILE* file = mine < 0 ? nullptr : fdopen(mine, "w");
  if (file == nullptr || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw Error(ErrorCode::kIo, "standard output", fmt::format("can't be taken: {}", std::strerror(errno)));
  }
  return file;
}

std::string OwnProgram() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error(ErrorCode::kIo, "/proc/self/exe", fmt::format("can't be read: {}", error.message()));
  return path.string();
}

}  // namespace pagoda::sys

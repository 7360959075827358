#include "base/sys/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/sys/clock.h"
#include "base/sys/spawn.h"
#include "pagoda/status.h"

namespace pagoda::sys {
namespace {

// How often `cancelled` is asked and, where the kernel has no pidfd, the child's end noticed.
constexpr int kPollMs = 100;
constexpr int kPollWithoutPidfdMs = 5;

class Child {
 public:
  explicit Child(const ProcessSpec& spec)
      : spec_(spec),
        child_(Spawn(spec.argv, {.environment = spec.environment, .own_group = true})),
        unfed_(spec.stdin_text) {
#if defined(SYS_pidfd_open)
    pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, child_.pid, 0)));
#endif
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!reaped_) KillAndReap();
  }

  ProcessResult Finish();

 private:
  // Kills what is left of the group, of which the child is the first; until it is reaped nobody else can have
  // its number.
  void KillAndReap();
  void PollOnce(int timeout_ms);
  void Feed();
  // Reads what is there; closes the pipe at its end.
  void Drain(Fd& from, std::string& into, size_t most, bool is_stdout);

  const ProcessSpec& spec_;
  Spawned child_;
  std::string_view unfed_;
  Fd pidfd_;
  bool reaped_ = false;
  int status_ = 0;
  int64_t last_output_ns_ = 0;
  ProcessResult result_;
};

void Child::Feed() {
  WriteSome(child_.in, unfed_);
  if (unfed_.empty()) child_.in.Close();
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
  if (child_.in.open()) waits.push_back({child_.in.get(), POLLOUT, 0});
  if (child_.out.open()) waits.push_back({child_.out.get(), POLLIN, 0});
  if (child_.err.open()) waits.push_back({child_.err.get(), POLLIN, 0});
  if (pidfd_.open()) waits.push_back({pidfd_.get(), POLLIN, 0});
  if (!pidfd_.open()) timeout_ms = std::min(timeout_ms, kPollWithoutPidfdMs);
  poll(waits.data(), waits.size(), timeout_ms);
  Feed();
  Drain(child_.out, result_.out, spec_.max_stdout, true);
  Drain(child_.err, result_.err, spec_.max_stderr, false);
}

void Child::KillAndReap() {
  kill(-child_.pid, SIGKILL);
  status_ = Reap(child_.pid);
  reaped_ = true;
}

ProcessResult Child::Finish() {
  const WithoutSigpipe guard;
  const int64_t begin = NowNs();
  last_output_ns_ = begin;
  const auto since_s = [](int64_t then_ns) { return static_cast<double>(NowNs() - then_ns) * 1e-9; };
  while (!HasEnded(child_.pid)) {
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
  Drain(child_.out, result_.out, spec_.max_stdout, true);
  Drain(child_.err, result_.err, spec_.max_stderr, false);
  if (WIFEXITED(status_)) result_.exit_code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) result_.signal = WTERMSIG(status_);
  return std::move(result_);
}

}  // namespace

std::string ProcessResult::Describe() const {
  if (timed_out) return fmt::format("did not end within {:.3g} s and was killed", wall_s);
  if (cancelled) return "was stopped";
  return DescribeEnd(exit_code, signal);
}

ProcessResult RunProcess(const ProcessSpec& spec) {
  Child child(spec);
  return child.Finish();
}

int OwnPid() { return getpid(); }

void ReserveStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // Takes the lowest free number, which is this one.
    const int wrong_way = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", wrong_way) < 0) return;
  }
}

void LetLargeWritesFail() { std::signal(SIGXFSZ, SIG_IGN); }

std::FILE* TakeStandardOutput() {
  std::fflush(stdout);
  const int mine = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  std::FILE* file = mine < 0 ? nullptr : fdopen(mine, "w");
  if (file == nullptr || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw Error(ErrorCode::kIo, "standard output", fmt::format("can't be taken: {}", std::strerror(errno)));
  }
  return file;
}

std::filesystem::path FindProgram(const std::string& word) {
  const auto runs = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
  };
  if (word.find('/') != std::string::npos) return std::filesystem::path(runs(word) ? word : "");
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto file = std::filesystem::path(folder.empty() ? "." : folder) / word;
    if (runs(file)) return file;
  }
  return {};
}

std::string OwnProgram() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error(ErrorCode::kIo, "/proc/self/exe", fmt::format("can't be read: {}", error.message()));
  return path.string();
}

}  // namespace pagoda::sys

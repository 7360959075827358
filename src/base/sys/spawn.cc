#include "base/sys/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "pagoda/status.h"

namespace pagoda::sys {
namespace {

[[noreturn]] void ThrowStart(const std::string& program, int error) {
  throw Error(ErrorCode::kIo, program, fmt::format("can't be started: {}", std::strerror(error)));
}

struct Pipe {
  Fd read, write;
};

Pipe MakePipe(const std::string& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ThrowStart(program, errno);
  std::array<Fd, 2> safe{Fd(ends[0]), Fd(ends[1])};
  for (Fd& fd : safe) {
    if (fd.get() > STDERR_FILENO) continue;
    // With a standard stream closed in this process, the end took its number and would be lost in the dup2s.
    Fd moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!moved.open()) ThrowStart(program, errno);
    fd = std::move(moved);
  }
  return {std::move(safe[0]), std::move(safe[1])};
}

std::vector<std::string> EnvironmentOf(const SpawnOptions& options) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool replaced =
        std::any_of(options.environment.begin(), options.environment.end(), [&](const auto& added) {
          return text.starts_with(added.first) && text.substr(added.first.size()).starts_with('=');
        });
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : options.environment) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What the child needs between fork and exec: only calls that are safe in a signal handler, as other threads
// may hold any lock.
struct ExecPlan {
  pid_t parent;
  bool own_group;
  int in, out, err;
  int failure;  // gets errno where exec fails
  char* const* argv;
  char* const* envp;

  [[noreturn]] void Run() const {
    if (own_group) setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGXFSZ, SIG_DFL);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0) {
      execvpe(argv[0], argv, envp);
    }
    const int error = errno;
    [[maybe_unused]] const ssize_t told = write(failure, &error, sizeof error);
    _exit(127);
  }
};

}  // namespace

void Fd::Close() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

Spawned Spawn(const std::vector<std::string>& argv, const SpawnOptions& options) {
  if (argv.empty()) throw Error(ErrorCode::kInvalidArgument, "argv", "is empty; it takes a program");
  const std::string& program = argv.front();
  Pipe in = MakePipe(program), out = MakePipe(program), err = MakePipe(program);
  Pipe failure = MakePipe(program);  // closed by a successful exec
  std::vector<std::string> arguments = argv, variables = EnvironmentOf(options);
  const std::vector<char*> arg_pointers = Pointers(arguments), env_pointers = Pointers(variables);
  const ExecPlan plan{getpid(),        options.own_group,   in.read.get(),       out.write.get(),
                      err.write.get(), failure.write.get(), arg_pointers.data(), env_pointers.data()};
  const pid_t pid = fork();
  if (pid < 0) ThrowStart(program, errno);
  if (pid == 0) plan.Run();
  if (options.own_group) setpgid(pid, pid);  // here too: whoever comes first
  in.read.Close();
  out.write.Close();
  err.write.Close();
  failure.write.Close();
  int error = 0;
  ssize_t n = 0;
  do {
    n = read(failure.read.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n == sizeof error) {
    waitpid(pid, nullptr, 0);
    ThrowStart(program, error);
  }
  for (const Fd* fd : {&in.write, &out.read, &err.read}) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  return {pid, std::move(in.write), std::move(out.read), std::move(err.read)};
}

void WriteSome(Fd& fd, std::string_view& text) {
  while (fd.open() && !text.empty()) {
    const ssize_t n = write(fd.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) {  // the child does not want the rest
      fd.Close();
      return;
    }
    text.remove_prefix(static_cast<size_t>(n));
  }
}

bool HasEnded(int pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

int Reap(int pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string DescribeEnd(int exit_code, int signal) {
  if (signal != 0) return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  return fmt::format("ended with exit code {}", exit_code);
}

WithoutSigpipe::WithoutSigpipe() {
  sigemptyset(&pipe_);
  sigaddset(&pipe_, SIGPIPE);
  sigset_t pending;
  sigpending(&pending);
  was_pending_ = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
}

WithoutSigpipe::~WithoutSigpipe() {
  if (!was_pending_) {
    const timespec now{};
    while (sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace pagoda::sys

#include "base/sys/piped_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/sys/clock.h"
#include "base/sys/small_file.h"

namespace pagoda::sys {
namespace {

constexpr int kPollMs = 100;  // how often a child's end is noticed while others hold its pipes
constexpr size_t kMostErrors = 4096;
constexpr int64_t kGraceNs = 2'000'000'000;  // from the end of its input to its own

// Appends what can be read; closes the pipe at its end. At most `most` bytes.
void ReadSome(Fd& from, std::string& into, size_t most) {
  std::array<char, 16384> block;
  for (size_t got = 0; from.open() && got < most;) {
    const ssize_t n = read(from.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      from.Close();
      return;
    }
    into.append(block.data(), static_cast<size_t>(n));
    got += static_cast<size_t>(n);
  }
}

std::string_view LastLine(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

PipedProcess::PipedProcess(const std::vector<std::string>& argv) : child_(Spawn(argv)) {}

PipedProcess::~PipedProcess() {
  child_.in.Close();
  const int64_t give_up = NowNs() + kGraceNs;
  while (!reaped_ && !HasEnded(child_.pid) && NowNs() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Kill();
}

void PipedProcess::Kill() {
  if (reaped_) return;
  const bool by_itself = HasEnded(child_.pid);
  kill(child_.pid, SIGKILL);
  const int status = Reap(child_.pid);
  reaped_ = true;
  ReadErrors();
  if (by_itself) end_ = DescribeEnd(WEXITSTATUS(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

std::string PipedProcess::Outcome(std::string_view what) {
  Kill();
  const std::string_view last = LastLine(errors_);
  return fmt::format("{}{}{}", what.empty() ? std::string_view(end_) : what,
                     last.empty() ? "" : "; its last words: ", last);
}

void PipedProcess::ReadOutput() { ReadSome(child_.out, out_, 2 * kMostLine); }

void PipedProcess::ReadErrors() {
  ReadSome(child_.err, errors_, size_t{1} << 20);
  if (errors_.size() > kMostErrors) errors_.erase(0, errors_.size() - kMostErrors);
}

// False: the line isn't whole yet.
bool PipedProcess::TakeLine(LineAnswer& answer) {
  const size_t end = out_.find('\n');
  if (std::min(end, out_.size()) > kMostLine) {
    answer.why_not = Outcome(fmt::format("answered with a line of more than {} bytes", kMostLine));
    return true;
  }
  if (end == std::string::npos) return false;
  answer.line = out_.substr(0, end);
  out_.erase(0, end + 1);
  return true;
}

LineAnswer PipedProcess::Ask(std::string_view line, double timeout_s) {
  LineAnswer answer;
  if (reaped_) {
    answer.why_not = "is not running any more";
    return answer;
  }
  const WithoutSigpipe guard;
  ReadOutput();
  if (!out_.empty()) {
    answer.why_not = Outcome("wrote to standard output without being asked");
    return answer;
  }
  std::string message(line);
  message += '\n';
  std::string_view unsent = message;
  const int64_t begin = NowNs();
  while (true) {
    WriteSome(child_.in, unsent);
    ReadErrors();
    const bool ended = HasEnded(child_.pid);
    ReadOutput();
    if (TakeLine(answer)) return answer;
    if (ended || !child_.out.open()) {
      // Where it only closed its output, its end may be on the way.
      for (int i = 0; i < kPollMs && !HasEnded(child_.pid); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      answer.why_not = Outcome(HasEnded(child_.pid) ? "" : "closed its standard output");
      return answer;
    }
    int wait_ms = kPollMs;
    if (timeout_s > 0) {
      const double left_s = timeout_s - static_cast<double>(NowNs() - begin) * 1e-9;
      if (left_s <= 0) {
        answer.why_not = Outcome(fmt::format("did not answer within {:g} s", timeout_s));
        return answer;
      }
      wait_ms = static_cast<int>(std::min<double>(wait_ms, std::ceil(left_s * 1000)));
    }
    std::array<pollfd, 3> waits = {{{child_.out.get(), POLLIN, 0},
                                    {child_.err.get(), POLLIN, 0},
                                    {unsent.empty() ? -1 : child_.in.get(), POLLOUT, 0}}};
    poll(waits.data(), waits.size(), wait_ms);
  }
}

bool PipedProcess::AnyThreadRuns() const {
  if (reaped_) return false;
  std::error_code ignored;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", child_.pid), ignored)) {
    // "tid (name) state ..."; the name may hold brackets, its end is the last one.
    const std::string stat = ReadSmallFile(thread.path() / "stat").value_or("");
    const size_t close = stat.rfind(") ");
    if (close != std::string::npos && stat.substr(close + 2).starts_with('R')) return true;
  }
  return false;
}

}  // namespace pagoda::sys

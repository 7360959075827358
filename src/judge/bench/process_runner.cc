#include "judge/bench/process_runner.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/sys/process.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

constexpr size_t kMarkBytes = 128;

}  // namespace

ProcessRunner::ProcessRunner(std::vector<std::string> command, std::filesystem::path mark_file,
                             std::function<bool()> stop)
    : command_(std::move(command)), mark_file_(std::move(mark_file)), stop_(std::move(stop)) {
  command_.push_back(mark_file_.string());
}

ProcessRunner::~ProcessRunner() {
  std::error_code ignored;
  std::filesystem::remove(mark_file_, ignored);
}

ChildOutcome ProcessRunner::Run(std::string_view plan_json, double timeout_s) {
  std::error_code ignored;
  std::filesystem::remove(mark_file_, ignored);
  sys::ProcessResult result = sys::RunProcess({.argv = command_,
                                               .stdin_text = std::string(plan_json),
                                               .timeout_s = timeout_s,
                                               .output_restarts_timeout = true,
                                               .environment = {},
                                               .cancelled = stop_,
                                               .on_stdout = {}});
  ChildOutcome outcome;
  if (result.cancelled) {
    outcome.end = ChildEnd::kStopped;
  } else if (result.timed_out) {
    outcome.end = ChildEnd::kTimedOut;
  } else if (result.signal != 0) {
    outcome.end = ChildEnd::kSignalled;
    outcome.code = result.signal;
  } else {
    outcome.code = result.exit_code;
  }
  outcome.out = std::move(result.out);
  outcome.err = std::move(result.err);
  outcome.mark = MarkFile::Read(mark_file_);
  outcome.elapsed_s = result.wall_s;
  return outcome;
}

MarkFile::MarkFile(const std::filesystem::path& path) : file_(std::fopen(path.c_str(), "wb")) {
  if (file_ == nullptr) throw Error(ErrorCode::kIo, path.string(), std::strerror(errno));
}

MarkFile::~MarkFile() { std::fclose(file_); }

void MarkFile::Write(std::string_view name) {
  std::array<char, kMarkBytes> padded{};
  std::copy_n(name.begin(), std::min(name.size(), padded.size()), padded.begin());
  std::fseek(file_, 0, SEEK_SET);
  std::fwrite(padded.data(), 1, padded.size(), file_);
  std::fflush(file_);
}

std::string MarkFile::Read(const std::filesystem::path& path) {
  std::array<char, kMarkBytes + 1> padded{};
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return "";
  const size_t bytes = std::fread(padded.data(), 1, kMarkBytes, file);
  std::fclose(file);
  padded[bytes] = '\0';
  return padded.data();
}

}  // namespace pagoda::judge

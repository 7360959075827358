// Runs a child program to its end, with bounds on its time and output.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pagoda::sys {

struct ProcessSpec {
  std::vector<std::string> argv = {};  // argv[0] is looked up in PATH
  std::string stdin_text = {};
  double timeout_s = 0;  // 0: none
  // Counts timeout_s from the last output instead of from the start: for a child that reports as it goes.
  bool output_restarts_timeout = false;
  // Output beyond these is read and dropped.
  size_t max_stdout = size_t{64} << 20;
  size_t max_stderr = size_t{1} << 20;
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to this process's own
  // Asked about ten times a second; true kills the child.
  std::function<bool()> cancelled = {};
  // Gets each piece of standard output as it comes, which is then not collected.
  std::function<void(std::string_view)> on_stdout = {};
};

struct ProcessResult {
  int exit_code = -1;  // when it ended by itself
  int signal = 0;      // that ended it; 0: none
  bool timed_out = false;
  bool cancelled = false;
  bool truncated = false;  // output was dropped
  std::string out, err;
  double wall_s = 0;

  bool ok() const { return exit_code == 0 && signal == 0 && !timed_out && !cancelled; }
  // "ended with exit code 3", "was killed by signal 11 (Segmentation fault)", "gave no sign of life for 5 s
  // and was killed".
  std::string Describe() const;
};

// The child gets a process group of its own, which is killed as a whole on timeout, on cancellation, and for
// what is left of it when the child has ended; it dies with this process. Throws Error (kIo) when the program
// can't be started.
ProcessResult RunProcess(const ProcessSpec& spec);

int OwnPid();

// Of a standard stream that the caller of this process closed: every use of it fails, but no file that is
// opened later gets its number and what was meant for the stream.
void ReserveStandardStreams();
// A write beyond the limit on the size of files fails with EFBIG instead of ending the process.
void LetLargeWritesFail();

// Standard output for the caller alone: whatever else prints goes to standard error from now on. Throws Error
// (kIo).
std::FILE* TakeStandardOutput();

// The file that starting `word` runs: itself with a slash in it, else what PATH finds; empty when there is
// none.
std::filesystem::path FindProgram(const std::string& word);

// The path of the program that runs, for running it again.
std::string OwnProgram();

}  // namespace pagoda::sys

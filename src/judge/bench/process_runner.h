// Plans in real processes: this program again, with a plan on its standard input.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/bench/child_runner.h"

namespace pagoda::judge {

class ProcessRunner : public ChildRunner {
 public:
  // Runs `command` with the path of `mark_file` (see MarkFile) as its last argument. `stop` is asked while a
  // child runs, and true kills it.
  ProcessRunner(std::vector<std::string> command, std::filesystem::path mark_file,
                std::function<bool()> stop);
  ~ProcessRunner() override;

  ChildOutcome Run(std::string_view plan_json, double timeout_s) override;

 private:
  std::vector<std::string> command_;
  std::filesystem::path mark_file_;
  std::function<bool()> stop_;
};

// The child's side: holds one name, which stays readable whatever ends the process. A file and no pipe,
// because a pipe would wake the parent on a CPU that is being timed.
class MarkFile {
 public:
  // Throws Error (kIo, the path as its field).
  explicit MarkFile(const std::filesystem::path& path);
  MarkFile(const MarkFile&) = delete;
  MarkFile& operator=(const MarkFile&) = delete;
  ~MarkFile();

  // Names longer than the file's fixed length are cut.
  void Write(std::string_view name);
  // Empty when there is no such file.
  static std::string Read(const std::filesystem::path& path);

 private:
  std::FILE* file_;
};

}  // namespace pagoda::judge

// A child program that answers line by line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/spawn.h"

namespace pagoda::sys {

// What a line was answered with: the next line, or why there is none.
struct LineAnswer {
  std::optional<std::string> line;  // without its end
  std::string why_not;              // "ended with exit code 1; its last words: ..."
};

// Stays in this process's group and on the CPUs that the calling thread may use, and dies with that thread.
class PipedProcess {
 public:
  static constexpr size_t kMostLine = size_t{1} << 16;

  // Throws Error as Spawn does.
  explicit PipedProcess(const std::vector<std::string>& argv);
  PipedProcess(const PipedProcess&) = delete;
  PipedProcess& operator=(const PipedProcess&) = delete;
  // Ends its input, waits for it a moment, then kills it.
  ~PipedProcess();

  // Sends a line and waits for one. After an answer without a line the child is dead. `timeout_s` 0: none.
  LineAnswer Ask(std::string_view line, double timeout_s);
  // Ends it at once.
  void Kill();
  // Whether a thread of it runs or would if it had a CPU; false where the system doesn't tell.
  bool AnyThreadRuns() const;

 private:
  std::string Outcome(std::string_view what);
  bool TakeLine(LineAnswer& answer);
  void ReadOutput();
  void ReadErrors();

  Spawned child_;
  bool reaped_ = false;
  std::string out_;     // read and not yet taken
  std::string errors_;  // the end of what it wrote to standard error
  std::string end_;     // how it ended
};

}  // namespace pagoda::sys

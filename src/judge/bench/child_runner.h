// How the bench starts a fresh process; injected, so that the executor is tested without any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pagoda::judge {

enum class ChildEnd : uint8_t {
  kExited,     // by itself; `code` is the exit code
  kSignalled,  // by a signal; `code` is its number
  kTimedOut,   // killed by the watchdog
  kStopped,    // killed because the user asked to stop
};

struct ChildOutcome {
  ChildEnd end = ChildEnd::kExited;
  int code = 0;
  std::string out;   // standard output, as far as it came
  std::string err;   // the end of standard error
  std::string mark;  // the variant that ran last, if known
  double elapsed_s = 0;
};

class ChildRunner {
 public:
  virtual ~ChildRunner() = default;
  // Runs one plan (launch_plan.h) in a fresh process, killed when it has given no sign of life for timeout_s.
  // Throws Error when no process can be started.
  virtual ChildOutcome Run(std::string_view plan_json, double timeout_s) = 0;
};

// How a child that left no result ended, in words: "was killed by signal 11 (Segmentation fault)".
std::string Describe(const ChildOutcome& outcome);

}  // namespace pagoda::judge

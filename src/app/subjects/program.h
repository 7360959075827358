// An external program under the bench: its command, and a conversation with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/subjects/program_answer.h"
#include "app/subjects/program_time.h"
#include "base/sys/piped_process.h"

namespace pagoda::app {

// What --program says.
struct ProgramCommand {
  std::string name;
  std::string command;  // as given
  std::vector<std::string> argv;

  std::string AsOption() const { return name + "=" + command; }
};

// Of each "NAME=COMMAND"; names are letters, digits and _, and neither twice nor a built-in variant's. Throws
// Error(--program).
std::vector<ProgramCommand> ParsePrograms(const std::vector<std::string>& options);

// Runs the program in a process of its own. Everything that it says or does wrong is a Fault that names the
// step.
class Program {
 public:
  // Seconds for each answer but that to `run`, for which the caller's own watchdog waits.
  static constexpr double kAnswerSeconds = 50;

  // Starts it and says hello.
  explicit Program(const ProgramCommand& command, double answer_s = kAnswerSeconds);

  const ProgramHello& hello() const { return hello_; }

  // Sends the message, unless it is the one that was sent last. Nothing when the program is ready, else why
  // it doesn't compute the case.
  std::optional<std::string> Prepare(const std::string& message);
  // The same of a case that it has said it computes.
  void RequireReady(const std::string& message);

  // That many calls over the pools of the case that was prepared last, from this one on. A time that can't be
  // is a fault.
  ProgramTime Run(int64_t calls, size_t first_pool);

  // Waits until none of its threads runs: some spin for a while after their work. Throws Fault when that
  // takes longer than a quarter of a second.
  void WaitUntilIdle();

 private:
  std::string Ask(std::string_view step, std::string_view message, double timeout_s);
  // The answer read by `parse`; the program is killed when it can't be.
  template <typename Parse>
  auto Read(std::string_view step, const std::string& line, Parse parse);

  double answer_s_;
  sys::PipedProcess process_;
  ProgramHello hello_;
  std::string prepared_;  // the last message that the program was ready for
};

}  // namespace pagoda::app

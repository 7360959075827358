// What the subcommands of the `pagoda` program share: exit codes, global options, one registration function
// each.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pagoda::app {

// Exit codes of every command.
enum ExitCode : int {
  kDone = 0,
  kConditionFailed = 1,  // the asked-for condition failed: --fail-on, the acceptance line
  kBadInput = 2,         // bad usage or input
  kGateFailed = 3,       // a correctness gate failed
  kInconclusive = 4,     // inconclusive where a decision was required, and no condition of code 1 holds
  kCannotRun = 5,        // environment refused, or no variant supports the case
  kIoOrInternal = 6,     // a file could not be read or written, or an error inside Pagoda
  kInterrupted = 130,
};

// Global options and what a command leaves behind. It outlives every callback.
struct CommandContext {
  std::vector<std::string> argv;  // the command line as given, for the record of a run
  int threads = 0;                // --threads; 0: not given (see Threads)
  bool quiet = false;             // -q: no progress, no warnings
  bool verbose = false;           // -v: more detail
  int exit_code = kDone;          // set by the command's callback

  // --threads, else PAGODA_THREADS, else the CPUs that the process may use. Throws Error naming which is
  // wrong.
  int Threads() const;
  // Throws Error where these are so many for the CPUs that what waits for all of them wouldn't end.
  void RequireFewThreads() const;
};

// Each adds one subcommand: options, two worked examples in its footer, and a callback that runs the command
// and sets context.exit_code. A callback may throw Error: main prints it and exits with ExitCodeOf.
void AddMachine(CLI::App& app, CommandContext& context);
void AddList(CLI::App& app, CommandContext& context);
void AddAttend(CLI::App& app, CommandContext& context);
void AddExplain(CLI::App& app, CommandContext& context);
void AddGate(CLI::App& app, CommandContext& context);
void AddBench(CLI::App& app, CommandContext& context);
void AddLaunch(CLI::App& app, CommandContext& context);  // hidden: one launch of bench in a fresh process
void AddReport(CLI::App& app, CommandContext& context);
void AddSelftest(CLI::App& app, CommandContext& context);
void AddCompletion(CLI::App& app, CommandContext& context);
void AddMan(CLI::App& app, CommandContext& context);  // hidden: the manual page, for installing it

}  // namespace pagoda::app

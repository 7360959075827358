// What the commands that measure share: a stop that is asked for, the lock, a machine that is fit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/machine_lock.h"
#include "judge/bench/environment.h"

namespace CLI {
class App;
}

namespace pagoda::app {

// From here on Ctrl-C, SIGTERM and a terminal that hangs up end nothing by themselves: Stopped() tells of
// them. A reader of the output who has gone (`| head`) ends nothing either: writing to it fails.
void CatchStops();
bool Stopped();

// Of a steady clock.
double NowSeconds();

inline constexpr double kFitSpan = 1;  // seconds that one look at the machine takes

// Samples this machine until it is fit, for up to `wait_s` (see judge::WaitUntilFit).
judge::Fitness WaitForFitness(double wait_s, const judge::EnvironmentLimits& limits,
                              const std::function<void(const std::string& unfit)>& on_wait);

// The options --wait and --strict.
struct FitnessOptions {
  std::string wait = "60s";
  bool strict = false;

  double WaitSeconds() const;
};
void AddFitnessOptions(CLI::App& command, FitnessOptions& options);
// Waits for a fit machine and says so through `warn`. Nothing when the user stopped the wait, or when the
// machine stays unfit with --strict, which is an error then.
std::optional<judge::Fitness> FitMachine(const FitnessOptions& options,
                                         const std::function<void(const std::string&)>& warn);

// The command line of this process as a shell takes it, with the settings from the environment that change
// what is measured (PAGODA_ISA, PAGODA_THREADS, PAGODA_KERNELS) in front.
std::string CommandLineHere(const std::vector<std::string>& argv);

// The option --seed.
void AddSeedOption(CLI::App& command, uint64_t& seed, const std::string& help);
// The option --lock: "wait" or "refuse".
void AddLockOption(CLI::App& command, std::string& how);
// Takes the lock, or says who holds it. False: refused, or the user stopped the wait.
bool TakeLock(sys::MachineLock& lock, const std::string& purpose, const std::string& how);

// Of a command that measured nothing: the user stopped it, which is said, or the lock or the machine refused.
int CodeOfNoRun();

// The options --out and --resume.
struct RunDirectory {
  std::string out;  // empty: not given
  bool resume = false;

  // Throws Error(--resume) for a --resume without --out.
  void RequireGiven() const;
  // The command line that goes on with what is in `directory`.
  std::string CommandToGoOn(std::vector<std::string> argv, const std::filesystem::path& directory) const;
};

}  // namespace pagoda::app

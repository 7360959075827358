#include "app/commands/measuring.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <thread>

#include "app/commands/command.h"
#include "app/commands/console.h"
#include "base/sys/clock.h"
#include "base/sys/environment.h"
#include "judge/bench/budget.h"
#include "judge/bench/facts.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr const char* kNoWait = "0";

volatile std::sig_atomic_t stop_asked = 0;

void AskToStop(int) { stop_asked = 1; }

// Sleeps in small steps; false when the user asked to stop meanwhile.
bool SleepFor(double seconds) {
  constexpr std::chrono::milliseconds kStep(50);
  const double end_s = NowSeconds() + seconds;
  while (!Stopped() && NowSeconds() < end_s) std::this_thread::sleep_for(kStep);
  return !Stopped();
}

}  // namespace

void CatchStops() {
  std::signal(SIGINT, AskToStop);
  std::signal(SIGTERM, AskToStop);
  if (std::signal(SIGHUP, AskToStop) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // nohup
  std::signal(SIGPIPE, SIG_IGN);
}

bool Stopped() { return stop_asked != 0; }

double NowSeconds() { return static_cast<double>(sys::NowNs()) * 1e-9; }

judge::Fitness WaitForFitness(double wait_s, const judge::EnvironmentLimits& limits,
                              const std::function<void(const std::string& unfit)>& on_wait) {
  sys::EnvironmentMeter meter;
  return judge::WaitUntilFit([&] { return judge::SampleOf(meter.Read()); }, SleepFor, kFitSpan, wait_s,
                             limits, on_wait);
}

double FitnessOptions::WaitSeconds() const {
  return wait == kNoWait ? 0 : judge::ParseDuration(wait, "--wait");
}

void AddFitnessOptions(CLI::App& command, FitnessOptions& options) {
  command
      .add_option(
          "--wait", options.wait,
          "How long to wait for a quiet machine before timing on a busy one (default: 60s; 0: not at all)")
      ->type_name("TIME")
      ->check([](const std::string& text) {
        const bool valid = text == kNoWait || judge::DurationOf(text);
        return valid ? "" : text + " is not a duration; write it as 0, 90s or 5m";
      });
  command.add_flag("--strict", options.strict, "Refuse to run on a machine that stays busy so long");
}

std::optional<judge::Fitness> FitMachine(const FitnessOptions& options,
                                         const std::function<void(const std::string&)>& warn) {
  const double wait_s = options.WaitSeconds();
  judge::Fitness fitness = WaitForFitness(wait_s, {}, [&](const std::string& unfit) {
    warn(fmt::format("waiting up to {:g} s for a quiet machine: {}", wait_s, unfit));
  });
  if (Stopped()) return std::nullopt;
  if (fitness.unfit && options.strict) {
    PrintError(
        fmt::format("the machine is unfit for timing: {}; `pagoda machine` tells more", *fitness.unfit));
    return std::nullopt;
  }
  if (fitness.unfit) {
    warn(fmt::format("the machine is unfit for timing: {}; results will say so", *fitness.unfit));
  }
  return fitness;
}

std::string CommandLineHere(const std::vector<std::string>& argv) {
  std::string line;
  for (const char* name : {"PAGODA_ISA", "PAGODA_THREADS", "PAGODA_KERNELS"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    line += fmt::format("{}={} ", name, judge::CommandLine({value}));
  }
  return line + judge::CommandLine(argv);
}

void AddSeedOption(CLI::App& command, uint64_t& seed, const std::string& help) {
  const auto parse = [&seed](const std::string& text) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, seed);
    if (error == std::errc() && stop == end) return;
    throw CLI::ValidationError("--seed", fmt::format("{} is not a whole number from 0 to {}", text,
                                                     std::numeric_limits<uint64_t>::max()));
  };
  command.add_option_function<std::string>("--seed", parse, help)->type_name("N");
}

void AddLockOption(CLI::App& command, std::string& how) {
  command.add_option("--lock", how, "When another bench runs here: wait (default) or refuse")
      ->check(CLI::IsMember({"wait", "refuse"}).description(""))
      ->type_name("wait|refuse");
}

bool TakeLock(sys::MachineLock& lock, const std::string& purpose, const std::string& how) {
  if (lock.TryLock(purpose)) return true;
  if (how == "refuse") {
    PrintError(fmt::format("{} measures on this machine; without --lock refuse this would wait for it",
                           lock.Holder()));
    return false;
  }
  PrintWarning(fmt::format("waiting for {}, which measures on this machine", lock.Holder()));
  constexpr double kForEver = 1e9;
  return lock.LockWithin(kForEver, purpose, Stopped);
}

int CodeOfNoRun() {
  if (!Stopped()) return kCannotRun;
  PrintWarning("interrupted before anything was measured");
  return kInterrupted;
}

void RunDirectory::RequireGiven() const {
  if (!resume || !out.empty()) return;
  throw Error(ErrorCode::kInvalidArgument, "--resume",
              "needs --out DIR, the directory of the run to go on with");
}

std::string RunDirectory::CommandToGoOn(std::vector<std::string> argv,
                                        const std::filesystem::path& directory) const {
  if (!resume) argv.emplace_back("--resume");
  if (out.empty()) argv.insert(argv.end(), {"--out", directory.string()});
  return CommandLineHere(argv);
}

}  // namespace pagoda::app

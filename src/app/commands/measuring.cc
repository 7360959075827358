#include "app/commands/measuring.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "app/commands/console.h"
#include "base/sys/clock.h"
#include "base/sys/environment.h"

namespace pagoda::app {
namespace {

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
}

bool Stopped() { return stop_asked != 0; }

double NowSeconds() { return static_cast<double>(sys::NowNs()) * 1e-9; }

judge::Fitness WaitForFitness(double wait_s, const judge::EnvironmentLimits& limits,
                              const std::function<void(const std::string& unfit)>& on_wait) {
  sys::EnvironmentMeter meter;
  return judge::WaitUntilFit([&] { return judge::SampleOf(meter.Read()); }, SleepFor, kFitSpan, wait_s,
                             limits, on_wait);
}

void AddSeedOption(CLI::App& command, uint64_t& seed, const std::string& help) {
  command.add_option("--seed", seed, help)->type_name("N")->check([](const std::string& text) {
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    return digits ? "" : text + " is not a whole number from 0 on";
  });
}

void AddLockOption(CLI::App& command, std::string& how) {
  command.add_option("--lock", how, "When another bench runs here: wait (default) or refuse")
      ->check(CLI::IsMember({"wait", "refuse"}).description(""))
      ->type_name("HOW");
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

}  // namespace pagoda::app

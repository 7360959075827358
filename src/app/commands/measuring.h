// What the commands that measure share: a stop that is asked for, the lock, a machine that is fit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/sys/machine_lock.h"
#include "judge/bench/environment.h"

namespace CLI {
class App;
}

namespace pagoda::app {

// From here on Ctrl-C and SIGTERM end nothing by themselves: Stopped() tells of them.
void CatchStops();
bool Stopped();

// Of a steady clock.
double NowSeconds();

inline constexpr double kFitSpan = 1;   // seconds that one look at the machine takes
inline constexpr double kFitWait = 60;  // seconds that an unfit machine is waited for

// Samples this machine until it is fit, for up to `wait_s` (see judge::WaitUntilFit).
judge::Fitness WaitForFitness(double wait_s, const judge::EnvironmentLimits& limits,
                              const std::function<void(const std::string& unfit)>& on_wait);

// The option --seed.
void AddSeedOption(CLI::App& command, uint64_t& seed, const std::string& help);
// The option --lock: "wait" or "refuse".
void AddLockOption(CLI::App& command, std::string& how);
// Takes the lock, or says who holds it. False: refused, or the user stopped the wait.
bool TakeLock(sys::MachineLock& lock, const std::string& purpose, const std::string& how);

}  // namespace pagoda::app

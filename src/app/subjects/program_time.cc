#include "app/subjects/program_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace pagoda::app {
namespace {

// Nanoseconds that may pass between request and answer besides the calls: of any epoch, on a busy machine
// too, and of those that waited least.
constexpr double kSlackOfOne = 100e6;
constexpr double kSlackOfBest = 1e6;
// Clocks of two processes.
constexpr double kClockError = 1e-3;

double Unaccounted(const ProgramTime& time) { return time.wall_ns - time.reported_ns; }

bool MostIsMissing(const ProgramTime& time, double slack_ns) {
  return Unaccounted(time) > time.reported_ns + slack_ns;
}

std::string Describe(const ProgramTime& time) {
  return fmt::format("reported {:.3g} ms for calls that were answered after {:.3g} ms",
                     time.reported_ns / 1e6, time.wall_ns / 1e6);
}

}  // namespace

std::optional<std::string> WrongTime(const ProgramTime& time) {
  if (time.reported_ns > time.wall_ns * (1 + kClockError) || MostIsMissing(time, kSlackOfOne)) {
    return Describe(time);
  }
  return std::nullopt;
}

std::optional<std::string> WrongTimes(std::vector<ProgramTime> epochs) {
  constexpr size_t kEnough = 8;
  if (epochs.size() < kEnough) return std::nullopt;
  const auto tenth = epochs.begin() + std::ssize(epochs) / 10;
  std::nth_element(epochs.begin(), tenth, epochs.end(),
                   [](const auto& a, const auto& b) { return Unaccounted(a) < Unaccounted(b); });
  if (!MostIsMissing(*tenth, kSlackOfBest)) return std::nullopt;
  return Describe(*tenth) + ", and others even later";
}

}  // namespace pagoda::app

#include "judge/bench/child_runner.h"

#include <fmt/format.h>

#include <cstring>

#include "base/io/shown.h"

namespace pagoda::judge {

std::string Describe(const ChildOutcome& outcome) {
  std::string text;
  switch (outcome.end) {
    case ChildEnd::kExited:
      text = fmt::format("ended with exit code {} and without a result", outcome.code);
      break;
    case ChildEnd::kSignalled:
      text = fmt::format("was killed by signal {} ({})", outcome.code, strsignal(outcome.code));
      break;
    case ChildEnd::kTimedOut:
      text = fmt::format("hung: killed by the watchdog after {:.0f} s", outcome.elapsed_s);
      break;
    case ChildEnd::kStopped:
      text = "was stopped";
      break;
  }
  std::string_view last = outcome.err;
  while (last.ends_with('\n')) last.remove_suffix(1);
  last = last.substr(last.rfind('\n') + 1);
  constexpr size_t kMostShown = 500;
  if (!last.empty()) text += fmt::format("; its last words: {}", io::Shown(last, kMostShown));
  return text;
}

}  // namespace pagoda::judge

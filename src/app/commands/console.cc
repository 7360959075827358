#include "app/commands/console.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "base/sys/terminal.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"

namespace pagoda::app {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

// What can't be told is lost: it must not end a run, nor change its exit code.
void Say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void PrintNote(std::string_view kind, judge::Ink ink, std::string_view text) {
  Say(fmt::format("pagoda: {} {}\n", judge::Inked(kind, ink, UsesColour(stderr)), judge::OneLine(text)));
}

}  // namespace

bool UsesColour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term != nullptr && std::string_view(term) == "dumb") return false;
  return sys::IsTerminal(stream);
}

Progress::Progress(std::string_view what, size_t steps, bool quiet)
    : what_(what),
      steps_(steps),
      shown_(!quiet && sys::IsTerminal(stderr)),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (shown_) Say(kClearLine);
}

void Progress::Step(std::string_view now) {
  ++begun_;
  if (!shown_) return;
  const size_t done = begun_ - 1;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  const std::string left =
      done == 0 ? "" : fmt::format(", {} left", judge::Elapsed(elapsed.count() / done * (steps_ - done)));
  Say(fmt::format("{}{} {}/{}{}: {}", kClearLine, what_, begun_, steps_, left, judge::OneLine(now)));
}

void PrintError(std::string_view text) { PrintNote("error:", judge::Ink::kBad, text); }

void PrintWarning(std::string_view text) { PrintNote("warning:", judge::Ink::kDoubt, text); }
void PrintNotice(std::string_view text) { PrintNote("note:", judge::Ink::kPlain, text); }

}  // namespace pagoda::app

// What goes to the terminal besides a command's own output.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace pagoda::app {

// Colour is for a terminal only, and never with NO_COLOR set (https://no-color.org) or TERM=dumb.
bool UsesColour(std::FILE* stream);

// "pagoda: error: ..." on stderr, on one line and without control characters, which a file may have brought
// in. What stderr doesn't take is lost, here and below.
void PrintError(std::string_view text);
// "pagoda: warning: ..." on stderr.
void PrintWarning(std::string_view text);
// "pagoda: note: ..." on stderr.
void PrintNotice(std::string_view text);

// A line on stderr that tells how far a command is and how long the rest may take. Only on a terminal, never
// when quiet; gone when the object is.
class Progress {
 public:
  Progress(std::string_view what, size_t steps, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The next step begins; `now` says what it is.
  void Step(std::string_view now);

 private:
  std::string what_;
  size_t steps_;
  size_t begun_ = 0;
  bool shown_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace pagoda::app

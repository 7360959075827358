// What a program says that its calls took, against what passed meanwhile.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pagoda::app {

// Of the calls of one request.
struct ProgramTime {
  double reported_ns = 0;  // what the program says that they took
  double wall_ns = 0;      // from the request to the answer
};

// What is wrong with the time, or nothing: more reported than passed, or most of a long time not accounted
// for.
std::optional<std::string> WrongTime(const ProgramTime& time);
// The same over many epochs, by the tenth of them that waited least: a busy machine delays answers, but not
// all of them. Nothing for fewer than eight.
std::optional<std::string> WrongTimes(std::vector<ProgramTime> epochs);

}  // namespace pagoda::app

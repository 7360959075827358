// What external programs answer (docs/external-variants.md), read strictly: they may say anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/bench/suite.h"

namespace pagoda::app {

inline constexpr int kProgramProtocol = 1;

struct ProgramHello {
  std::string about;      // one line about itself; may be empty
  uint32_t promises = 0;  // of Promise
  bool lse = false;       // it writes the LSE too
  // What it computes: the operator that was the only one before a program could say.
  std::vector<judge::CaseOp> ops = {judge::CaseOp::kSoftmaxPaged};

  bool Computes(judge::CaseOp op) const;
};

// Each reads one line. All throw Error (kInvalidArgument, `step` as the start of its field) for whatever
// isn't that answer, and Fault with the program's own words for {"error":"..."}.
ProgramHello ParseHello(std::string_view line, std::string_view step);
// Nothing when it is ready, else the reason why it doesn't compute the case.
std::optional<std::string> ParsePrepared(std::string_view line, std::string_view step);
// Nanoseconds, more than 0.
double ParseRan(std::string_view line, std::string_view step);

}  // namespace pagoda::app

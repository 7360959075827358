// What `pagoda selftest` prints: how often each arm's verdict was right, and whether the gate caught what it
// must.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "app/subjects/selftest.h"
#include "judge/record/record.h"
#include "judge/verdict/score.h"

namespace pagoda::app {

// The smallest differences that matter (--delta) at which each arm is judged; the first is the bench's own.
inline constexpr std::array<double, 3> kSelftestDeltas = {0.01, 0.02, 0.03};

// An arm on a case, by both clocks.
struct SelftestRow {
  SelftestRow(std::string name, const PlantedArm& planted);

  std::string case_name;
  PlantedArm arm;
  std::vector<judge::Score> device, host;  // one for each of kSelftestDeltas
};

// A wrong variant is caught on a case where one of its gate runs fails; a right one must pass them all.
struct GateScore {
  int wrong = 0, caught = 0;
  int right = 0, passed = 0;
  std::vector<std::string> mistakes;  // "CASE VARIANT: what happened"
};

struct SelftestResult {
  std::string variant;
  int runs = 0, launches = 0;  // launches of each run and case
  uint64_t seed = 0;
  int threads = 1;
  judge::EnvironmentFacts environment;
  std::vector<SelftestRow> rows;
  GateScore gates;
  std::string records;  // the directory that holds them
};

std::string SelftestText(const SelftestResult& result, bool markdown, bool colour);
std::string SelftestJson(const SelftestResult& result);

// 3 for a mistake of the gate, 1 where more than 2% of an arm's verdicts, at the first delta, contradict the
// truth even at the lower end of the interval, else 0.
int SelftestExitCode(const SelftestResult& result);

}  // namespace pagoda::app

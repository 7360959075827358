// What a run was: its line of numbers, its machine, its protocol, what it left out. Shared by the printers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "judge/report/replay.h"

namespace pagoda::judge {

struct Fact {
  std::string name;
  std::string value;
};

// "seed-paged-attention · 10 cases · 12 launches a case · 2 threads · 3 m 41 s of launches"
std::string RunLine(const Replay& replay);

// "Example CPU · avx2 · load ≤ 0.10, steal ≤ 0.0%"; empty when nothing is known.
std::string MachineLine(const Replay& replay);

// CPU, memory, kernel, compiler, commit, ceilings, load … Only what is known.
std::vector<Fact> EnvironmentFactsOf(const Replay& replay);

// How it was measured and decided: launches, blocks, calls, cache, seed, statistic, delta.
std::vector<Fact> ProtocolFactsOf(const Replay& replay);

// "120 planned, 118 used, 2 left out (contaminated), 3 contaminated attempts run again". Zeros are left away.
std::string LaunchLine(const Replay& replay);

// The manifest's list, then what a variant doesn't support, then what no usable launch timed; one item per
// reason, which names at most about `most_names` cases and counts the rest.
inline constexpr size_t kAllNames = 1'000'000;
std::vector<std::string> NotMeasured(const Replay& replay, size_t most_names);

}  // namespace pagoda::judge

// What `pagoda bench` decides from options and verdicts, apart from running anything.
#pragma once

#include <string>
#include <vector>

#include "judge/verdict/overall.h"

namespace pagoda {
struct MachineCeilings;
}

namespace pagoda::app {

// Conditions that make the command fail.
struct FailOn {
  bool loss = false;          // exit code 1: a LOSS of any variant on any case or overall, by device time
  bool inconclusive = false;  // exit code 4: the same for INCONCLUSIVE, or for the run's own verdict
};
// "loss" and "inconclusive"; throws Error(--fail-on) with "did you mean".
FailOn ParseFailOn(const std::vector<std::string>& conditions);

// 3 where a result was wrong or a variant hung or crashed, else 1 and 4 by the conditions, else 0.
int BenchExitCode(const judge::RunVerdict& run, const FailOn& fail_on);

// The medians, as a manifest holds them.
judge::Ceilings ToRecord(const MachineCeilings& measured);

}  // namespace pagoda::app

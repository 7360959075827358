// Several runs side by side.
#pragma once

#include <string>
#include <vector>

#include "judge/report/replay.h"
#include "judge/report/text.h"

namespace pagoda::judge {

struct NamedReplay {
  std::string name;  // the run's directory
  Replay replay;
};

// One row per run: name, suite, verdict, leader, lead over the runner-up with its interval, null arm. Each
// run was judged by itself; nothing is pooled.
Table RunsTable(const std::vector<NamedReplay>& runs);

}  // namespace pagoda::judge

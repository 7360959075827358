// The process that times one launch, or runs a part of the gate, and ends.
#pragma once

#include <string>
#include <vector>

#include "app/subjects/program.h"

namespace pagoda::app {

// The command line that runs this program as such a process, with these external programs among its variants;
// the path of a mark file goes behind it.
std::vector<std::string> LaunchCommand(const std::vector<ProgramCommand>& programs);
// The same on the planted arms of the self-test beside `variant`.
std::vector<std::string> SelftestLaunchCommand(const std::string& variant);
// The one that answers on standard output whether the variant of a gate plan's only run computes its case:
// {"why_not": null} or the reason.
std::vector<std::string> AskCommand();

}  // namespace pagoda::app

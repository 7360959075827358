// The process that times one launch, or runs a part of the gate, and ends.
#pragma once

#include <string>
#include <vector>

namespace pagoda::app {

// The command line that runs this program as such a process; the path of a mark file goes behind it.
std::vector<std::string> LaunchCommand();

}  // namespace pagoda::app

// Whether somebody is looking.
#pragma once

#include <cstdio>

namespace pagoda::sys {

// Whether the stream goes to a terminal.
bool IsTerminal(std::FILE* stream);

}  // namespace pagoda::sys

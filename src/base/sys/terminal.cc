#include "base/sys/terminal.h"

#include <unistd.h>

namespace pagoda::sys {

bool IsTerminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

}  // namespace pagoda::sys

// A plug-in that crashes as soon as it is loaded.
#include <cstdlib>

#include "pagoda/plugin.h"

namespace {

struct Crash {
  Crash() { std::abort(); }
} crash;

}  // namespace

extern "C" const pagoda_plugin_info* pagoda_plugin(void) { return nullptr; }

// A plug-in of a version of the header that isn't there yet.
#include "pagoda/plugin.h"

extern "C" const pagoda_plugin_info* pagoda_plugin(void) {
  static const pagoda_plugin_info info = {PAGODA_PLUGIN_ABI + 1, 1, nullptr};
  return &info;
}

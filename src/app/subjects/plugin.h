// Variants that others made, through the C interface of pagoda/plugin.h.
#pragma once

#include <string>

#include "engine/attention/kernel_library.h"
#include "pagoda/plugin.h"

namespace pagoda::app {

// The plug-in's variants as a kernel library, which stays until the process ends. `path` is for messages.
// Throws Error (the path as its field) when the plug-in contradicts its header.
const KernelLibrary& AdaptPlugin(const pagoda_plugin_info* info, const std::string& path);

}  // namespace pagoda::app

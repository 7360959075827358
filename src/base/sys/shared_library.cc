#include "base/sys/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "pagoda/status.h"

namespace pagoda::sys {

SharedLibrary::SharedLibrary(const std::filesystem::path& path)
    : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (handle_ == nullptr)
    throw Error(ErrorCode::kIo, path.string(), fmt::format("can't be loaded: {}", dlerror()));
}

void* SharedLibrary::Find(const std::string& symbol) const { return dlsym(handle_, symbol.c_str()); }

}  // namespace pagoda::sys

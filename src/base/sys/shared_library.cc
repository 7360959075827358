#include "base/sys/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string_view>

#include "pagoda/status.h"

namespace pagoda::sys {

SharedLibrary::SharedLibrary(const std::filesystem::path& path, const std::string& name)
    : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (handle_ != nullptr) return;
  std::string_view reason = dlerror();
  const std::string prefix = path.string() + ": ";  // the name is said already
  if (reason.starts_with(prefix)) reason.remove_prefix(prefix.size());
  throw Error(ErrorCode::kIo, name, fmt::format("can't be loaded: {}", reason));
}

void* SharedLibrary::Find(const std::string& symbol) const { return dlsym(handle_, symbol.c_str()); }

}  // namespace pagoda::sys

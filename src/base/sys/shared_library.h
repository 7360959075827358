// A shared object, loaded at run time.
#pragma once

#include <filesystem>
#include <string>

namespace pagoda::sys {

// Its symbols stay its own. Once loaded it stays until the process ends: threads and objects that come from
// it may outlive any owner.
class SharedLibrary {
 public:
  // Throws Error (kIo, `name` as its field) with the loader's reason.
  SharedLibrary(const std::filesystem::path& path, const std::string& name);

  // The address of a symbol, or null.
  void* Find(const std::string& symbol) const;

 private:
  void* handle_;
};

}  // namespace pagoda::sys

// A machine made of files, to show to the readers of /proc and /sys.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/io/temporary_folder.h"

namespace pagoda::sys {

class FakeMachine {
 public:
  const std::filesystem::path& root() const { return folder_.path(); }

  void Write(const std::string& path, std::string_view text) const {
    const std::filesystem::path whole = root() / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace pagoda::sys

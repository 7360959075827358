// The suites that the program carries, as text.
#pragma once

#include <span>
#include <string_view>

namespace pagoda::judge {

struct BuiltinSuite {
  std::string_view name;
  std::string_view toml;
};

// In the order to list them.
std::span<const BuiltinSuite> BuiltinSuites();

}  // namespace pagoda::judge

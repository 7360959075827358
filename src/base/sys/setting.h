// Numbers that the user sets in the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pagoda::sys {

// The whole number that `variable` holds; nothing where it is unset or empty. Throws Error(variable): = "..."
// and `complaint`, where it holds no number within [least, most].
std::optional<int64_t> WholeNumberSetting(const char* variable, int64_t least, int64_t most,
                                          std::string_view complaint);

}  // namespace pagoda::sys

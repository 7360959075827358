#include "base/sys/setting.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <system_error>

#include "pagoda/status.h"

namespace pagoda::sys {

std::optional<int64_t> WholeNumberSetting(const char* variable, int64_t least, int64_t most,
                                          std::string_view complaint) {
  const char* setting = std::getenv(variable);
  if (setting == nullptr || *setting == '\0') return std::nullopt;
  const std::string_view text = setting;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    throw Error(ErrorCode::kInvalidArgument, variable, fmt::format("= \"{}\" {}", text, complaint));
  return number;
}

}  // namespace pagoda::sys

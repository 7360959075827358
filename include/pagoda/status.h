// The one error type of the library.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pagoda {

enum class ErrorCode : uint8_t {
  kInvalidArgument,  // a value that the caller passed can't be right
  kUnsupported,      // the value is legal, but nothing here computes it
  kIo,               // a file could not be read or written
  kInternal,         // a promise inside Pagoda was broken
};

// Thrown by every public function that refuses its input. `field` is the name a caller knows
// ("page_table.indices[17]"), `what()` is the whole sentence with the value and what would be right.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string_view field, std::string_view complaint)
      : std::runtime_error(field.empty() ? std::string(complaint)
                                         : std::string(field) + " " + std::string(complaint)),
        code_(code),
        field_(field) {}

  ErrorCode code() const { return code_; }
  const std::string& field() const { return field_; }

 private:
  ErrorCode code_;
  std::string field_;
};

}  // namespace pagoda

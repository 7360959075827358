// A machine's rates as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pagoda/machine_model.h"

namespace pagoda::app {

// Whose rates a file holds.
struct MachineIdentity {
  std::string cpu;
  std::string isa;
  int64_t cpus = 1;  // that the process may use
  friend bool operator==(const MachineIdentity&, const MachineIdentity&) = default;
};

std::string EncodeMachine(const MachineModel& model, const MachineIdentity& identity);
// Nothing where the file is another machine's or of another version. Throws Error naming `source` and the
// field.
std::optional<MachineModel> DecodeMachine(std::string_view text, std::string_view source,
                                          const MachineIdentity& identity);

}  // namespace pagoda::app

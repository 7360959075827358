#include "app/subjects/machine_store.h"

#include <cstdlib>
#include <iterator>
#include <string>

#include "base/io/mapped_file.h"
#include "base/sys/affinity.h"
#include "base/sys/cpu.h"
#include "engine/simd/isa.h"
#include "pagoda/status.h"

namespace pagoda::app {

MachineIdentity ThisMachine() {
  return {sys::ReadMachineInfo().cpu_model, std::string(NameOf(ActiveIsa())), std::ssize(sys::AllowedCpus())};
}

std::optional<std::filesystem::path> MachineFile() {
  const auto of = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
  };
  if (auto given = of("PAGODA_MACHINE"); !given.empty()) return given;
  if (const auto cache = of("XDG_CACHE_HOME"); !cache.empty()) return cache / "pagoda" / "machine.json";
  if (const auto home = of("HOME"); !home.empty()) return home / ".cache" / "pagoda" / "machine.json";
  return std::nullopt;
}

std::optional<MachineModel> StoredMachine() {
  const std::optional<std::filesystem::path> path = MachineFile();
  std::error_code error;
  if (!path || !std::filesystem::exists(*path, error)) return std::nullopt;
  constexpr size_t kMostBytes = size_t{1} << 20;
  return DecodeMachine(io::ReadTextFile(*path, kMostBytes), path->string(), ThisMachine());
}

void StoreMachine(const MachineModel& model) {
  const std::optional<std::filesystem::path> path = MachineFile();
  if (!path) {
    throw Error(ErrorCode::kInvalidArgument, "PAGODA_MACHINE",
                "is not set, nor are XDG_CACHE_HOME and HOME: set it to the file that is to hold this "
                "machine's rates");
  }
  std::error_code error;  // writing says what is wrong
  std::filesystem::create_directories(path->parent_path(), error);
  io::WriteFileAtomically(*path, EncodeMachine(model, ThisMachine()));
}

}  // namespace pagoda::app

// The rates of this machine, measured once and kept for the runs that follow.
#pragma once

#include <filesystem>
#include <optional>

#include "app/subjects/machine_codec.h"
#include "pagoda/machine_model.h"

namespace pagoda::app {

MachineIdentity ThisMachine();

// PAGODA_MACHINE, else pagoda/machine.json in XDG_CACHE_HOME or ~/.cache; nothing when none of these is set.
std::optional<std::filesystem::path> MachineFile();

// Of MachineFile(); nothing where there is no such file. Throws Error naming the file and the field.
std::optional<MachineModel> StoredMachine();
// Throws Error naming the file that can't be written, or Error(PAGODA_MACHINE) when there is no place for it.
void StoreMachine(const MachineModel& model);

}  // namespace pagoda::app

// The machine model that a command's plans are chosen by.
#pragma once

#include <string>

namespace pagoda::app {

// Sets the model of this process to the stored one, or to what it measures, which it stores and, unless
// `quiet`, says. With `measure` it measures in any case. Measuring takes the machine's lock by `lock_how`, as
// TakeLock does; false: not got. Throws Error naming the file that can't be read or written.
bool UseMachineModel(bool measure, bool quiet, const std::string& lock_how);

}  // namespace pagoda::app

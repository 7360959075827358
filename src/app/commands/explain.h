// The machine model that a command's plans are chosen by.
#pragma once

namespace pagoda::app {

// Sets the model of this process to the stored one, or to what it measures, which it stores and, unless
// `quiet`, says. With `measure` it measures in any case. Throws Error naming the file that can't be read or
// written.
void UseMachineModel(bool measure, bool quiet);

}  // namespace pagoda::app

// Which CPUs the process may use, and pinning to one of them.
#pragma once

#include <thread>
#include <vector>

namespace pagoda::sys {

// CPUs that the main thread of the process may run on, ascending; never empty.
std::vector<int> AllowedCpus();

// Both return whether the kernel agreed. A sandbox may refuse: then the thread runs where it did.
//
// AllowedCpus asks the main thread: once that is pinned, pools made later find one CPU. Make pools first.
bool PinThisThread(int cpu);
bool PinThread(std::thread& thread, int cpu);

}  // namespace pagoda::sys

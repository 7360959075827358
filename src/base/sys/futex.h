// Sleeping on a 32-bit word. std::atomic::wait would keep its list of sleepers in a static of each loaded
// copy of this library, so that a notify from one copy misses the sleepers of another; a futex has none.
#pragma once

#include <atomic>
#include <cstdint>

namespace pagoda::sys {

// Sleeps if `word` still holds `value`; may return for no reason.
void FutexWait(const std::atomic<uint32_t>& word, uint32_t value);
// Wakes up to `count` sleepers.
void FutexWake(std::atomic<uint32_t>& word, int count);

}  // namespace pagoda::sys

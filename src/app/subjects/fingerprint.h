// Whether memory is still what it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pagoda::app {

// A 64-bit hash of `bytes` that changes with any single changed byte for certain, and with any other change
// but for a chance of about 2^-64. Several GB/s; not for secrets.
uint64_t Fingerprint(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace pagoda::app

// Whether memory is still what it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pagoda::app {

// A 64-bit hash of `bytes`. It changes for certain when one aligned word of eight bytes does, and else but
// for a chance of about 2^-64. Several GB/s; not for secrets.
uint64_t Fingerprint(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace pagoda::app

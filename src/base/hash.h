// Tells contents apart; not for attackers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace pagoda {

inline constexpr uint64_t kHashOfNothing = 0xcbf29ce484222325;

// FNV-1a of 64 bits. Given the hash of what comes before, goes on with it.
inline uint64_t HashOf(std::span<const std::byte> bytes, uint64_t before = kHashOfNothing) {
  uint64_t hash = before;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<uint64_t>(b)) * 0x100000001b3;
  return hash;
}

inline uint64_t HashOf(std::string_view text, uint64_t before = kHashOfNothing) {
  return HashOf(std::as_bytes(std::span(text)), before);
}

}  // namespace pagoda

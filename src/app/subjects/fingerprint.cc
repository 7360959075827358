#include "app/subjects/fingerprint.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/random.h"

namespace pagoda::app {
namespace {

// A bijection of the state for a given word and of the word for a given state, so that a single changed word
// can't cancel. One multiplication alone would move the top bit to one place, where the next word could take
// it back.
uint64_t Step(uint64_t state, uint64_t word) {
  uint64_t x = (state ^ word) * 0x9e3779b97f4a7c15;
  x ^= x >> 32;
  return std::rotl(x * 0xd6e8feb86659fd93, 29);
}

// Spreads every bit over all others; a bijection.
uint64_t Scramble(uint64_t x) { return SplitMix64(x); }

}  // namespace

uint64_t Fingerprint(std::span<const std::byte> bytes, uint64_t seed) {
  constexpr size_t kLanes = 4;
  std::array<uint64_t, kLanes> state{};
  for (uint64_t& lane : state) lane = SplitMix64(seed);
  std::array<uint64_t, kLanes> words{};
  size_t at = 0;
  for (; at + sizeof(words) <= bytes.size(); at += sizeof(words)) {
    std::memcpy(words.data(), bytes.data() + at, sizeof(words));
    for (size_t lane = 0; lane < kLanes; ++lane) state[lane] = Step(state[lane], words[lane]);
  }
  words = {};
  if (at < bytes.size()) std::memcpy(words.data(), bytes.data() + at, bytes.size() - at);
  uint64_t hash = bytes.size();
  for (size_t lane = 0; lane < kLanes; ++lane) hash = Step(hash, Scramble(Step(state[lane], words[lane])));
  return Scramble(hash);
}

}  // namespace pagoda::app

// A small seeded generator whose sequences are the same on every platform and compiler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace pagoda {

// One step of SplitMix64 (Steele, Lea, Flood 2014): also a good hash of a counter or of two seeds in turn.
constexpr uint64_t SplitMix64(uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// xoshiro256** (Blackman, Vigna 2018), seeded through SplitMix64. Cheap to copy; not for secrets.
class Random {
 public:
  explicit Random(uint64_t seed);

  uint64_t Bits();
  // Uniform in [0, n), unbiased; 0 when n is 0.
  uint64_t Below(uint64_t n);
  // Uniform in [low, high], low <= high.
  int64_t Between(int64_t low, int64_t high);
  // Uniform in [0, 1), a multiple of 2^-53.
  double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }
  // Mean 0, variance 1: ziggurat with 128 layers (Doornik 2005). Uses no function of the C library, as their
  // last bits differ between systems.
  double Normal();
  // True with the probability p.
  bool Chance(double p) { return Uniform() < p; }

  template <typename T>
  void Shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(i)]);
  }

  // A generator of its own for part `stream` of the work, independent of how far this one has got.
  Random Fork(uint64_t stream) const;

 private:
  double NormalTail(bool negative);
  double Exponential();

  uint64_t seed_;
  std::array<uint64_t, 4> state_;
};

}  // namespace pagoda

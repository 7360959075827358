#include "base/random.h"

#include <bit>

namespace pagoda {
namespace {

// exp, log and sqrt of the ziggurat's tables and its rejection test. Each statement holds one rounding that
// matters, so that a compiler which contracts a * b + c inside an expression gives the same bits as one which
// does not.

constexpr double Exp(double x) {
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const double scaled = x / 0x1.62e42fefa39efp-1;
  const auto k = static_cast<int>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  const double high = k * kLn2High;
  const double low = k * kLn2Low;
  double r = x - high;
  r = r - low;
  double sum = 1;
  for (int n = 18; n >= 1; --n) {
    sum *= r;
    sum /= n;
    sum += 1;
  }
  return sum * std::bit_cast<double>(static_cast<uint64_t>(1023 + k) << 52);
}

constexpr double Log(double x) {
  double y =
      0;  // Newton on exp: quadratic, so 60 steps from 0 reach the last bit for the x in (0, 1] used here
  for (int i = 0; i < 60; ++i) {
    const double e = Exp(y);
    const double step = (x - e) / (x + e);
    const double twice = 2 * step;
    y += twice;
  }
  return y;
}

constexpr double Sqrt(double x) {
  double y = x > 1 ? x : 1;
  for (int i = 0; i < 60; ++i) {
    const double quotient = x / y;
    const double sum = y + quotient;
    y = sum / 2;
  }
  return y;
}

constexpr double HalfSquare(double x) {
  const double square = x * x;
  return square / 2;
}

constexpr int kLayers = 128;
constexpr double kTailStart = 3.442619855899;       // R of Doornik's table for 128 layers
constexpr double kLayerArea = 9.91256303526217e-3;  // V

struct Ziggurat {
  std::array<double, kLayers + 1> x{};  // right edge of each layer, the base first
  std::array<double, kLayers> ratio{};  // part of a layer that lies wholly under the curve
};

constexpr Ziggurat MakeZiggurat() {
  Ziggurat z;
  double f = Exp(-HalfSquare(kTailStart));
  z.x[0] = kLayerArea / f;
  z.x[1] = kTailStart;
  z.x[kLayers] = 0;
  for (int i = 2; i < kLayers; ++i) {
    const double step = kLayerArea / z.x[i - 1];
    const double height = step + f;
    z.x[i] = Sqrt(-2 * Log(height));
    f = Exp(-HalfSquare(z.x[i]));
  }
  for (int i = 0; i < kLayers; ++i) z.ratio[i] = z.x[i + 1] / z.x[i];
  return z;
}

constexpr Ziggurat kZiggurat = MakeZiggurat();

}  // namespace

Random::Random(uint64_t seed) : seed_(seed), state_{} {
  for (uint64_t& word : state_) word = SplitMix64(seed);
}

uint64_t Random::Bits() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::Below(uint64_t n) {
  if (n == 0) return 0;
  // Draws below 2^64 mod n would make some remainders more likely than others.
  const uint64_t reject_below = (0 - n) % n;
  uint64_t bits = Bits();
  while (bits < reject_below) bits = Bits();
  return bits % n;
}

int64_t Random::Between(int64_t low, int64_t high) {
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t offset = span == 0 ? Bits() : Below(span);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

double Random::Normal() {
  while (true) {
    const uint64_t bits = Bits();
    const auto layer = static_cast<int>(bits % kLayers);
    // The top 53 bits, apart from those that chose the layer.
    const double u = static_cast<double>(static_cast<int64_t>(bits) >> 11) * 0x1p-52;  // [-1, 1)
    const double x = u * kZiggurat.x[layer];
    if ((u < 0 ? -u : u) < kZiggurat.ratio[layer]) return x;
    if (layer == 0) return NormalTail(u < 0);
    const double here = HalfSquare(x);
    const double low = Exp(here - HalfSquare(kZiggurat.x[layer]));
    const double high = Exp(here - HalfSquare(kZiggurat.x[layer + 1]));
    const double scaled = Uniform() * (low - high);
    if (high + scaled < 1) return x;
  }
}

// Marsaglia 1964: the part of the normal distribution beyond kTailStart.
double Random::NormalTail(bool negative) {
  while (true) {
    const double beyond = Exponential() / kTailStart;
    const double square = beyond * beyond;
    if (2 * Exponential() > square) return negative ? -kTailStart - beyond : kTailStart + beyond;
  }
}

// von Neumann 1951: an exponential variate by comparisons alone. A run u1 > u2 > ... of odd length is
// accepted with the probability exp(-u1); each failed run adds 1.
double Random::Exponential() {
  for (double whole = 0;; whole += 1) {
    const double first = Uniform();
    double last = first;
    bool odd = true;
    for (double next = Uniform(); next < last; next = Uniform()) {
      last = next;
      odd = !odd;
    }
    if (odd) return whole + first;
  }
}

Random Random::Fork(uint64_t stream) const {
  uint64_t state = seed_;
  uint64_t mixed = SplitMix64(state) ^ stream;
  return Random(SplitMix64(mixed));
}

}  // namespace pagoda

// How launch values scatter, in the three shapes that were seen on machines.
#pragma once

#include <cmath>
#include <ostream>
#include <string>

#include "base/random.h"

namespace pagoda::judge {

enum class Noise {
  kNormal,
  kHeavyTails,  // Student's t with 3 degrees of freedom
  kTwoModes,    // two placements, each with a fifth of the spread within
  kTwoBlurs,    // two placements that overlap
};

inline std::string NameOf(Noise noise) {
  switch (noise) {
    case Noise::kNormal:
      return "Normal";
    case Noise::kHeavyTails:
      return "HeavyTails";
    case Noise::kTwoModes:
      return "TwoModes";
    case Noise::kTwoBlurs:
      return "TwoBlurs";
  }
  return "";
}
inline void PrintTo(Noise noise, std::ostream* out) { *out << NameOf(noise); }

// Mean 0, standard deviation 1.
inline double Draw(Noise noise, Random& random) {
  if (noise == Noise::kNormal) return random.Normal();
  if (noise == Noise::kHeavyTails) {
    const double z = random.Normal();
    double squares = 0;
    for (int i = 0; i < 3; ++i) {
      const double x = random.Normal();
      squares += x * x;
    }
    return z / std::sqrt(squares);  // t / sqrt(3), whose variance is 1
  }
  const double mode = noise == Noise::kTwoModes ? 0.98 : 0.9;
  return (random.Chance(0.5) ? mode : -mode) + std::sqrt(1 - mode * mode) * random.Normal();
}

}  // namespace pagoda::judge

// Sizes in whole steps.
#pragma once

#include <type_traits>

namespace pagoda {

// n, at least 0, rounded up to a multiple of `step`.
template <class Int>
constexpr Int RoundUp(Int n, std::type_identity_t<Int> step) {
  return (n + step - 1) / step * step;
}

}  // namespace pagoda

// main() of tests that ctest runs once per instruction set: 77 tells it that this machine can't run the
// forced one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "engine/simd/isa.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  if (const char* forced = std::getenv("PAGODA_ISA"); forced != nullptr) {
    const auto isas = pagoda::UsableIsas();
    const auto is_forced = [forced](pagoda::Isa isa) {
      return pagoda::NameOf(isa) == std::string_view(forced);
    };
    if (std::none_of(isas.begin(), isas.end(), is_forced)) {
      std::cout << "skipped: this machine does not run " << forced << "\n";
      return kSkipped;
    }
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}

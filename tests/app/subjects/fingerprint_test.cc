#include "app/subjects/fingerprint.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace pagoda::app {
namespace {

TEST(Fingerprint, ChangesWithEveryBitAndWithTheLength) {
  for (const size_t size : {1, 7, 31, 32, 33, 64, 100}) {
    std::vector<std::byte> bytes(size, std::byte{0});
    std::set<uint64_t> seen{Fingerprint(bytes)};
    for (size_t i = 0; i < size; ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        bytes[i] = static_cast<std::byte>(1 << bit);
        EXPECT_TRUE(seen.insert(Fingerprint(bytes)).second)
            << size << " bytes, byte " << i << ", bit " << bit;
      }
      bytes[i] = std::byte{0};
    }
    bytes.push_back(std::byte{0});
    EXPECT_TRUE(seen.insert(Fingerprint(bytes)).second) << size << " bytes and a zero";
  }
}

TEST(Fingerprint, ChangesWhenWordsChangePlaces) {
  std::vector<std::byte> bytes(96);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  const uint64_t before = Fingerprint(bytes);
  std::swap_ranges(bytes.begin(), bytes.begin() + 32, bytes.begin() + 32);
  EXPECT_NE(Fingerprint(bytes), before);
}

TEST(Fingerprint, TheSeedCounts) { EXPECT_NE(Fingerprint({}, 1), Fingerprint({}, 2)); }

}  // namespace
}  // namespace pagoda::app

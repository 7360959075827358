#include "engine/graph/ring.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <deque>

namespace pagoda::graph::testing {
namespace {

TEST(Ring, TakesAllOfItAndNoMore) {
  Ring ring(8);
  EXPECT_EQ(ring.Take(9), -1);
  EXPECT_EQ(ring.Take(8), 0);
  EXPECT_EQ(ring.Take(1), -1);
  ring.Release(ring.mark());
  EXPECT_EQ(ring.Take(8), 0);
  EXPECT_EQ(ring.peak(), 8);
}

TEST(Ring, SkipsAnEndThatIsTooShort) {
  Ring ring(8);
  ring.Take(3);
  const int64_t mark = ring.mark();
  EXPECT_EQ(ring.Take(3), 3);
  ring.Release(mark);
  EXPECT_EQ(ring.Take(3), 0);  // 6 and 7 are left out
  EXPECT_EQ(ring.used(), 8);
  EXPECT_EQ(ring.Take(1), -1);
}

// An empty ring begins anew, and a mark from before takes nothing back.
TEST(Ring, BeginsAnewWhenEmpty) {
  Ring ring(8);
  ring.Take(5);
  const int64_t old = ring.mark();
  ring.Release(old);
  EXPECT_EQ(ring.Take(8), 0);
  ring.Release(old);
  EXPECT_EQ(ring.Take(1), -1);
}

// Whatever is live never overlaps, and there is room whenever nothing is.
TEST(Ring, NeverGivesAPlaceTwice) {
  EXPECT_TRUE(rc::check([] {
    struct Piece {
      int64_t place, size, mark;
    };
    Ring ring(16);
    std::deque<Piece> live;
    for (int step = 0; step < 200; ++step) {
      const int64_t size = *rc::gen::inRange<int64_t>(1, 9);
      const int64_t place = ring.Take(size);
      if (place < 0) {
        RC_ASSERT(!live.empty());
        ring.Release(live.front().mark);
        live.pop_front();
        continue;
      }
      RC_ASSERT(place + size <= 16);
      for (const Piece& piece : live)
        RC_ASSERT(place + size <= piece.place || piece.place + piece.size <= place);
      live.push_back({place, size, ring.mark()});
    }
  }));
}

}  // namespace
}  // namespace pagoda::graph::testing

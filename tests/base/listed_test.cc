#include "base/listed.h"

#include <gtest/gtest.h>

namespace pagoda {
namespace {

TEST(Listed, ListsTheFirstAndCountsTheRest) {
  EXPECT_EQ(ListedUpTo(2, {"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(ListedUpTo(2, {"a", "b", "c", "d"}), "a, b and 2 more");
}

TEST(Listed, ListsWithCommasAndOneAnd) {
  EXPECT_EQ(Listed({}), "");
  EXPECT_EQ(Listed({"a"}), "a");
  EXPECT_EQ(Listed({"a", "b"}), "a and b");
  EXPECT_EQ(Listed({"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(Listed({"a", "b", "c"}, "or"), "a, b or c");
}

}  // namespace
}  // namespace pagoda

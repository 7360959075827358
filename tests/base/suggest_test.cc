#include "base/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pagoda {
namespace {

TEST(EditDistance, ClosedCases) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("", "ab"), 2);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("casual", "causal"), 1);
  EXPECT_EQ(EditDistance("window_left", "windowleft"), 1);
}

TEST(Suggest, FindsTheSlip) {
  const std::vector<std::string> keys{"causal", "scale", "window_left", "window_right", "softcap"};
  EXPECT_EQ(Suggest("casual", keys), "causal");
  EXPECT_EQ(Suggest("SCALE", keys), "scale");
  EXPECT_EQ(Suggest("window_lef", keys), "window_left");
  EXPECT_EQ(Suggest("window", keys), "window_left");
  EXPECT_EQ(Suggest("soft_cap", keys), "softcap");
}

TEST(Suggest, SaysNothingWhenNothingIsNear) {
  const std::vector<std::string> keys{"causal", "scale"};
  EXPECT_EQ(Suggest("bananas", keys), std::nullopt);
  EXPECT_EQ(Suggest("", keys), std::nullopt);
  EXPECT_EQ(Suggest("x", {}), std::nullopt);
  EXPECT_EQ(Suggest(std::string(100000, 'a'), keys), std::nullopt);
  EXPECT_EQ(DidYouMean("bananas", keys), "");
}

TEST(Suggest, PutsItInWords) {
  const std::vector<std::string> keys{"causal"};
  EXPECT_EQ(DidYouMean("casual", keys), "; did you mean \"causal\"?");
}

}  // namespace
}  // namespace pagoda

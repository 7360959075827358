#include "judge/verdict/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "judge/verdict/run_builder.h"

namespace pagoda::judge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Duels of variants at fixed places: the gap of two is their theta, and past 0.1 it is a WIN or a LOSS.
class Places {
 public:
  explicit Places(std::map<std::string, double> places) {
    for (const auto& [a, at_a] : places) {
      for (const auto& [b, at_b] : places) Set(a, b, at_a - at_b);
    }
  }
  void Set(const std::string& a, const std::string& b, double theta) {
    Outcome& outcome = duels_[{a, b}];
    outcome.theta.value = theta;
    outcome.verdict = theta < -0.1 ? Verdict::kWin : theta > 0.1 ? Verdict::kLoss : Verdict::kTie;
  }
  Duel duel() const {
    return [this](std::string_view a, std::string_view b) -> const Outcome& {
      return duels_.at({std::string(a), std::string(b)});
    };
  }

 private:
  std::map<std::pair<std::string, std::string>, Outcome> duels_;
};

TEST(Rank, OrdersByTimeAndKeepsWhomNobodyBeats) {
  const Places places({{"slow", 0.5}, {"fast", 0.0}, {"near", 0.05}});
  const Ranking ranking = Rank({"slow", "near", "fast"}, places.duel());
  EXPECT_THAT(ranking.order, ElementsAre("fast", "near", "slow"));
  EXPECT_THAT(ranking.winners, ElementsAre("fast", "near"));
}

TEST(Rank, KeepsTheGivenOrderOfEquals) {
  const Places places({{"x", 0.0}, {"y", 0.0}});
  EXPECT_THAT(Rank({"y", "x"}, places.duel()).order, ElementsAre("y", "x"));
}

TEST(Rank, LeaderIsNeverBehindTheRunnerUp) {
  Places places({{"x", 0.0}, {"y", 0.01}, {"z", 0.02}});
  places.Set("x", "y", 0.001);
  places.Set("y", "x", -0.001);
  EXPECT_THAT(Rank({"x", "y", "z"}, places.duel()).order, ElementsAre("y", "x", "z"));
}

TEST(Rank, PairsWithoutANumberSayNothing) {
  Places places({{"x", 0.0}, {"y", -0.2}, {"z", 0.2}});
  places.Set("x", "z", std::numeric_limits<double>::quiet_NaN());
  places.Set("z", "x", std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(Rank({"z", "x", "y"}, places.duel()).order, ElementsAre("y", "x", "z"));
}

TEST(Rank, NobodyIsAheadInACircle) {
  Places places({{"x", 0.0}, {"y", 0.0}, {"z", 0.0}});
  for (const auto& [a, b] : {std::pair("x", "y"), std::pair("y", "z"), std::pair("z", "x")}) {
    places.Set(a, b, -0.2);
    places.Set(b, a, 0.2);
  }
  EXPECT_EQ(Rank({"x", "y", "z"}, places.duel()).winners.size(), 3u);
}

TEST(Rank, OfNobodyIsEmpty) { EXPECT_THAT(Rank({}, Places({}).duel()).winners, IsEmpty()); }

TEST(Eligible, LeavesOutWhatFailedOrWasMeasuredOnFewerCases) {
  RunBuilder builder({"a", "b", "c", "d"}, 2);
  builder.manifest().unsupported = {{"c1", "c", "why"}};
  Records records = builder.Build();
  records.gates[3].passed = false;  // d on c0
  const auto sorted = SortRecords(builder.manifest(), records);
  EXPECT_THAT(Eligible(builder.manifest().variants, sorted), ElementsAre("a", "b"));
  EXPECT_FALSE(MeasuredOn(sorted[1], "c"));
  EXPECT_FALSE(MeasuredOn(sorted[0], "d"));
  EXPECT_TRUE(MeasuredOn(sorted[0], "c"));
}

TEST(Eligible, NeverHasAVariantThatFailedAnywhere) {
  RunBuilder builder({"a", "b"}, 2);
  builder.manifest().unsupported = {{"c1", "a", "why"}};
  Records records = builder.Build();
  records.gates[1].passed = false;  // b on c0: measured on as many cases as a
  const auto sorted = SortRecords(builder.manifest(), records);
  EXPECT_THAT(Eligible(builder.manifest().variants, sorted), ElementsAre("a"));
}

}  // namespace
}  // namespace pagoda::judge

#include "judge/bench/lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Context tokens of the Azure Public Dataset's LLM inference trace 2023, conversation.
const LengthQuantiles kConversation = {{0, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99, 1},
                                       {2, 181, 207, 396, 1020, 1189, 2734, 4083, 4142, 14050}};

std::string RefusalOf(const LengthQuantiles& quantiles) {
  try {
    CheckQuantiles(quantiles);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(DrawLengths, HasTheQuantilesAndNearlyTheMeanOfItsSource) {
  constexpr int64_t kDraws = 100'000;
  std::vector<int64_t> lengths = DrawLengths(kConversation, kDraws, 7);
  const double mean =
      static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), int64_t{0})) / kDraws;
  EXPECT_NEAR(mean, 1154.7, 0.03 * 1154.7);
  std::sort(lengths.begin(), lengths.end());
  EXPECT_GE(lengths.front(), 2);
  EXPECT_LE(lengths.back(), 14050);
  for (size_t i = 1; i + 1 < kConversation.shares.size(); ++i) {
    const double at_most =
        static_cast<double>(std::upper_bound(lengths.begin(), lengths.end(), kConversation.tokens[i]) -
                            lengths.begin()) /
        kDraws;
    // One length can be 0.2% of all, as between 181 and 207, and half of it rounds down.
    EXPECT_NEAR(at_most, kConversation.shares[i], 0.002) << i;
  }
}

TEST(DrawLengths, LiesOnTheLogAxisBetweenTwoQuantiles) {
  std::vector<int64_t> lengths = DrawLengths({{0, 1}, {100, 10000}}, 10001, 3);
  std::nth_element(lengths.begin(), lengths.begin() + 5000, lengths.end());
  EXPECT_NEAR(static_cast<double>(lengths[5000]), 1000, 1);
  EXPECT_THAT(DrawLengths({{0, 1}, {7, 7}}, 3, 1), ElementsAre(7, 7, 7));
}

TEST(DrawLengths, ASmallBatchHasOneOfEachPart) {
  std::vector<int64_t> lengths = DrawLengths(kConversation, 4, 2026);
  std::sort(lengths.begin(), lengths.end());
  for (int i = 0; i < 3; ++i) {
    const int64_t quartile = kConversation.tokens[3 + i];
    EXPECT_LE(lengths[i], quartile);
    EXPECT_GE(lengths[i + 1], quartile);
  }
}

TEST(DrawLengths, OneSeedOneDraw) {
  const std::vector<int64_t> eight = DrawLengths(kConversation, 8, 2026);
  EXPECT_EQ(DrawLengths(kConversation, 8, 2026), eight);
  EXPECT_NE(DrawLengths(kConversation, 8, 2027), eight);
  EXPECT_FALSE(std::is_sorted(eight.begin(), eight.end()));
}

TEST(CheckQuantiles, SaysWhatIsWrong) {
  EXPECT_EQ(RefusalOf(kConversation), "accepted");
  EXPECT_EQ(RefusalOf({{}, {}}), "quantiles must go from 0 to 1");
  EXPECT_EQ(RefusalOf({{0.1, 1}, {1, 2}}), "quantiles must go from 0 to 1");
  EXPECT_EQ(RefusalOf({{0, 0.9}, {1, 2}}), "quantiles must go from 0 to 1");
  EXPECT_EQ(RefusalOf({{0, 0.5, 0.5, 1}, {1, 2, 3, 4}}), "quantiles must rise from each to the next");
  EXPECT_EQ(RefusalOf({{0, 1}, {1, 2, 3}}), "tokens has 3 values for 2 quantiles");
  EXPECT_EQ(RefusalOf({{0, 1}, {2, 1}}), "tokens must not fall");
  EXPECT_EQ(RefusalOf({{0, 1}, {0, 1}}), "tokens holds 0, which is outside 1..1048576");
  EXPECT_EQ(RefusalOf({{0, 1}, {1, 1048577}}), "tokens holds 1048577, which is outside 1..1048576");
}

TEST(TakeBatch, TakesRequestsThatFollowEachOther) {
  io::RequestTrace trace{"t.csv", {}, false};
  for (int64_t i = 1; i <= 1000; ++i) trace.requests.push_back({i, 1, {}});
  const TraceBatch taken = TakeBatch(trace, 5, 2026);
  ASSERT_EQ(taken.contexts.size(), 5);
  for (int64_t i = 1; i < 5; ++i) EXPECT_EQ(taken.contexts[i], taken.contexts[0] + i);
  EXPECT_THAT(taken.blocks, IsEmpty());
  EXPECT_EQ(TakeBatch(trace, 5, 2026).contexts, taken.contexts);
  EXPECT_NE(TakeBatch(trace, 5, 2027).contexts, taken.contexts);
  EXPECT_EQ(TakeBatch(trace, 1000, 1).contexts.front(), 1);
}

TEST(TakeBatch, BringsTheBlocks) {
  const io::RequestTrace trace{"t.jsonl", {{600, 1, {0, 1}}, {5, 1, {0}}}, true};
  EXPECT_THAT(TakeBatch(trace, 2, 1).blocks, ElementsAre(ElementsAre(0, 1), ElementsAre(0)));
}

TEST(TakeBatch, NeedsEnoughRequests) {
  const io::RequestTrace trace{"t.csv", {{5, 1, {}}}, false};
  try {
    TakeBatch(trace, 2, 1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "--trace = t.csv holds 1 requests, fewer than the 2 sequences of a batch");
  }
}

TEST(TraceLabel, IsTheFileNameFitForACaseName) {
  EXPECT_EQ(TraceLabel({"/data/azure conv.2023.csv", {}, false}), "azure-conv.2023");
  EXPECT_EQ(TraceLabel({std::string(90, 'x') + ".jsonl", {}, true}), std::string(40, 'x'));
}

}  // namespace
}  // namespace pagoda::judge

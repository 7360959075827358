#include "judge/verdict/medians.h"

#include <gtest/gtest.h>

#include <cmath>

#include "judge/verdict/overall.h"
#include "judge/verdict/run_builder.h"
#include "judge/verdict/samples.h"

namespace pagoda::judge {
namespace {

// Two cases, of 1 ms to `a`; `b` is 1.25 and 1.2 times as fast.
class MediansTest : public testing::Test {
 protected:
  MediansTest() { builder_.Spread(0).Effect("b", -std::log(1.25), 0).Effect("b", -std::log(1.2), 1); }

  Medians Aggregate(const Records& records) {
    const auto sorted = SortRecords(builder_.manifest(), records);
    return AggregateMedians(builder_.manifest(), sorted,
                            ComputeFigures(builder_.manifest(), records, sorted));
  }
  RunBuilder builder_{{"b", "a"}, 2};
};

TEST_F(MediansTest, AreGeometricMeansAndTheRangeOfTheCases) {
  builder_.Baseline("a");
  const Medians medians = Aggregate(builder_.Build());
  EXPECT_EQ(medians.cases, 2);
  ASSERT_EQ(medians.variants.size(), 2u);
  EXPECT_EQ(medians.variants[0].variant, "a");
  EXPECT_NEAR(medians.variants[0].geomean_us, 1000, 0.1);
  EXPECT_EQ(medians.variants[0].ratio, 1);
  EXPECT_EQ(medians.variants[1].variant, "b");
  // 800 and 833.3 us; their product is 1 / 1.5 of a squared millisecond.
  EXPECT_NEAR(medians.variants[1].geomean_us, 1000 / std::sqrt(1.5), 0.1);
  EXPECT_NEAR(medians.variants[1].ratio, std::sqrt(1.5), 1e-4);
  EXPECT_NEAR(medians.variants[1].least, 1.2, 1e-4);
  EXPECT_NEAR(medians.variants[1].most, 1.25, 1e-4);
}

TEST_F(MediansTest, AreNotWeighted) {
  builder_.Baseline("a").manifest().cases[0].weight = 100;
  EXPECT_NEAR(Aggregate(builder_.Build()).variants[1].ratio, std::sqrt(1.5), 1e-4);
}

TEST_F(MediansTest, AreOfTheCasesThatAllHaveTimesOf) {
  builder_.Baseline("a").manifest().unsupported = {{"c0", "b", "no"}};
  const Medians medians = Aggregate(builder_.Build());
  EXPECT_EQ(medians.cases, 1);
  EXPECT_NEAR(medians.variants[1].ratio, 1.2, 1e-4);
}

TEST_F(MediansTest, AWrongResultHasNone) {
  builder_.Baseline("a");
  Records records = builder_.Build();
  for (GateRecord& gate : records.gates) {
    if (gate.variant == "b" && gate.case_name == "c1") gate.passed = false;
  }
  EXPECT_EQ(Aggregate(records).cases, 1);
  for (GateRecord& gate : records.gates) gate.passed = gate.variant == "a";
  EXPECT_EQ(Aggregate(records).cases, 2) << "what is right nowhere takes no case from the others";
  EXPECT_EQ(Aggregate(records).variants.size(), 1u);
  for (GateRecord& gate : records.gates) gate.passed = gate.variant == "b";
  EXPECT_EQ(Aggregate(records).cases, 0) << "no baseline";
}

TEST_F(MediansTest, NothingIsMadeOfNothing) { EXPECT_EQ(Aggregate({}).cases, 0); }

TEST_F(MediansTest, ArePartOfAVerdict) {
  EXPECT_EQ(Judge(builder_.manifest(), builder_.Build()).medians.cases, 2);
}

}  // namespace
}  // namespace pagoda::judge

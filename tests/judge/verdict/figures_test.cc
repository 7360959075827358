#include "judge/verdict/figures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "judge/verdict/run_builder.h"
#include "judge/verdict/samples.h"

namespace pagoda::judge {
namespace {

Ceilings Machine() {
  Ceilings ceilings;
  ceilings.bandwidth = {{1024, 2, 10}, {4096, 2, 20}, {0, 2, 24}, {4096, 1, 12}};
  ceilings.compute = {{"avx2", "f32", 1, 50}, {"avx2", "f32", 2, 90}, {"avx512", "bf16", 1, 200}};
  return ceilings;
}

TEST(Bandwidth, InterpolatesByTheLogarithmOfTheRunLength) {
  EXPECT_DOUBLE_EQ(BandwidthAt(Machine(), 1024, 2), 10);
  EXPECT_DOUBLE_EQ(BandwidthAt(Machine(), 2048, 2), 15);
  EXPECT_DOUBLE_EQ(BandwidthAt(Machine(), 100, 2), 10);
  EXPECT_DOUBLE_EQ(BandwidthAt(Machine(), 8192, 2), 20);  // no logarithm reaches the endless stream
  EXPECT_DOUBLE_EQ(BandwidthAt(Machine(), 0, 2), 24);
}

TEST(Bandwidth, TakesTheMostThreadsThatTheRunHas) {
  EXPECT_DOUBLE_EQ(BandwidthAt(Machine(), 4096, 1), 12);
  EXPECT_DOUBLE_EQ(BandwidthAt(Machine(), 4096, 8), 20);
  EXPECT_EQ(BandwidthAt({}, 4096, 8), 0);
}

TEST(Peak, TakesTheBestOfTheDtypeAndF32) {
  EXPECT_DOUBLE_EQ(PeakOf(Machine(), "f32", 2).gflop_per_s, 90);
  EXPECT_EQ(PeakOf(Machine(), "f32", 2).isa, "avx2");
  EXPECT_DOUBLE_EQ(PeakOf(Machine(), "bf16", 2).gflop_per_s, 400);  // one thread's, twice
  EXPECT_EQ(PeakOf(Machine(), "bf16", 2).isa, "avx512");
  EXPECT_DOUBLE_EQ(PeakOf(Machine(), "f16", 1).gflop_per_s, 50);
  EXPECT_EQ(PeakOf({}, "f32", 1).gflop_per_s, 0);
}

// Where products of bf16 are slow, whoever widens first is faster, and that is the bound.
TEST(Peak, OfBf16IsAtLeastThatOfF32) {
  Ceilings ceilings = Machine();
  ceilings.compute.push_back({"avx512", "f32", 2, 500});
  EXPECT_DOUBLE_EQ(PeakOf(ceilings, "bf16", 2).gflop_per_s, 500);
}

class FiguresTest : public testing::Test {
 protected:
  FiguresTest() {
    builder_.Spread(0).Effect("b", std::log(2));
    builder_.manifest().ceilings = Machine();
    builder_.manifest().threads = 2;
    builder_.manifest().cases[0].run_bytes = 1024;
  }
  std::vector<Figures> Compute(const Records& records) {
    return ComputeFigures(builder_.manifest(), records, SortRecords(builder_.manifest(), records));
  }
  RunBuilder builder_{{"a", "b"}, 1};
};

TEST_F(FiguresTest, AreThoseOfOneCall) {
  // 10 MB and 1 MFLOP in 1 ms and 2 ms.
  const std::vector<Figures> figures = Compute(builder_.Build());
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_NEAR(figures[0].device_us, 1000, 0.1);
  EXPECT_NEAR(figures[0].device_floor_us, 1000, 0.1);
  EXPECT_NEAR(figures[1].device_us, 2000, 0.1);
  EXPECT_NEAR(figures[1].host_us, 2200, 0.1);
  EXPECT_NEAR(figures[0].gb_per_s, 10, 0.01);
  EXPECT_NEAR(figures[1].gb_per_s, 5, 0.01);
  EXPECT_NEAR(figures[0].gflop_per_s, 1, 0.01);
  EXPECT_EQ(figures[1].variant, "b");
  EXPECT_EQ(figures[1].samples, 12 * 2 * 4);  // launches, passes, blocks
}

TEST_F(FiguresTest, CompareWithTheRoofline) {
  builder_.manifest().ceilings.bandwidth[0].gb_per_s = 20;
  const std::vector<Figures> figures = Compute(builder_.Build());
  EXPECT_NEAR(figures[0].bound_us, 500, 1e-9);
  EXPECT_TRUE(figures[0].memory_bound);
  EXPECT_NEAR(figures[0].roofline_fraction, 0.5, 1e-4);
  EXPECT_NEAR(figures[1].roofline_fraction, 0.25, 1e-4);
  EXPECT_FALSE(figures[0].suspect);
}

TEST_F(FiguresTest, FasterThanTheBoundIsSuspect) {
  builder_.manifest().ceilings.bandwidth[0].gb_per_s = 9;
  const std::vector<Figures> figures = Compute(builder_.Build());
  EXPECT_TRUE(figures[0].suspect);
  EXPECT_FALSE(figures[1].suspect);
}

TEST_F(FiguresTest, WarmCachesAreNotBoundByMemory) {
  builder_.manifest().cases[0].cache = "warm";
  builder_.manifest().ceilings.bandwidth[0].gb_per_s = 9;
  const std::vector<Figures> figures = Compute(builder_.Build());
  EXPECT_FALSE(figures[0].suspect);
  EXPECT_FALSE(figures[0].memory_bound);
  EXPECT_NEAR(figures[0].bound_us, 1e6 / 400e3, 1e-9);
}

TEST_F(FiguresTest, WithoutCeilingsThereIsNoBound) {
  builder_.manifest().ceilings = {};
  const std::vector<Figures> figures = Compute(builder_.Build());
  EXPECT_EQ(figures[0].bound_us, 0);
  EXPECT_EQ(figures[0].roofline_fraction, 0);
  EXPECT_FALSE(figures[0].suspect);
}

TEST_F(FiguresTest, KeepTheLargestErrorOfGatesAndTimedOutputs) {
  Records records = builder_.Build();
  records.gates[0].max_abs_error = 0.001;
  records.launches[4].checks[0].max_abs_error = 0.003;
  records.gates[1].bitwise_repeatable = false;
  const std::vector<Figures> figures = Compute(records);
  EXPECT_EQ(figures[0].max_abs_error, 0.003);
  EXPECT_TRUE(figures[0].bitwise);
  EXPECT_FALSE(figures[1].bitwise);
  EXPECT_EQ(figures[0].gates_total, 1);
}

TEST_F(FiguresTest, AreNaNWithoutALaunch) {
  const std::vector<Figures> figures = Compute({});
  EXPECT_TRUE(std::isnan(figures[0].device_us));
  EXPECT_TRUE(std::isnan(figures[0].gb_per_s));
  EXPECT_EQ(figures[0].roofline_fraction, 0);
  EXPECT_FALSE(figures[0].bitwise);
}

}  // namespace
}  // namespace pagoda::judge

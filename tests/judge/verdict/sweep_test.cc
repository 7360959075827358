#include "judge/verdict/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "judge/verdict/overall.h"
#include "judge/verdict/run_builder.h"

namespace pagoda::judge {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Points at 64, 256, 1,024 …; `theta` gives ln(t_b / t_a) over ln of the axis.
RunBuilder Swept(int points, const std::function<double(double)>& theta) {
  RunBuilder builder({"a", "b"}, points);
  Sweep sweep{.name = "s*", .axis = "context", .points = {}};
  int64_t value = 64;
  for (int c = 0; c < points; ++c, value *= 4) {
    sweep.points.push_back({builder.manifest().cases[static_cast<size_t>(c)].name, value});
    builder.Effect("b", theta(std::log(static_cast<double>(value))), c);
  }
  builder.manifest().sweeps = {sweep};
  return builder;
}

// b overtakes a at `crossing`, with this slope of theta over ln of the axis.
RunBuilder Crossing(int points, double crossing, double slope) {
  return Swept(points, [=](double x) { return slope * (std::log(crossing) - x); });
}

SweepDuel DuelOf(const RunVerdict& run) { return run.sweeps.at(0).duels.at(0); }
SweepDuel DuelOf(RunBuilder& builder) { return DuelOf(Judge(builder.manifest(), builder.Build())); }

// What each curve is called; 5 points of it.
SweepDuel DuelOver(const std::vector<double>& thetas) {
  size_t next = 0;
  RunBuilder builder = Swept(static_cast<int>(thetas.size()), [&](double) { return thetas[next++]; });
  return DuelOf(builder);
}

TEST(Sweep, FindsTheCrossingWithoutNoiseExactly) {
  RunBuilder builder = Crossing(5, 2150, 0.2).Spread(0);
  const SweepDuel duel = DuelOf(builder);
  EXPECT_EQ(duel.course, Course::kCrosses);
  ASSERT_THAT(duel.crossovers, SizeIs(1));
  const Crossover& x = duel.crossovers[0];
  EXPECT_EQ(x.below, "a");
  EXPECT_EQ(x.above, "b");
  EXPECT_NEAR(x.at.value, 2150, 1);
  EXPECT_NEAR(x.at.low, 2150, 1);
  EXPECT_NEAR(x.at.high, 2150, 1);
  EXPECT_EQ(x.below_until, 1024);
  EXPECT_EQ(x.above_from, 4096);
  EXPECT_EQ(x.first, 64);
  EXPECT_EQ(x.last, 16384);
  EXPECT_EQ(x.launches, 12);
  EXPECT_EQ(x.launches_left_out, 0);
}

TEST(Sweep, ItsCoursesHaveTheirNames) {
  const double win = -0.1, loss = 0.1;
  const auto course = [](const std::vector<double>& thetas) { return DuelOver(thetas).course; };
  EXPECT_EQ(course({win, win, win}), Course::kAhead);
  EXPECT_EQ(course({0, 0, 0}), Course::kTie);
  EXPECT_EQ(course({win, 0, win}), Course::kNeverBehind);
  EXPECT_EQ(course({loss, 0, win}), Course::kCrosses);
  EXPECT_EQ(DuelOver({loss, loss, loss}).ahead, "a");
  EXPECT_EQ(DuelOver({0, win, 0}).ahead, "b");
  EXPECT_EQ(DuelOver({0, win, 0}).points_ahead, 1);
  EXPECT_EQ(DuelOver({loss, 0, win}).ahead, "");
  for (const Course c : {Course::kCrosses, Course::kAhead, Course::kNeverBehind, Course::kTie,
                         Course::kUndecided, Course::kNotMeasured}) {
    EXPECT_NE(NameOf(c), "");
  }
}

TEST(Sweep, FewLaunchesShowNoCrossover) {
  RunBuilder builder = Crossing(5, 2150, 0.2).Launches(4);
  EXPECT_EQ(DuelOf(builder).course, Course::kUndecided);
  EXPECT_THAT(DuelOf(builder).crossovers, SizeIs(0));
}

TEST(Sweep, EachChangeOfTheLeadIsACrossoverOfItsOwn) {
  const SweepDuel duel = DuelOver({0.1, 0.1, -0.1, -0.1, 0.1});
  ASSERT_THAT(duel.crossovers, SizeIs(2));
  EXPECT_EQ(duel.crossovers[0].above, "b");
  EXPECT_NEAR(duel.crossovers[0].at.value, 512, 60);
  EXPECT_EQ(duel.crossovers[0].first, 64);
  EXPECT_EQ(duel.crossovers[0].last, 4096);
  EXPECT_EQ(duel.crossovers[1].above, "a");
  EXPECT_NEAR(duel.crossovers[1].at.value, 8192, 900);
  EXPECT_EQ(duel.crossovers[1].first, 1024);
  EXPECT_EQ(duel.crossovers[1].last, 16384);
}

TEST(Sweep, SwappedVariantsHaveTheMirroredCrossover) {
  RunBuilder builder = Crossing(6, 700, 0.02).Spread(0.01);
  const Records records = builder.Build();
  const RunVerdict before = Judge(builder.manifest(), records);
  Manifest swapped = builder.manifest();
  swapped.variants = {"b", "a"};
  const RunVerdict after = Judge(swapped, records);
  EXPECT_EQ(DuelOf(after).a, "b");
  ASSERT_THAT(DuelOf(before).crossovers, SizeIs(1));
  ASSERT_THAT(DuelOf(after).crossovers, SizeIs(1));
  const Crossover x = DuelOf(before).crossovers[0], y = DuelOf(after).crossovers[0];
  EXPECT_EQ(x.below, y.below);
  EXPECT_EQ(x.above, y.above);
  EXPECT_EQ(x.at.value, y.at.value);
  EXPECT_EQ(x.at.low, y.at.low);
  EXPECT_EQ(x.at.high, y.at.high);
}

TEST(Sweep, AnIntervalMayBeOpenAtTheEnd) {
  RunBuilder builder = Crossing(5, 9000, 0.2);
  Records records = builder.Build();
  for (LaunchRecord& launch : records.launches) {  // in two launches b isn't ahead at the last point
    if (launch.case_name != "c4" || (launch.launch != 2 && launch.launch != 7)) continue;
    launch.arms[1].device_ns = launch.arms[0].device_ns;
    for (double& ns : launch.arms[1].device_ns) ns *= 1.001;
  }
  const SweepDuel duel = DuelOf(Judge(builder.manifest(), records));
  ASSERT_THAT(duel.crossovers, SizeIs(1));
  EXPECT_TRUE(std::isinf(duel.crossovers[0].at.high));
  EXPECT_GT(duel.crossovers[0].at.low, 4096);
}

TEST(Sweep, LaunchesWithoutAPointBesideTheCrossingDoNotCount) {
  RunBuilder builder = Crossing(5, 2150, 0.2).Spread(0);
  Records records = builder.Build();
  const auto drop = [&](const std::string& name, int launch) {
    std::erase_if(records.launches,
                  [&](const LaunchRecord& x) { return x.case_name == name && x.launch == launch; });
  };
  drop("c2", 3);  // at 1,024, beside the crossing
  drop("c4", 5);  // at 16,384, which launch 5 can do without
  drop("c0", 7);
  const Crossover x = DuelOf(Judge(builder.manifest(), records)).crossovers.at(0);
  EXPECT_EQ(x.launches, 11);
  EXPECT_EQ(x.launches_left_out, 1);
  EXPECT_NEAR(x.at.value, 2150, 1);
}

TEST(Sweep, APointWhereOneIsWrongIsNone) {
  RunBuilder builder = Crossing(5, 2150, 0.2).Spread(0);
  Records records = builder.Build();
  for (GateRecord& gate : records.gates) {
    if (gate.case_name == "c4" && gate.variant == "b") gate.passed = false;
  }
  const RunVerdict run = Judge(builder.manifest(), records);
  EXPECT_EQ(DuelOf(run).points, 4);
  EXPECT_EQ(DuelOf(run).crossovers.at(0).last, 4096);
  EXPECT_THAT(run.sweeps[0].points[4].winners, ElementsAre("a"));
  for (GateRecord& gate : records.gates) {
    if (gate.variant == "b" && gate.case_name != "c0") gate.passed = false;
  }
  EXPECT_EQ(DuelOf(Judge(builder.manifest(), records)).course, Course::kNotMeasured);
}

TEST(Sweep, StandingsNameWhoIsNotBeaten) {
  RunBuilder builder({"b", "c", "a"}, 3);
  builder.Effect("a", -0.1, 0).Effect("a", 0.1, 1).Effect("b", 0.1, 2);
  builder.manifest().sweeps = {{"s*", "context", {{"c0", 1}, {"c1", 2}, {"c2", 4}}}};
  const RunVerdict run = Judge(builder.manifest(), builder.Build());
  const std::vector<SweepStanding>& points = run.sweeps.at(0).points;
  EXPECT_EQ(points[1].value, 2);
  EXPECT_EQ(points[1].case_name, "c1");
  EXPECT_THAT(points[0].winners, ElementsAre("a"));
  EXPECT_THAT(points[1].winners, ElementsAre("b", "c"));
  EXPECT_THAT(points[2].winners, ElementsAre("c", "a"));
  EXPECT_THAT(run.sweeps[0].duels, SizeIs(3));
}

// Of whole simulated runs. At 12 launches the interval has a level of 95.2%.
TEST(Sweep, TheIntervalCoversTheCrossing) {
  constexpr int kRuns = 250;
  for (const double spread : {0.005, 0.02, 0.05}) {
    int found = 0, covered = 0;
    for (int run = 0; run < kRuns; ++run) {
      const double crossing = 64 * std::pow(4, 0.6 + 3.0 * run / kRuns);
      RunBuilder builder = Crossing(5, crossing, 0.1).Spread(spread).Seed(2026 + static_cast<uint64_t>(run));
      const SweepDuel duel = DuelOf(builder);
      if (duel.crossovers.size() != 1) continue;
      ++found;
      const Estimate& at = duel.crossovers[0].at;
      covered += at.low <= crossing && crossing <= at.high ? 1 : 0;
    }
    EXPECT_GE(found, 0.9 * kRuns) << spread;
    EXPECT_GE(covered, 0.91 * found) << spread << ": under 91% of " << found << " is a chance of 1 in 400";
  }
}

TEST(Sweep, NoCrossoverIsMadeOfNoise) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    RunBuilder same = Swept(6, [](double) { return 0; }).Spread(0.03).Seed(seed);
    EXPECT_NE(DuelOf(same).course, Course::kCrosses) << "seed " << seed;
    RunBuilder ahead = Swept(6, [](double) { return -0.02; }).Spread(0.03).Seed(seed);
    EXPECT_NE(DuelOf(ahead).course, Course::kCrosses) << "seed " << seed;
  }
}

}  // namespace
}  // namespace pagoda::judge

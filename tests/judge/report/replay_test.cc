#include "judge/report/replay.h"

#include <gtest/gtest.h>

#include "judge/report/sample_run.h"

namespace pagoda::judge {
namespace {

TEST(LabelOf, TheBaselineIsAWhereverItStands) {
  Manifest m = SampleManifest({"c"}, {"x", "y", "z"}, 12);
  m.baseline = m.variants[1];
  EXPECT_EQ(VariantsByLabel(m), (std::vector<std::string>{"y", "x", "z"}));
  EXPECT_EQ(LabelOf(m, "y"), "A");
  EXPECT_EQ(LabelOf(m, "x"), "B");
  EXPECT_EQ(LabelOf(m, "z"), "C");
  EXPECT_EQ(LabelOf(m, "unknown"), "-");
}

TEST(LabelOf, GoesOnAfterZ) {
  std::vector<std::string> variants;
  for (int i = 0; i < 53; ++i) variants.push_back(std::string("v").append(std::to_string(i)));
  const Manifest m = SampleManifest({"c"}, variants, 12);
  EXPECT_EQ(LabelOf(m, "v25"), "Z");
  EXPECT_EQ(LabelOf(m, "v26"), "AA");
  EXPECT_EQ(LabelOf(m, "v52"), "BA");
}

TEST(ConditionsOf, TakesTheWorstOverLaunchesThatEndedWell) {
  const Manifest m = SampleManifest({"c"}, {"a"}, 2);
  Records records;
  for (int launch = 0; launch < 3; ++launch) {
    records.launches.push_back(SampleLaunch(m, "c", launch, {{"a", 10}}, 0));
  }
  records.launches[0].before = {.load = 0.5,
                                .steal = 0.8,
                                .other_busy = 0.9,
                                .frequency_mhz = 2000,
                                .temperature_c = 50,
                                .throttle_events = 7};
  records.launches[0].after = {
      .load = 0.2, .involuntary_switches = 9, .frequency_mhz = 3000, .throttle_events = 9};
  records.launches[1].blocks = 4;
  records.launches[1].calls_per_epoch = 50;
  records.launches[2].status = LaunchStatus::kContaminated;
  records.launches[2].after.steal = 0.9;
  const Conditions all = ConditionsOf(records);
  EXPECT_EQ(all.launches, 3);
  EXPECT_EQ(all.good, 2);
  EXPECT_DOUBLE_EQ(all.elapsed_s, 4.5);
  EXPECT_DOUBLE_EQ(all.most_load, 0.5);
  EXPECT_DOUBLE_EQ(all.most_steal, 0.001);
  EXPECT_LT(all.most_other_busy, 0.9);
  EXPECT_EQ(all.most_switches, 9);
  EXPECT_DOUBLE_EQ(all.least_mhz, 2000);
  EXPECT_DOUBLE_EQ(all.most_mhz, 3000);
  EXPECT_DOUBLE_EQ(all.hottest_c, 50);
  EXPECT_EQ(all.throttle_events, 2);
  EXPECT_EQ(all.least_blocks, 4);
  EXPECT_EQ(all.most_blocks, 16);
  EXPECT_EQ(all.least_calls, 50);
  EXPECT_EQ(all.most_calls, 200);
  EXPECT_TRUE(all.null_arm);
}

TEST(ConditionsOf, NothingIsKnownWithoutLaunches) {
  const Conditions none = ConditionsOf({});
  EXPECT_EQ(none.good, 0);
  EXPECT_EQ(none.throttle_events, -1);
  EXPECT_FALSE(none.null_arm);
}

}  // namespace
}  // namespace pagoda::judge

#include "judge/verdict/samples.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "judge/verdict/run_builder.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

std::string FieldOfError(const Manifest& manifest, const Records& records) {
  try {
    SortRecords(manifest, records);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.field();
  }
  return "no error";
}

class SortRecordsTest : public testing::Test {
 protected:
  RunBuilder builder_{{"a", "b"}, 2};
  Manifest& manifest_ = builder_.manifest();
  Records records_ = builder_.Build();
};

TEST_F(SortRecordsTest, ASweepGoesOverCasesThatAreThere) {
  manifest_.sweeps = {{"s*", "context", {{"c0", 1}, {"c7", 2}}}};
  EXPECT_EQ(FieldOfError(manifest_, records_), "manifest.sweeps[0]");
}

TEST_F(SortRecordsTest, KeepsEveryCleanLaunchInOrder) {
  std::swap(records_.launches[0], records_.launches[11]);
  const auto sorted = SortRecords(manifest_, records_);
  ASSERT_EQ(sorted.size(), 2u);
  ASSERT_EQ(sorted[0].usable.size(), 12u);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(sorted[0].usable[static_cast<size_t>(i)]->launch, i);
  EXPECT_TRUE(sorted[0].failures.empty());
  EXPECT_EQ(sorted[0].never_run + sorted[0].left_out + sorted[0].rerun + sorted[0].failed, 0);
}

TEST_F(SortRecordsTest, ContaminatedLaunchIsReplacedByItsNextAttempt) {
  LaunchRecord again = records_.launches[3];
  again.attempt = 1;
  records_.launches[3].status = LaunchStatus::kContaminated;
  records_.launches.push_back(again);
  const auto sorted = SortRecords(manifest_, records_);
  EXPECT_EQ(sorted[0].usable.size(), 12u);
  EXPECT_EQ(sorted[0].usable[3]->attempt, 1);
  EXPECT_EQ(sorted[0].rerun, 1);
  EXPECT_EQ(sorted[0].left_out, 0);
}

TEST_F(SortRecordsTest, ContaminatedLaunchWithoutAnotherAttemptIsLeftOutWhole) {
  records_.launches[3].status = LaunchStatus::kContaminated;
  const auto sorted = SortRecords(manifest_, records_);
  EXPECT_EQ(sorted[0].usable.size(), 11u);
  EXPECT_EQ(sorted[0].left_out, 1);
  EXPECT_TRUE(sorted[0].failures.empty());  // a busy machine is nobody's fault
  EXPECT_EQ(sorted[1].usable.size(), 12u);
}

TEST_F(SortRecordsTest, FirstCleanAttemptCountsHoweverManyFollow) {
  LaunchRecord again = records_.launches[3];
  again.attempt = 1;
  records_.launches.push_back(again);
  EXPECT_EQ(SortRecords(manifest_, records_)[0].usable[3]->attempt, 0);
}

TEST_F(SortRecordsTest, LaunchesWithoutARecordAreCounted) {
  records_.launches.erase(records_.launches.begin(), records_.launches.begin() + 5);
  EXPECT_EQ(SortRecords(manifest_, records_)[0].never_run, 5);
}

TEST_F(SortRecordsTest, HungLaunchBlamesItsCulprit) {
  LaunchRecord& launch = records_.launches[3];
  launch.status = LaunchStatus::kHung;
  launch.reason = "no answer for 60 s";
  launch.culprit = "b";
  launch.arms.clear();
  launch.checks.clear();
  const auto sorted = SortRecords(manifest_, records_);
  EXPECT_EQ(sorted[0].failed, 1);
  ASSERT_EQ(sorted[0].failures.size(), 1u);
  EXPECT_EQ(sorted[0].failures.at("b").reason, Reason::kHung);
  EXPECT_THAT(sorted[0].failures.at("b").why, HasSubstr("60 s"));
  EXPECT_TRUE(sorted[1].failures.empty());
}

TEST_F(SortRecordsTest, CrashWithoutACulpritBlamesAll) {
  records_.launches[3].status = LaunchStatus::kCrashed;
  EXPECT_EQ(SortRecords(manifest_, records_)[0].failures.size(), 2u);
}

TEST_F(SortRecordsTest, FailedCheckOfTheNullArmIsTheBaselines) {
  LaunchRecord& launch = records_.launches[3];
  launch.status = LaunchStatus::kGateFailed;
  launch.checks.back().passed = false;
  launch.checks.back().fault = "row 3 is off";
  const auto sorted = SortRecords(manifest_, records_);
  ASSERT_EQ(sorted[0].failures.size(), 1u);
  EXPECT_EQ(sorted[0].failures.at("a").reason, Reason::kTimedOutputWrong);
  // The launch was timed whole: its other arms still count.
  EXPECT_EQ(sorted[0].usable.size(), 12u);
}

TEST_F(SortRecordsTest, FailedGateBeforeTimingComesFirst) {
  records_.gates[0].passed = false;
  records_.gates[0].fault = "NaN at row 0";
  records_.launches[2].checks[0].passed = false;
  EXPECT_EQ(SortRecords(manifest_, records_)[0].failures.at("a").reason, Reason::kGateFailed);
}

TEST_F(SortRecordsTest, FailedCheckCountsInAContaminatedLaunchToo) {
  records_.launches[3].status = LaunchStatus::kContaminated;
  records_.launches[3].checks[1].passed = false;
  EXPECT_TRUE(SortRecords(manifest_, records_)[0].failures.contains("b"));
}

TEST_F(SortRecordsTest, RefusesRecordsThatDontBelongToTheManifest) {
  Records other = records_;
  other.launches[4].case_name = "unknown";
  EXPECT_EQ(FieldOfError(manifest_, other), "records.launches[4].case");
  other = records_;
  other.launches[4].launch = 12;
  EXPECT_EQ(FieldOfError(manifest_, other), "records.launches[4].launch");
  other = records_;
  other.gates[1].run_id = "another";
  EXPECT_EQ(FieldOfError(manifest_, other), "records.gates[1].run_id");
  other = records_;
  other.gates[1].case_name = "";
  EXPECT_EQ(FieldOfError(manifest_, other), "records.gates[1].case");
}

TEST_F(SortRecordsTest, RefusesNamesAndSettingsThatTheManifestDoesntKnow) {
  const auto launch = [&](auto change) {
    Records records = records_;
    change(records.launches[4]);
    return FieldOfError(manifest_, records);
  };
  const auto gate = [&](auto change) {
    Records records = records_;
    change(records.gates[1]);
    return FieldOfError(manifest_, records);
  };
  EXPECT_EQ(gate([](GateRecord& g) { g.variant = "z"; }), "records.gates[1].variant");
  EXPECT_EQ(launch([](LaunchRecord& l) { l.arms[1].variant = "z"; }), "records.launches[4].arms[1].variant");
  EXPECT_EQ(launch([](LaunchRecord& l) { l.arms[1].variant = "a"; }), "records.launches[4].arms[1]");
  EXPECT_EQ(launch([](LaunchRecord& l) { l.arms[1].link = 1; }), "records.launches[4].arms[1].link");
  EXPECT_EQ(launch([](LaunchRecord& l) { l.checks[1].variant = "z"; }),
            "records.launches[4].checks[1].variant");
  EXPECT_EQ(launch([](LaunchRecord& l) { l.culprit = "z"; }), "records.launches[4].culprit");
  EXPECT_EQ(launch([](LaunchRecord& l) { l.cache = "warm"; }), "records.launches[4].cache");
  EXPECT_EQ(launch([](LaunchRecord& l) { l.threads = 7; }), "records.launches[4].threads");
}

TEST_F(SortRecordsTest, RefusesARecordThatStandsThereTwice) {
  Records twice = records_;
  twice.gates.push_back(twice.gates[2]);
  EXPECT_EQ(FieldOfError(manifest_, twice), "records.gates[4]");
  twice = records_;
  twice.launches.push_back(twice.launches[5]);
  EXPECT_EQ(FieldOfError(manifest_, twice), "records.launches[24]");
}

TEST_F(SortRecordsTest, NamesTheLineOfARecordThatWasReadFromAFile) {
  int line = 0;
  for (GateRecord& gate : records_.gates) gate.place = fmt::format("run/records.jsonl:{}", ++line);
  for (LaunchRecord& launch : records_.launches) launch.place = fmt::format("run/records.jsonl:{}", ++line);
  Records wrong = records_;
  wrong.launches[2].case_name = "other";
  EXPECT_EQ(FieldOfError(manifest_, wrong), "run/records.jsonl:7: case");
  wrong = records_;
  wrong.gates[1].run_id = "other";
  EXPECT_EQ(FieldOfError(manifest_, wrong), "run/records.jsonl:2: run_id");
  wrong = records_;
  wrong.launches.push_back(wrong.launches[5]);
  wrong.launches.back().place = "run/records.jsonl:29";
  try {
    SortRecords(manifest_, wrong);
    ADD_FAILURE() << "not refused";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "run/records.jsonl:29 repeats run/records.jsonl:10; leave one of the two away");
  }
}

TEST_F(SortRecordsTest, RefusesRecordsOfWhatIsCalledUnsupported) {
  manifest_.unsupported = {{"c1", "b", "why"}};
  EXPECT_EQ(FieldOfError(manifest_, records_), "records.gates[3].variant");
  std::erase_if(records_.gates, [](const GateRecord& g) { return g.case_name == "c1" && g.variant == "b"; });
  EXPECT_EQ(FieldOfError(manifest_, records_), "records.launches[12].arms[1].variant");
  manifest_.unsupported = {{"c1", "z", "why"}};
  EXPECT_EQ(FieldOfError(manifest_, records_), "manifest.unsupported[0].variant");
}

TEST_F(SortRecordsTest, RefusesAManifestThatContradictsItself) {
  const auto field = [&](auto change) {
    Manifest manifest = manifest_;
    change(manifest);
    return FieldOfError(manifest, records_);
  };
  EXPECT_EQ(field([](Manifest& m) { m.baseline = "z"; }), "manifest.baseline");
  EXPECT_EQ(field([](Manifest& m) { m.variants.clear(); }), "manifest.variants");
  EXPECT_EQ(field([](Manifest& m) { m.variants.push_back("a"); }), "manifest.variants");
  EXPECT_EQ(field([](Manifest& m) { m.cases.clear(); }), "manifest.cases");
  EXPECT_EQ(field([](Manifest& m) { m.cases[1].name = "c0"; }), "manifest.cases[1].name");
  EXPECT_EQ(field([](Manifest& m) { m.cases[1].weight = -1; }), "manifest.cases[1].weight");
  EXPECT_EQ(field([](Manifest& m) { m.cases[0].weight = m.cases[1].weight = 0; }), "manifest.cases");
  EXPECT_EQ(field([](Manifest& m) { m.delta = 0; }), "manifest.delta");
  EXPECT_EQ(field([](Manifest& m) { m.launches = 0; }), "manifest.launches");
  EXPECT_EQ(field([](Manifest& m) { m.unsupported = {{"c9", "a", "why"}}; }), "manifest.unsupported[0].case");
}

TEST(SampleOf, GivesOneValueOfEachKindPerLaunch) {
  RunBuilder builder({"a", "b"}, 1);
  const Records records = builder.Spread(0).Effect("b", -0.1).HostEffect("b", 0.2, 0).Build();
  const auto sorted = SortRecords(builder.manifest(), records);
  const ContrastSample device = SampleOf(sorted[0], "b", "a", "a", Clock::kDevice);
  ASSERT_EQ(device.typical.size(), 12u);
  EXPECT_THAT(device.typical, testing::Each(DoubleNear(-0.1, 1e-4)));
  EXPECT_THAT(device.null_floor, testing::Each(DoubleNear(0, 1e-4)));
  EXPECT_THAT(SampleOf(sorted[0], "b", "a", "a", Clock::kHost).typical, testing::Each(DoubleNear(0.2, 1e-4)));
}

TEST(SampleOf, NullValueIsTheSecondLinkOverTheFirst) {
  RunBuilder builder({"a", "b"}, 1);
  Records records = builder.Spread(0).Build();
  for (LaunchRecord& launch : records.launches) {
    for (double& x : launch.arms.back().device_ns) x *= 2;
  }
  const auto sorted = SortRecords(builder.manifest(), records);
  EXPECT_THAT(SampleOf(sorted[0], "b", "a", "a", Clock::kDevice).null_typical,
              testing::Each(DoubleNear(std::log(2), 1e-4)));
}

TEST(SampleOf, SkipsLaunchesThatLackAnArm) {
  RunBuilder builder({"a", "b"}, 1);
  Records records = builder.Build();
  records.launches[0].arms[1].device_ns.pop_back();  // cut short
  records.launches[1].arms.pop_back();               // no null arm
  const auto sorted = SortRecords(builder.manifest(), records);
  EXPECT_EQ(SampleOf(sorted[0], "b", "a", "a", Clock::kDevice).typical.size(), 10u);
}

TEST(SampleOf, WithoutAnyNullArmKeepsTheContrast) {
  RunBuilder builder({"a", "b"}, 1);
  Records records = builder.Build();
  for (LaunchRecord& launch : records.launches) launch.arms.pop_back();
  const auto sorted = SortRecords(builder.manifest(), records);
  const ContrastSample sample = SampleOf(sorted[0], "b", "a", "a", Clock::kDevice);
  EXPECT_EQ(sample.typical.size(), 12u);
  EXPECT_TRUE(sample.null_typical.empty());
}

TEST(Coarseness, IsTheResolutionOverTheShortestEpoch) {
  RunBuilder builder({"a", "b"}, 1);
  Records records = builder.Spread(0).Effect("b", std::log(0.5)).Build();
  records.launches[5].clock_resolution_ns = 1500;
  const auto sorted = SortRecords(builder.manifest(), records);
  // Three calls of half a millisecond.
  EXPECT_NEAR(CoarsenessOf(sorted[0], "b", "a", Clock::kDevice), 0.001, 1e-7);
}

TEST(WeightedMean, WeighsTheCasesOfEachLaunch) {
  const ContrastSample first{{1, 2, 3}, {10, 20, 30}, {4, 5, 6}, {0, 0, 0}};
  const ContrastSample second{{5, 6}, {50, 60}, {8, 9}, {1, 1}};
  const ContrastSample mean = WeightedMean({first, second}, {3, 1});
  EXPECT_THAT(mean.typical, ElementsAre(DoubleEq(2), DoubleEq(3)));
  EXPECT_THAT(mean.floor, ElementsAre(DoubleEq(20), DoubleEq(30)));
  EXPECT_THAT(mean.null_typical, ElementsAre(DoubleEq(5), DoubleEq(6)));
  EXPECT_THAT(mean.null_floor, ElementsAre(DoubleEq(0.25), DoubleEq(0.25)));
}

TEST(WeightedMean, HasNoNullArmWhereACaseHasNone) {
  const ContrastSample with{{1, 2}, {1, 2}, {4, 5}, {0, 0}};
  const ContrastSample without{{5, 6}, {5, 6}, {}, {}};
  EXPECT_TRUE(WeightedMean({with, without}, {1, 1}).null_typical.empty());
  EXPECT_TRUE(WeightedMean({}, {}).typical.empty());
}

}  // namespace
}  // namespace pagoda::judge

#include "judge/bench/setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/bench/fakes.h"
#include "judge/bench/sweeps.h"
#include "judge/stats/power.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_fakes::FakeSubject;
using testing_fakes::SmallCase;

class SetupTest : public testing::Test {
 protected:
  SetupTest() {
    suite_.name = "s";
    suite_.cases = {SmallCase(64), SmallCase(128), SmallCase(256)};
    suite_.variants = {"a", "b"};
    suite_.baseline = "b";
  }
  std::string Refusal() const {
    try {
      MakeSetup(suite_, selection_, subject_);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  }
  std::vector<std::string> Cases() const {
    std::vector<std::string> names;
    for (const CaseSpec& c : MakeSetup(suite_, selection_, subject_).cases) names.push_back(c.name);
    return names;
  }

  // Can't do contexts above its limit.
  struct Limited : FakeSubject {
    std::map<std::string, int64_t> limit;
    std::optional<std::string> WhyNot(const CaseSpec& spec, std::string_view v) const override {
      const auto found = limit.find(std::string(v));
      if (found == limit.end() || spec.contexts[0] <= found->second) return std::nullopt;
      return "context too long";
    }
  };
  Limited subject_;
  Suite suite_;
  Selection selection_;
};

TEST_F(SetupTest, TheSuiteSaysWhatNobodyAskedFor) {
  const RunSetup setup = MakeSetup(suite_, selection_, subject_);
  EXPECT_THAT(setup.variants, ElementsAre("a", "b"));
  EXPECT_EQ(setup.baseline, "b");
  EXPECT_THAT(setup.cases, SizeIs(3));
  EXPECT_THAT(setup.facts, SizeIs(3));
  EXPECT_EQ(setup.Contrasts(), 1);
  suite_.variants.clear();
  suite_.baseline.clear();
  EXPECT_THAT(MakeSetup(suite_, selection_, subject_).variants, ElementsAre("a", "b", "c"));
  EXPECT_EQ(MakeSetup(suite_, selection_, subject_).baseline, "a");
}

TEST_F(SetupTest, TheFirstVariantAskedForIsTheBaselineUnlessOneIsNamed) {
  selection_.variants = {"c", "b"};
  EXPECT_EQ(MakeSetup(suite_, selection_, subject_).baseline, "c");
  selection_.baseline = "b";
  EXPECT_EQ(MakeSetup(suite_, selection_, subject_).baseline, "b");
  EXPECT_THAT(MakeSetup(suite_, selection_, subject_).variants, ElementsAre("c", "b"));
  selection_.variants = {"all"};
  EXPECT_THAT(MakeSetup(suite_, selection_, subject_).variants, ElementsAre("a", "b", "c"));
}

TEST_F(SetupTest, AddedVariantsComeAfterTheOthersUnlessTheyAreNamed) {
  selection_.added = {"c", "b"};
  selection_.variants = {"a"};
  EXPECT_THAT(MakeSetup(suite_, selection_, subject_).variants, ElementsAre("a", "c", "b"));
  selection_.variants = {"b", "a"};
  EXPECT_THAT(MakeSetup(suite_, selection_, subject_).variants, ElementsAre("b", "a", "c"));
  selection_.variants = {"all"};
  EXPECT_THAT(MakeSetup(suite_, selection_, subject_).variants, ElementsAre("a", "b", "c"));
}

TEST_F(SetupTest, RefusesNamesThatAreNotThere) {
  selection_.variants = {"a", "d"};
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("--variants \"d\" is none of a, b, c")));
  selection_.variants = {"a", "a"};
  EXPECT_THAT(Refusal(), HasSubstr("--variants names \"a\" twice"));
  selection_.variants = {"a", "b"};
  selection_.baseline = "c";
  EXPECT_THAT(Refusal(), HasSubstr("--baseline = \"c\" is none of the variants a, b"));
  selection_ = {};
  suite_.variants = {"gone"};
  suite_.variants_at = "s.toml:2:12: variants";
  EXPECT_THAT(Refusal(), HasSubstr("s.toml:2:12: variants \"gone\""));
  suite_.variants.clear();
  suite_.baseline = "gone";
  suite_.baseline_at = "s.toml:3:12: baseline";
  EXPECT_THAT(Refusal(), HasSubstr("s.toml:3:12: baseline = \"gone\" is none of the variants a, b, c"));
}

TEST_F(SetupTest, OnlyFindsAnywhereInTheName) {
  selection_.only = "s(64|256)_";
  EXPECT_THAT(Cases(), ElementsAre(SmallCase(64).name, SmallCase(256).name));
  selection_.only = "s512";
  EXPECT_THAT(Refusal(),
              AllOf(HasSubstr("--only = \"s512\" finds none of the 3 cases"), HasSubstr("list cases s")));
  selection_.only = "(";
  EXPECT_THAT(Refusal(), HasSubstr("not a regular expression"));
  selection_.only = "^b1_.*bs\\d+_(?:hd64|hd128)_\\w{4}_decode$";  // as in ECMAScript
  EXPECT_EQ(Cases().size(), 3u);
  // Both took a matcher that backtracks for ever, or down to the end of its stack.
  selection_.only = "(.*)*xyz";
  EXPECT_THAT(Refusal(), HasSubstr("finds none of"));
  selection_.only = std::string(100'000, '(') + std::string(100'000, ')');
  EXPECT_EQ(Cases().size(), 3u);
}

TEST_F(SetupTest, CacheStatesCanBeSetOrBothBeAskedFor) {
  suite_.cases = {SmallCase(64)};
  selection_.warm = true;
  EXPECT_THAT(Cases(), ElementsAre(SmallCase(64).name + "_warm"));
  EXPECT_FALSE(MakeSetup(suite_, selection_, subject_).cases[0].cold);
  selection_.cold = true;
  EXPECT_THAT(Cases(), ElementsAre(SmallCase(64).name, SmallCase(64).name + "_warm"));
  suite_.cases[0].name = "mine";
  EXPECT_THAT(Cases(), ElementsAre("mine", "mine_warm"));
  // A suite that holds both already.
  suite_.cases = {SmallCase(64), SmallCase(64)};
  suite_.cases[1].cold = false;
  suite_.cases[1].name += "_warm";
  EXPECT_THAT(Cases(), ElementsAre(SmallCase(64).name, SmallCase(64).name + "_warm"));
}

TEST_F(SetupTest, UnsupportedPairsAreListedAndNeitherGatedNorTimed) {
  subject_.limit = {{"a", 128}, {"b", 200}};
  suite_.variants = {"a", "b", "c"};
  const RunSetup setup = MakeSetup(suite_, selection_, subject_);
  ASSERT_THAT(setup.unsupported, SizeIs(2));
  EXPECT_EQ(setup.unsupported[0].variant, "a");
  EXPECT_EQ(setup.unsupported[0].case_name, SmallCase(256).name);
  EXPECT_EQ(setup.unsupported[0].reason, "context too long");
  EXPECT_TRUE(setup.Supports(SmallCase(128).name, "a"));
  EXPECT_THAT(setup.GateCases()[2].variants, ElementsAre("c"));
  // The baseline b can't do the last case.
  const auto timed = setup.TimedCases({});
  ASSERT_THAT(timed, SizeIs(2));
  EXPECT_THAT(timed[0].arms, ElementsAre(ArmId{"a", 0}, ArmId{"b", 0}, ArmId{"c", 0}, ArmId{"b", 1}));
}

TEST_F(SetupTest, VariantsThatFailedTheGateAreNotTimedThere) {
  suite_.variants = {"a", "b", "c"};
  const RunSetup setup = MakeSetup(suite_, selection_, subject_);
  GateRecord failure;
  failure.case_name = SmallCase(64).name;
  failure.variant = "c";
  auto timed = setup.TimedCases({failure});
  ASSERT_THAT(timed, SizeIs(3));
  EXPECT_THAT(timed[0].arms, ElementsAre(ArmId{"a", 0}, ArmId{"b", 0}, ArmId{"b", 1}));
  EXPECT_THAT(timed[1].arms, SizeIs(4));
  failure.variant = "b";  // the baseline
  EXPECT_THAT(setup.TimedCases({failure}), SizeIs(2));
}

TEST_F(SetupTest, OneVariantAloneIsTimedAgainstItsNullArm) {
  selection_.variants = {"a"};
  const RunSetup setup = MakeSetup(suite_, selection_, subject_);
  ASSERT_THAT(setup.TimedCases({}), SizeIs(3));
  EXPECT_THAT(setup.TimedCases({})[0].arms, ElementsAre(ArmId{"a", 0}, ArmId{"a", 1}));
}

TEST_F(SetupTest, LaunchesFollowTheRuleUnlessTheyAreAskedFor) {
  RunSetup setup = MakeSetup(suite_, selection_, subject_);
  EXPECT_EQ(FewestLaunches(setup), LeastLaunches(0.05 / 3));
  EXPECT_EQ(LaunchesToRun(setup, 0), 12);
  EXPECT_EQ(LaunchesToRun(setup, 5), 5);
  setup.cases.resize(2000);
  EXPECT_GT(FewestLaunches(setup), 12);
  EXPECT_EQ(LaunchesToRun(setup, 0), FewestLaunches(setup) + kSpareLaunches);
}

TEST_F(SetupTest, TheManifestHoldsCasesFactsAndGaps) {
  subject_.limit = {{"a", 128}};
  const Manifest manifest = ManifestOf(MakeSetup(suite_, selection_, subject_));
  EXPECT_EQ(manifest.suite, "s");
  ASSERT_THAT(manifest.cases, SizeIs(3));
  EXPECT_EQ(manifest.cases[0].name, SmallCase(64).name);
  EXPECT_EQ(manifest.cases[0].bytes, 1e6);
  EXPECT_EQ(manifest.cases[0].flops, 2e6);
  EXPECT_EQ(manifest.cases[0].run_bytes, 4096);
  EXPECT_EQ(manifest.cases[0].dtype, "bf16");
  EXPECT_EQ(manifest.cases[0].cache, "cold");
  EXPECT_EQ(manifest.cases[0].problem.at("contexts"), "64");
  EXPECT_EQ(manifest.settings.at("epoch_ms"), "2");
  EXPECT_EQ(manifest.baseline, "b");
  EXPECT_THAT(manifest.unsupported, SizeIs(1));
}

TEST_F(SetupTest, ASuiteAsksForLeastWarmUpsAndSamples) {
  EXPECT_EQ(ManifestOf(MakeSetup(suite_, selection_, subject_)).settings.at("warmups"), "0");
  suite_.warmups = 16;
  suite_.samples = 51;
  const RunSetup setup = MakeSetup(suite_, selection_, subject_);
  EXPECT_EQ(ManifestOf(setup).settings.at("warmups"), "16");
  EXPECT_EQ(ManifestOf(setup).settings.at("samples"), "51");
  EXPECT_EQ(setup.Protocol(12).least_warmups, 16);
  EXPECT_EQ(setup.Protocol(12).slow_blocks, ProtocolOptions().slow_blocks);
  EXPECT_EQ(setup.Protocol(3).slow_blocks, 9);  // 3 launches x 9 blocks x 2
}

TEST_F(SetupTest, OnlyShortensASweepAndEndsOneOfASinglePoint) {
  MarkSwept("context", suite_.cases);
  const auto values = [this](const std::string& only) {
    selection_.only = only;
    std::vector<int64_t> found;
    for (const Sweep& sweep : ManifestOf(MakeSetup(suite_, selection_, subject_)).sweeps) {
      EXPECT_EQ(sweep.axis, "context");
      for (const SweepPoint& point : sweep.points) found.push_back(point.value);
    }
    return found;
  };
  EXPECT_THAT(values(""), ElementsAre(64, 128, 256));
  EXPECT_THAT(values("s(64|256)_"), ElementsAre(64, 256));
  EXPECT_THAT(values("s64_"), IsEmpty());
  selection_.cold = selection_.warm = true;
  EXPECT_THAT(values(""), ElementsAre(64, 128, 256, 64, 128, 256)) << "one for each state";
}

TEST_F(SetupTest, WhatWasNotMeasuredIsSaid) {
  RunSetup setup = MakeSetup(suite_, selection_, subject_);
  EXPECT_THAT(NotMeasured(setup, 2),
              ElementsAre("other machines", "other than 2 threads", "prefill", "warm caches", "f32", "f16"));
  setup.cases[0].queries = {512};
  setup.cases[1].dtype = DType::kF32;
  setup.cases[2].cold = false;
  EXPECT_THAT(NotMeasured(setup, 2), ElementsAre("other machines", "other than 2 threads", "f16"));
  setup.cases.resize(1);
  EXPECT_THAT(NotMeasured(setup, 1),
              ElementsAre("other machines", "more than 1 thread", "decode", "warm caches", "f32", "f16"));
}

}  // namespace
}  // namespace pagoda::judge

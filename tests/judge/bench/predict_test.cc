#include "judge/bench/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/bench/case_name.h"
#include "judge/bench/fakes.h"

namespace pagoda::judge {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// A byte count that the nominal machine needs 1 ms for at the bound, for each sequence.
struct BatchSubject : testing_fakes::FakeSubject {
  CaseFacts Facts(const CaseSpec& spec) const override {
    return {1e7 * static_cast<double>(spec.contexts.size()), 1, 4096};
  }
  std::optional<std::string> WhyNot(const CaseSpec& spec, std::string_view variant) const override {
    if (variant == "b") return "not at batch " + std::to_string(spec.contexts.size());
    return std::nullopt;
  }
};

class CutBatchesTest : public testing::Test {
 protected:
  RunSetup SetupOf(const std::vector<std::pair<std::string, int64_t>>& cases) const {
    Suite suite;
    suite.name = "s";
    for (const auto& [name, least_batch] : cases) {
      suite.cases.push_back(ParseCaseName(name));
      suite.cases.back().least_batch = least_batch;
    }
    return MakeSetup(suite, {}, subject_);
  }
  static std::vector<std::string> NamesOf(const RunSetup& setup) {
    std::vector<std::string> names;
    for (const CaseSpec& c : setup.cases) names.push_back(c.name);
    return names;
  }
  double LeastSeconds(const RunSetup& setup) const { return Predict(setup, 0, 1e-3).schedule.predicted_s; }

  BatchSubject subject_;
};

constexpr const char* kLarge = "b256_h2_kv1_s64_bs16_hd64_bf16_decode";
constexpr const char* kSmall = "b64_h4_kv1_s64_bs16_hd64_bf16_decode";

TEST_F(CutBatchesTest, WhatFitsByBlocksAndLaunchesKeepsItsBatches) {
  RunSetup setup = SetupOf({{kLarge, 16}, {kSmall, 16}});
  for (const double budget_s : {0.0, 1e6, LeastSeconds(setup)}) {
    CutBatches(setup, subject_, 0, budget_s);
    EXPECT_THAT(NamesOf(setup), ElementsAre(kLarge, kSmall)) << budget_s;
    EXPECT_THAT(setup.left_out, IsEmpty()) << budget_s;
  }
}

TEST_F(CutBatchesTest, HalvesTheLongestCaseUntilTheRunFits) {
  RunSetup setup = SetupOf({{kLarge, 16}, {kSmall, 16}});
  const RunSetup fits = SetupOf({{"b128_h2_kv1_s64_bs16_hd64_bf16_decode", 16}, {kSmall, 16}});
  CutBatches(setup, subject_, 0, LeastSeconds(fits));
  EXPECT_EQ(NamesOf(setup), NamesOf(fits));
  EXPECT_TRUE(Predict(setup, 0, LeastSeconds(fits)).schedule.fits);
  EXPECT_EQ(setup.facts[0].bytes, 1e7 * 128);
  ASSERT_EQ(setup.left_out.size(), 1);
  EXPECT_EQ(setup.left_out[0], std::string(kLarge) + " at batch 256: cut to 128 to fit the budget of " +
                                   DurationText(LeastSeconds(fits)));
  EXPECT_THAT(NotMeasured(setup, 2), Contains(setup.left_out[0]));
  // What a variant can't do is asked again for the smaller case.
  EXPECT_EQ(setup.unsupported[0].case_name, setup.cases[0].name);
  EXPECT_EQ(setup.unsupported[0].reason, "not at batch 128");
}

TEST_F(CutBatchesTest, StopsAtTheLeastBatch) {
  RunSetup setup = SetupOf({{kLarge, 16}, {kSmall, 33}, {"b8_h6_kv1_s64_bs16_hd64_bf16_decode", 0}});
  CutBatches(setup, subject_, 0, 1);
  EXPECT_THAT(NamesOf(setup), ElementsAre("b16_h2_kv1_s64_bs16_hd64_bf16_decode", kSmall,
                                          "b8_h6_kv1_s64_bs16_hd64_bf16_decode"));
  EXPECT_FALSE(Predict(setup, 0, 1).schedule.fits);
}

TEST_F(CutBatchesTest, NeverMakesACaseThatIsThereAlready) {
  RunSetup setup = SetupOf({{kLarge, 16}, {"b64_h2_kv1_s64_bs16_hd64_bf16_decode", 64}});
  CutBatches(setup, subject_, 0, 1);
  EXPECT_THAT(NamesOf(setup),
              ElementsAre("b128_h2_kv1_s64_bs16_hd64_bf16_decode", "b64_h2_kv1_s64_bs16_hd64_bf16_decode"));
}

TEST_F(CutBatchesTest, ANameOfItsOwnSaysTheBatch) {
  RunSetup setup = SetupOf({{kLarge, 64}});
  setup.cases[0].name = "mine";
  CutBatches(setup, subject_, 0, 1);
  EXPECT_THAT(NamesOf(setup), ElementsAre("mine_b64"));
  EXPECT_EQ(setup.left_out[0], "mine at batch 256: cut to 64 to fit the budget of 1 s");
}

}  // namespace
}  // namespace pagoda::judge

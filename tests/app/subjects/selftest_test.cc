#include "app/subjects/selftest.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "judge/bench/case_name.h"

namespace pagoda::app {
namespace {

constexpr const char* kVariant = "spmd_paged_attention";
constexpr const char* kShort = "b1_h4_kv2_s64_bs16_hd64_bf16_decode_warm";

class CountingArm : public judge::Arm {
 public:
  explicit CountingArm(std::vector<int64_t>& epochs) : epochs_(epochs) {}
  judge::EpochTime Run(int64_t calls) override {
    epochs_.push_back(calls);
    return {.host_ns = static_cast<double>(calls), .device_ns = static_cast<double>(calls)};
  }
  judge::CheckResult CheckTimedOutput() override {
    return {.passed = true, .max_abs_error = 0.5, .fault = ""};
  }

 private:
  std::vector<int64_t>& epochs_;
};

TEST(SlowedArm, MakesItsShareOfCallsMoreInEveryEpoch) {
  for (const double share : {0.005, 0.01, 0.02, 0.03, 0.05}) {
    std::vector<int64_t> epochs;
    SlowedArm arm(std::make_unique<CountingArm>(epochs), share);
    const int64_t calls = 437;
    double time = 0;
    for (int i = 0; i < 1000; ++i) time += arm.Run(calls).device_ns;
    EXPECT_NEAR(time / (1000.0 * calls), 1 + share, 1e-5);
    for (const int64_t made : epochs) {
      EXPECT_NEAR(static_cast<double>(made - calls), calls * share, 1.0);
      EXPECT_GT(made, calls);
    }
  }
}

TEST(SlowedArm, ItsOutputIsThatOfTheArm) {
  std::vector<int64_t> epochs;
  SlowedArm arm(std::make_unique<CountingArm>(epochs), 0.5);
  EXPECT_EQ(arm.CheckTimedOutput().max_abs_error, 0.5);
}

class SelftestSubjectTest : public testing::Test {
 protected:
  void SetUp() override { setenv("PAGODA_KERNELS", PAGODA_TEST_KERNELS, 1); }
  SelftestSubject subject_{kVariant};
};

TEST_F(SelftestSubjectTest, PlantsSlowdownsInShortCallsOnly) {
  const judge::CaseSpec brief = judge::ParseCaseName(kShort);
  const judge::CaseSpec lengthy = judge::ParseCaseName("b1_h16_kv8_s4096_bs64_hd128_bf16_decode");
  for (const PlantedArm& arm : PlantedArms()) {
    EXPECT_FALSE(subject_.WhyNot(brief, arm.name)) << arm.name;
    EXPECT_EQ(subject_.WhyNot(lengthy, arm.name).has_value(), arm.slower > 0) << arm.name;
  }
}

TEST_F(SelftestSubjectTest, EveryPlantedArmRunsAndIsRight) {
  const judge::CaseSpec spec = judge::ParseCaseName(kShort);
  judge::PrepareOptions options{.arms = {}, .seed = 3, .threads = 2, .cold = false};
  for (const std::string& name : subject_.Variants()) options.arms.push_back({name, 0});
  options.arms.push_back({kVariant, 1});
  const auto arms = subject_.Prepare(spec, options);
  ASSERT_EQ(arms.size(), options.arms.size());
  for (size_t i = 0; i < arms.size(); ++i) {
    EXPECT_GT(arms[i]->Run(200).device_ns, 0);
    const judge::CheckResult check = arms[i]->CheckTimedOutput();
    EXPECT_TRUE(check.passed) << options.arms[i].variant << ": " << check.fault;
  }
}

TEST_F(SelftestSubjectTest, TheGatePassesTheSameCodeAndFailsTheWrongOnes) {
  const judge::CaseSpec spec = judge::ParseCaseName("b2_h4_kv2_s130_bs16_hd64_bf16_q8_wl7");
  for (const char* right : {kVariant, "same_pointer", "other_link", "slower_5%"}) {
    const judge::GateResult result = subject_.Gate(spec, right, 2026, 2);
    EXPECT_TRUE(result.passed) << right << ": " << result.fault;
    EXPECT_EQ(result.variant, right);
  }
  for (const char* wrong : {"wrong_zeros", "wrong_mutated_input", "wrong_writes_past_output"}) {
    ASSERT_TRUE(subject_.Has(wrong));
    const judge::GateResult result = subject_.Gate(spec, wrong, 2026, 2);
    EXPECT_FALSE(result.passed) << wrong;
    EXPECT_EQ(result.variant, wrong);
  }
  EXPECT_TRUE(subject_.Gate(spec, kVariant, 2026, 2).passed);  // on inputs made anew
}

}  // namespace
}  // namespace pagoda::app

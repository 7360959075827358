#include "app/subjects/attention_subject.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "app/subjects/case_facts.h"
#include "app/subjects/variant_info.h"
#include "judge/bench/case_name.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

judge::CaseSpec Spec(const char* name) { return judge::ParseCaseName(name); }

TEST(SoftmaxFacts, DecodeIsTwoKvHeadsTimesDimTimesSizePerKey) {
  const judge::CaseFacts facts = FactsOf(Spec("b1_h16_kv8_s4096_bs64_hd128_bf16_decode"));
  EXPECT_EQ(facts.bytes, 2.0 * 8 * 128 * 2 * 4096);
  EXPECT_EQ(facts.flops, 4.0 * 16 * 128 * 4096);
  EXPECT_EQ(facts.run_bytes, 64.0 * 8 * 128 * 2);
}

TEST(SoftmaxFacts, CausalPrefillCountsVisiblePairs) {
  const double n = 4096;
  const double m = 512;
  const judge::CaseFacts facts = FactsOf(Spec("b1_h32_kv4_s4096_bs64_hd128_bf16_q512"));
  EXPECT_EQ(facts.flops, 4.0 * 32 * 128 * (m * (n - m) + m * (m + 1) / 2));
  EXPECT_EQ(facts.bytes, 2.0 * 4 * 128 * 2 * n);
}

TEST(SoftmaxFacts, AWindowHidesKeysFromBothFormulas) {
  // Rows 94..99 see 11 keys each: 84..99 between them.
  const judge::CaseFacts facts = FactsOf(Spec("b1_h2_kv1_s100_bs16_hd64_f32_q6_wl10"));
  EXPECT_EQ(facts.bytes, 2.0 * 64 * 4 * 16);
  EXPECT_EQ(facts.flops, 4.0 * 2 * 64 * 6 * 11);
}

TEST(SoftmaxFacts, KAndVMayHaveDifferentDims) {
  const judge::CaseFacts facts = FactsOf(Spec("b2_h2_kv2_s10-30_bs16_hd192_f16_decode_dv128"));
  EXPECT_EQ(facts.bytes, 40.0 * 2 * (192 + 128) * 2);
  EXPECT_EQ(facts.flops, 40.0 * 2 * 2 * (192 + 128));
  EXPECT_EQ(facts.run_bytes, 16.0 * 2 * 192 * 2);
}

TEST(SoftmaxFacts, ASharedKeyIsReadOnce) {
  judge::CaseSpec spec = Spec("b3_h2_kv1_s600-520-100_bs64_hd64_f32_decode");
  const double apart = FactsOf(spec).flops;
  // 0: 512 keys, 1: 88 keys, 2: 8 keys, and 100 keys of block 0 again.
  spec.blocks = {{0, 1}, {0, 2}, {0}};
  EXPECT_EQ(FactsOf(spec).bytes, 2.0 * 64 * 4 * (512 + 88 + 8));
  EXPECT_EQ(FactsOf(spec).flops, apart);
  // 591..599 of block 1, 511..519 of blocks 0 and 2, 91..99 of block 0.
  spec.window_left = 8;
  EXPECT_EQ(FactsOf(spec).bytes, 2.0 * 64 * 4 * (9 + 9 + 9));
}

TEST(SoftmaxFacts, CombinedPagesAreOneRun) {
  EXPECT_EQ(FactsOf(Spec("b1_h2_kv2_s30_bs16_hd64_f16_decode_combined")).run_bytes, 2.0 * 16 * 2 * 64 * 2);
}

TEST(VariantInfo, TellsOfAllVariantsAndTheirPromises) {
  const std::vector<VariantInfo> infos = DescribeVariants();
  ASSERT_EQ(infos.size(), SoftmaxVariants().size() + HstuVariants().size());
  for (const VariantInfo& info : infos) {
    EXPECT_FALSE(info.summary.empty());
    EXPECT_FALSE(info.guarantees.empty()) << info.name;
  }
}

class AttentionSubjectTest : public testing::Test {
 protected:
  void SetUp() override { setenv("PAGODA_KERNELS", PAGODA_TEST_KERNELS, 1); }

  static judge::PrepareOptions Arms() {
    judge::PrepareOptions options;
    options.seed = 7;
    options.threads = 2;
    options.cold = false;
    for (const SoftmaxVariant* variant : SoftmaxVariants())
      options.arms.push_back({std::string(variant->name), 0});
    options.arms.insert(options.arms.begin() + 1, {"gather", 1});
    return options;
  }
};

TEST_F(AttentionSubjectTest, EveryArmIsTimedAndRight) {
  AttentionSubject subject;
  const auto arms = subject.Prepare(Spec("b2_h4_kv2_s130-40_bs16_hd64_bf16_decode"), Arms());
  ASSERT_EQ(arms.size(), SoftmaxVariants().size() + 1);
  for (const auto& arm : arms) {
    const judge::EpochTime time = arm->Run(3);
    EXPECT_GT(time.device_ns, 0);
    EXPECT_GT(time.host_ns, time.device_ns);
    const judge::CheckResult check = arm->CheckTimedOutput();
    EXPECT_TRUE(check.passed) << check.fault;
    EXPECT_GT(check.max_abs_error, 0);
  }
}

TEST_F(AttentionSubjectTest, AnOutputThatNoCallWroteFailsTheCheck) {
  AttentionSubject subject;
  const auto arms = subject.Prepare(Spec("b1_h4_kv2_s40_bs16_hd64_f32_decode"), Arms());
  arms[0]->Run(0);
  const judge::CheckResult check = arms[0]->CheckTimedOutput();
  EXPECT_FALSE(check.passed);
  EXPECT_NE(check.fault.find("o[0][0][0]"), std::string::npos) << check.fault;
}

TEST_F(AttentionSubjectTest, ColdInputsExceedTheCaches) { EXPECT_GE(ColdBytes(), int64_t{256} << 20); }

TEST_F(AttentionSubjectTest, GatesThroughTheLoadedLibrary) {
  AttentionSubject subject;
  const judge::CaseSpec spec = Spec("b2_h4_kv2_s40-17_bs16_hd64_f16_decode");
  for (const std::string& variant : subject.VariantsOf(spec.op)) {
    EXPECT_EQ(subject.WhyNot(spec, variant), std::nullopt);
    const judge::GateResult result = subject.Gate(spec, variant, 2029, 2);
    EXPECT_TRUE(result.passed) << result.fault;
  }
  EXPECT_THROW(subject.Gate(spec, "nothing", 2029, 2), Error);
}

TEST_F(AttentionSubjectTest, GatesHstuThroughTheLoadedLibrary) {
  AttentionSubject subject;
  for (const char* name : {
           "hstu_b2_h4_kv2_s40-17_bs16_hd64_f16_decode",
           "hstu_b1_h2_kv2_s300_bs32_hd80_f32_q70_noncausal_wl40_wr3",
           "hstu_b2_h4_kv2_s90-61_bs16_hd64_bf16_q30_dv48_hnd_padded_i64_wl20_t12_g3_c5_rab",
           "hstu_b1_h4_kv1_s200_bs1_hd40_f32_q9_combined_t4_c2_al30_fa5",
       }) {
    const judge::CaseSpec spec = Spec(name);
    for (const std::string& variant : subject.VariantsOf(spec.op)) {
      EXPECT_EQ(subject.WhyNot(spec, variant), std::nullopt);
      for (const uint64_t seed : {2026, 2029}) {
        const judge::GateResult result = subject.Gate(spec, variant, seed, 2);
        EXPECT_TRUE(result.passed) << name << " " << variant << ": " << result.fault;
      }
    }
  }
}

TEST_F(AttentionSubjectTest, TimesHstuArms) {
  judge::PrepareOptions options = Arms();
  options.arms = {{"hstu_fused", 0}, {"hstu_gather_serial", 0}, {"hstu_fused", 1}};
  AttentionSubject subject;
  const auto arms = subject.Prepare(Spec("hstu_b2_h4_kv2_s40-17_bs16_hd64_f16_q5_t3"), options);
  ASSERT_EQ(arms.size(), 3);
  for (const auto& arm : arms) {
    const judge::EpochTime time = arm->Run(3);
    EXPECT_GT(time.device_ns, 0);
    EXPECT_GE(time.host_ns, time.device_ns);
    const judge::CheckResult check = arm->CheckTimedOutput();
    EXPECT_TRUE(check.passed) << check.fault;
  }
}

TEST_F(AttentionSubjectTest, AVariantOfAnotherOperatorSaysSo) {
  const AttentionSubject subject;
  EXPECT_EQ(subject.WhyNot(Spec("hstu_b1_h2_kv2_s40_bs16_hd64_f16_decode"), "gather"),
            "op = hstu_paged_attention is not what it computes");
  EXPECT_EQ(subject.WhyNot(Spec("b1_h2_kv2_s40_bs16_hd64_f16_decode"), "hstu_fused"),
            "op = softmax_paged_attention is not what it computes");
}

TEST(HstuFacts, CountVisiblePairsAndKeysSeen) {
  // Two rows of ten keys: the first sees nine of them.
  const judge::CaseFacts facts = FactsOf(Spec("hstu_b1_h4_kv2_s10_bs4_hd8_f32_q2"));
  EXPECT_EQ(facts.flops, 2.0 * 4 * (8 + 8) * (9 + 10));
  EXPECT_EQ(facts.bytes, 10.0 * 2 * (8 + 8) * 4);
  // A target sees the history and itself: 8 keys of history, 2 targets.
  EXPECT_EQ(FactsOf(Spec("hstu_b1_h4_kv2_s10_bs4_hd8_f32_q2_t2")).flops, 2.0 * 4 * (8 + 8) * (9 + 9));
  // A window leaves keys out that nobody sees.
  EXPECT_EQ(FactsOf(Spec("hstu_b1_h4_kv2_s10_bs4_hd8_f32_q2_wl1")).bytes, 3.0 * 2 * (8 + 8) * 4);
}

TEST_F(AttentionSubjectTest, GatesWithSharedPagesAndWithout) {
  AttentionSubject subject;
  judge::CaseSpec spec = Spec("b2_h4_kv2_s600-520_bs64_hd64_f16_decode");
  EXPECT_TRUE(subject.Gate(spec, "gather", 2026, 2).passed);
  const double apart = subject.Gate(spec, "gather", 2026, 2).max_abs_error;
  spec.blocks = {{5, 6}, {5, 7}};
  const judge::GateResult shared = subject.Gate(spec, "gather", 2026, 2);
  EXPECT_TRUE(shared.passed) << shared.fault;
  EXPECT_NE(shared.max_abs_error, apart) << "the same inputs as before";
}

}  // namespace
}  // namespace pagoda::app

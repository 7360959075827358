#include "app/subjects/hstu_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/subjects/elements.h"
#include "engine/attention/hstu/oracle.h"
#include "engine/attention/hstu/variant.h"
#include "judge/bench/case_name.h"

namespace pagoda::app {
namespace {

judge::CaseSpec Spec(const char* name) { return judge::ParseCaseName(name); }

class EveryHstuLayout : public testing::TestWithParam<const char*> {};

TEST_P(EveryHstuLayout, OnlyTargetRowsOfKAndVHoldNumbers) {
  const judge::CaseSpec spec = Spec(GetParam());
  const HstuInputs inputs(spec, {.seed = 5});
  const NormalHstuBatch batch = Normalise(inputs.batch());
  for (const TensorView& t : {inputs.call(0).k, inputs.call(0).v}) {
    for (int64_t b = 0; b < batch.batch; ++b) {
      for (int64_t row = batch.q_begin[b]; row < batch.q_begin[b + 1]; ++row) {
        const bool target = row >= batch.q_begin[b + 1] - spec.targets;
        for (int64_t i = 0; i < t.strides[0]; ++i)
          ASSERT_EQ(std::isnan(ReadElement(t.data, t.dtype, row * t.strides[0] + i)), !target) << row;
      }
    }
  }
}

TEST_P(EveryHstuLayout, LengthsAreThoseOfTheCase) {
  const judge::CaseSpec spec = Spec(GetParam());
  const HstuInputs inputs(spec, {.seed = 1});
  const NormalHstuBatch batch = Normalise(inputs.batch());
  EXPECT_EQ(batch.kv_len, spec.contexts);
  for (int64_t b = 0; b < batch.batch; ++b) {
    EXPECT_EQ(batch.q_len(b), spec.queries[b]);
    EXPECT_EQ(batch.cached[b], spec.contexts[b] - spec.targets);
    EXPECT_EQ(batch.contextual[b], spec.contextual);
  }
}

TEST_P(EveryHstuLayout, TheLastRowOfEachSequenceIsAligned) {
  const HstuInputs inputs(Spec(GetParam()), {.seed = 3});
  const NormalHstuBatch batch = Normalise(inputs.batch());
  for (int64_t b = 0; b < batch.batch; ++b) {
    const int64_t last = batch.q_begin[b + 1] - 1;
    EXPECT_EQ(std::count(inputs.aligned_rows().begin(), inputs.aligned_rows().end(), last), 1) << b;
  }
}

// Sequences taken out give the rows that they give in the whole.
TEST_P(EveryHstuLayout, APartGivesTheRowsOfTheWhole) {
  const judge::CaseSpec spec = Spec(GetParam());
  const HstuInputs inputs(spec, {.seed = 7});
  const OracleResult whole = HstuOracle(inputs.batch(), inputs.call(0));
  const int64_t b = std::ssize(spec.contexts) - 1;
  const std::vector<int64_t> twice = {b, b};
  const HstuInputs::Part part = inputs.Take(twice);
  const OracleResult taken = HstuOracle(part.batch, part.call);
  const size_t size = taken.out.size() / 2;
  ASSERT_EQ(size % static_cast<size_t>(spec.queries[b]), 0);
  for (size_t i = 0; i < taken.out.size(); ++i)
    ASSERT_EQ(taken.out[i], whole.out[whole.out.size() - size + i % size]) << i;
}

INSTANTIATE_TEST_SUITE_P(All, EveryHstuLayout,
                         testing::Values("hstu_b2_h4_kv2_s40-9_bs16_hd8_f32_decode",
                                         "hstu_b2_h4_kv2_s40_bs16_hd8_bf16_q5_hnd_padded_t3_rab",
                                         "hstu_b3_h2_kv2_s33-4-16_bs8_hd8_f16_q4_combined_i64_t4_g2",
                                         "hstu_b1_h1_kv1_s32_bs16_hd16_f32_q9_dv8_hnd_t2_c3"));

TEST(HstuInputs, OneSeedOneContent) {
  const judge::CaseSpec spec = Spec("hstu_b2_h4_kv2_s40-9_bs16_hd8_f32_q3_t2_rab");
  const uint64_t first = HstuInputs(spec, {.seed = 1}).Fingerprint();
  EXPECT_EQ(HstuInputs(spec, {.seed = 1}).Fingerprint(), first);
  EXPECT_NE(HstuInputs(spec, {.seed = 2}).Fingerprint(), first);
  EXPECT_EQ(HstuInputs(spec, {.seed = 1, .random_offsets = true}).Fingerprint(), first);
}

}  // namespace
}  // namespace pagoda::app

#include "app/subjects/hstu_inputs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/subjects/case_suite.h"
#include "app/subjects/elements.h"
#include "engine/attention/hstu/mask.h"
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

// What another process finds at the places of shared inputs.
TEST(HstuInputs, PlacesHoldWhatTheTensorsHold) {
  const judge::CaseSpec spec = Spec("hstu_b2_h4_kv2_s40-9_bs16_hd8_f32_q3_t2_rab");
  const HstuInputs inputs(
      spec, {.seed = 1, .least_pool_bytes = 100000, .random_offsets = true, .memory = Memory::kShared});
  const HstuCall last = inputs.call(inputs.pools() - 1);
  ASSERT_GT(inputs.pools(), 1u);
  for (const void* data : {last.q.data, last.k.data, last.v.data, last.rab.data, last.kv.k, last.kv.v}) {
    const FilePlace place = inputs.PlaceOf(data);
    std::ifstream file(place.path, std::ios::binary);
    std::array<char, 24> found{};
    file.seekg(place.offset);
    file.read(found.data(), found.size());
    EXPECT_EQ(std::memcmp(found.data(), data, found.size()), 0);
  }
}

TEST(HstuInputs, OneSeedOneContent) {
  const judge::CaseSpec spec = Spec("hstu_b2_h4_kv2_s40-9_bs16_hd8_f32_q3_t2_rab");
  const uint64_t first = HstuInputs(spec, {.seed = 1}).Fingerprint();
  EXPECT_EQ(HstuInputs(spec, {.seed = 1}).Fingerprint(), first);
  EXPECT_NE(HstuInputs(spec, {.seed = 2}).Fingerprint(), first);
  EXPECT_EQ(HstuInputs(spec, {.seed = 1, .random_offsets = true}).Fingerprint(), first);
}

class EveryHstuFile : public testing::TestWithParam<const char*> {
 protected:
  EveryHstuFile()
      : path_(fmt::format("{}/{}.safetensors", PAGODA_TEST_CASES, GetParam())),
        file_(CaseFile::Open(path_)),
        spec_(SuiteOf(file_, path_).cases.at(0)) {}
  std::filesystem::path path_;
  CaseFile file_;
  judge::CaseSpec spec_;
};

TEST_P(EveryHstuFile, EverythingButValuesIsTheFiles) {
  const auto& problem = std::get<HstuProblem>(file_.problem());
  const NormalHstuBatch want = Normalise(problem.batch);
  const HstuInputs inputs(spec_, {.seed = 5});
  const NormalHstuBatch got = Normalise(inputs.batch());
  EXPECT_EQ(got.q_begin, want.q_begin);
  EXPECT_EQ(got.kv_len, want.kv_len);
  EXPECT_EQ(got.history, want.history);
  EXPECT_EQ(got.contextual, want.contextual);
  EXPECT_EQ(got.k_begin, want.k_begin);
  EXPECT_EQ(got.page_ids, want.page_ids);
  EXPECT_EQ(got.mask, want.mask);
  EXPECT_EQ(got.alpha, want.alpha);
  EXPECT_EQ(got.scale, want.scale);
  for (int64_t b = 0; b < want.batch; ++b) {
    for (int64_t a = 0; a < want.q_len(b); ++a) {
      const RowSight mine = SightOf(got, b, a), theirs = SightOf(want, b, a);
      ASSERT_EQ(mine.ranges().size(), theirs.ranges().size());
      for (size_t i = 0; i < mine.ranges().size(); ++i) {
        EXPECT_EQ(mine.ranges()[i].begin, theirs.ranges()[i].begin);
        EXPECT_EQ(mine.ranges()[i].end, theirs.ranges()[i].end);
      }
    }
  }
  for (const auto& [mine, theirs] :
       {std::pair{inputs.call(0).rab, problem.call.rab}, {inputs.call(0).mask, problem.call.mask}}) {
    ASSERT_EQ(mine.empty(), theirs.empty());
    if (mine.empty()) continue;
    // By their bytes, since what no row reads is NaN.
    EXPECT_EQ(std::memcmp(mine.data, theirs.data, static_cast<size_t>(mine.elements() * SizeOf(mine.dtype))),
              0);
  }
}

TEST_P(EveryHstuFile, ItsValuesFollowFromTheSeed) {
  const uint64_t first = HstuInputs(spec_, {.seed = 1}).Fingerprint();
  EXPECT_EQ(HstuInputs(spec_, {.seed = 1, .random_offsets = true}).Fingerprint(), first);
  EXPECT_NE(HstuInputs(spec_, {.seed = 2}).Fingerprint(), first);
}

// Of K with variance 1, a score alpha * q.k has the variance of alpha * sqrt(D) * q.
TEST_P(EveryHstuFile, ScoresOfUnalignedRowsAreAboutNormal) {
  const HstuInputs inputs(spec_, {.seed = 3});
  const TensorView q = inputs.call(0).q;
  const std::vector<int64_t>& aligned = inputs.aligned_rows();
  double squares = 0;
  int64_t elements = 0;
  for (int64_t row = 0; row < q.shape[0]; ++row) {
    if (std::find(aligned.begin(), aligned.end(), row) != aligned.end()) continue;
    for (int64_t i = 0; i < q.strides[0]; ++i, ++elements)
      squares += std::pow(ReadElement(q.data, q.dtype, row * q.strides[0] + i), 2);
  }
  if (elements < 256) GTEST_SKIP() << "too few rows";
  const double spread = static_cast<double>(inputs.batch().params.alpha) *
                        std::sqrt(squares / static_cast<double>(elements) * static_cast<double>(q.shape[2]));
  EXPECT_NEAR(spread, 1, 0.2);  // the standard deviation is at most 0.05
}

TEST_P(EveryHstuFile, ColdCachesGetCopiesOfAllKeys) {
  constexpr int64_t kBytes = 1 << 18;
  const HstuInputs inputs(spec_, {.seed = 1, .least_pool_bytes = kBytes});
  ASSERT_GT(inputs.pools(), 1u);
  const OracleResult first = HstuOracle(inputs.batch(), inputs.call(0));
  const OracleResult last = HstuOracle(inputs.batch(), inputs.call(inputs.pools() - 1));
  EXPECT_EQ(first.out, last.out);
  const void* const keys = inputs.batch().paged() ? inputs.call(0).kv.k : inputs.call(0).k.data;
  EXPECT_NE(inputs.batch().paged() ? inputs.call(1).kv.k : inputs.call(1).k.data, keys);
}

TEST_P(EveryHstuFile, APartGivesTheRowsOfTheWhole) {
  const HstuInputs inputs(spec_, {.seed = 7});
  const NormalHstuBatch normal = Normalise(inputs.batch());
  const OracleResult whole = HstuOracle(inputs.batch(), inputs.call(0));
  const int64_t row = normal.q_heads * normal.head_dim_v;
  for (int64_t b = 0; b < normal.batch; ++b) {
    const std::vector<int64_t> twice = {b, b};
    const HstuInputs::Part part = inputs.Take(twice);
    const OracleResult taken = HstuOracle(part.batch, part.call);
    const int64_t size = normal.q_len(b) * row;
    ASSERT_EQ(std::ssize(taken.out), 2 * size);
    for (int64_t i = 0; i < 2 * size; ++i)
      ASSERT_EQ(taken.out[i], whole.out[normal.q_begin[b] * row + i % size]) << b << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryHstuFile,
                         testing::Values("hstu_contiguous_explicit_k_offsets", "hstu_dense_weights",
                                         "hstu_interval_paged", "hstu_rab_BH", "hstu_paged_shared_pages",
                                         "hstu_paged_no_history", "hstu_paged_page1"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace pagoda::app

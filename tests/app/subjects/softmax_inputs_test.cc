#include "app/subjects/softmax_inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "app/subjects/elements.h"
#include "engine/attention/oracle.h"
#include "engine/attention/variant.h"
#include "judge/bench/case_name.h"

namespace pagoda::app {
namespace {

judge::CaseSpec Spec(const char* name) { return judge::ParseCaseName(name); }

// Slots of a page that some sequence owns.
std::map<int64_t, int64_t> OwnedSlots(const NormalBatch& batch) {
  std::map<int64_t, int64_t> owned;
  for (int64_t b = 0; b < batch.batch; ++b) {
    for (int64_t j = 0; j < batch.kv_len[b]; ++j) {
      const int64_t page = batch.page_ids[batch.page_begin[b] + j / batch.kv.page_size];
      owned[page] = std::max(owned[page], j % batch.kv.page_size + 1);
    }
  }
  return owned;
}

class EveryLayout : public testing::TestWithParam<const char*> {};

TEST_P(EveryLayout, SlotsAreFiniteWhereOwnedAndNaNElsewhere) {
  for (const bool repeat : {false, true}) {
    const SoftmaxInputs inputs(Spec(GetParam()), {.seed = 5, .repeat_pages = repeat});
    const NormalBatch batch = Normalise(inputs.batch());
    const std::map<int64_t, int64_t> owned = OwnedSlots(batch);
    const PagedKvView kv = inputs.call(0).kv;
    int64_t unowned_pages = 0;
    for (int64_t page = 0; page < kv.num_pages; ++page) {
      const auto found = owned.find(page);
      const int64_t slots = found == owned.end() ? 0 : found->second;
      unowned_pages += slots == 0 ? 1 : 0;
      for (int64_t slot = 0; slot < kv.page_size; ++slot) {
        for (int64_t head = 0; head < kv.kv_heads; ++head) {
          for (int64_t d = 0; d < kv.head_dim; ++d) {
            const int64_t at =
                page * kv.k_page_stride + slot * kv.k_slot_stride + head * kv.k_head_stride + d;
            ASSERT_EQ(std::isnan(ReadElement(kv.k, kv.dtype, at)), slot >= slots) << page << " " << slot;
          }
          for (int64_t d = 0; d < kv.head_dim_v; ++d) {
            const int64_t at =
                page * kv.v_page_stride + slot * kv.v_slot_stride + head * kv.v_head_stride + d;
            ASSERT_EQ(std::isnan(ReadElement(kv.v, kv.dtype, at)), slot >= slots) << page << " " << slot;
          }
        }
      }
    }
    EXPECT_GE(unowned_pages, 2);
  }
}

TEST_P(EveryLayout, LengthsAreThoseOfTheCase) {
  const judge::CaseSpec spec = Spec(GetParam());
  const SoftmaxInputs inputs(spec, {.seed = 1});
  const NormalBatch batch = Normalise(inputs.batch());
  EXPECT_EQ(batch.kv_len, spec.contexts);
  for (int64_t b = 0; b < batch.batch; ++b) EXPECT_EQ(batch.q_len(b), spec.queries[b]);
  EXPECT_EQ(batch.total_q, inputs.call(0).q.shape[0]);
}

TEST_P(EveryLayout, TheLastRowOfEachSequenceIsAligned) {
  const SoftmaxInputs inputs(Spec(GetParam()), {.seed = 3});
  const NormalBatch batch = Normalise(inputs.batch());
  for (int64_t b = 0; b < batch.batch; ++b) {
    const int64_t last = batch.q_begin[b + 1] - 1;
    EXPECT_EQ(std::count(inputs.aligned_rows().begin(), inputs.aligned_rows().end(), last), 1) << b;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryLayout,
                         testing::Values("b2_h4_kv2_s40-9_bs16_hd8_f32_decode",
                                         "b2_h4_kv2_s40_bs16_hd8_bf16_q3_hnd_padded",
                                         "b3_h2_kv2_s33-1-16_bs8_hd8_f16_decode_combined_i64",
                                         "b1_h8_kv2_s32_bs16_hd16_f32_decode_dv8_hnd"));

TEST(SoftmaxInputs, OneSeedOneContent) {
  const judge::CaseSpec spec = Spec("b2_h4_kv2_s40-9_bs16_hd8_f32_decode_alibi_sinks");
  const uint64_t first = SoftmaxInputs(spec, {.seed = 1}).Fingerprint();
  EXPECT_EQ(SoftmaxInputs(spec, {.seed = 1}).Fingerprint(), first);
  EXPECT_NE(SoftmaxInputs(spec, {.seed = 2}).Fingerprint(), first);
  EXPECT_EQ(SoftmaxInputs(spec, {.seed = 1, .random_offsets = true}).Fingerprint(), first);
}

TEST(SoftmaxInputs, PagesComeInRandomOrderAndOnlyRepeatWhenAsked) {
  const judge::CaseSpec spec = Spec("b2_h4_kv2_s160_bs16_hd8_f32_decode");
  const NormalBatch once = Normalise(SoftmaxInputs(spec, {.seed = 4}).batch());
  EXPECT_FALSE(std::is_sorted(once.page_ids.begin(), once.page_ids.end()));
  EXPECT_EQ(std::set(once.page_ids.begin(), once.page_ids.end()).size(), once.page_ids.size());
  const NormalBatch repeated = Normalise(SoftmaxInputs(spec, {.seed = 4, .repeat_pages = true}).batch());
  EXPECT_EQ(repeated.page_ids[repeated.page_begin[0]], repeated.page_ids[repeated.page_begin[1]]);
}

TEST(SoftmaxInputs, EqualBlocksAreTheSamePagesStoredOnce) {
  judge::CaseSpec spec = Spec("b3_h4_kv2_s600-520-100_bs64_hd8_f32_decode");
  spec.blocks = {{3, 1}, {3, 2}, {3}};
  for (const char* form : {"csr", "padded"}) {
    spec.padded = form == std::string_view("padded");
    const SoftmaxInputs inputs(spec, {.seed = 4});
    const NormalBatch batch = Normalise(inputs.batch());
    const auto page = [&](int64_t b, int64_t i) { return batch.page_ids[batch.page_begin[b] + i]; };
    for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(page(0, i), page(1, i)) << form;
    for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(page(0, i), page(2, i)) << form;
    EXPECT_NE(page(0, 8), page(1, 8)) << form;
    // 8 pages of block 3, two of block 1, one of block 2; two that nobody owns.
    EXPECT_EQ(std::set(batch.page_ids.begin(), batch.page_ids.end()).size(), 11) << form;
    EXPECT_EQ(inputs.call(0).kv.num_pages, 13) << form;
    // The third sequence ends in the middle of a page that the others own whole.
    EXPECT_EQ(OwnedSlots(batch).at(page(2, 1)), 64) << form;
  }
}

TEST(SoftmaxInputs, BlocksThatAreAllApartChangeNothing) {
  judge::CaseSpec spec = Spec("b2_h4_kv2_s600-520_bs64_hd8_f32_decode");
  const uint64_t without = SoftmaxInputs(spec, {.seed = 4}).Fingerprint();
  spec.blocks = {{1, 2}, {3, 4}};
  EXPECT_EQ(SoftmaxInputs(spec, {.seed = 4}).Fingerprint(), without);
}

TEST(SoftmaxInputs, PoolsAreEqualCopiesOfEnoughBytes) {
  const judge::CaseSpec spec = Spec("b1_h4_kv2_s64_bs16_hd8_f32_decode");
  const int64_t bytes = PoolBytes(spec, 4 + 2);
  const SoftmaxInputs inputs(spec, {.seed = 4, .least_pool_bytes = 2 * bytes + 1, .random_offsets = true});
  ASSERT_EQ(inputs.pools(), 3);
  std::set<void*> places;
  for (size_t i = 0; i < inputs.pools(); ++i) {
    places.insert(inputs.call(i).kv.k);
    EXPECT_EQ(std::memcmp(inputs.call(i).kv.k, inputs.call(0).kv.k, bytes), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(inputs.call(i).kv.k) % 64, 0);
  }
  EXPECT_EQ(places.size(), 3);
}

TEST(SoftmaxInputs, EveryInputIsInTheFingerprint) {
  const SoftmaxInputs inputs(Spec("b2_h4_kv2_s40-9_bs16_hd8_f32_decode_alibi_sinks"),
                             {.seed = 1, .least_pool_bytes = 1 << 16});
  const uint64_t before = inputs.Fingerprint();
  const SoftmaxCall last = inputs.call(inputs.pools() - 1);
  const PageTable& table = inputs.batch().table;
  for (void* data :
       {inputs.call(0).q.data, inputs.call(0).kv.k, last.kv.v, last.alibi_slopes.data, last.sinks.data,
        inputs.batch().q_indptr.data, table.indptr.data, table.indices.data, table.last_page_len.data}) {
    auto* byte = static_cast<unsigned char*>(data);
    *byte ^= 1;
    EXPECT_NE(inputs.Fingerprint(), before);
    *byte ^= 1;
    EXPECT_EQ(inputs.Fingerprint(), before);
  }
}

// What the alignment is for: without any one of the keys that matter, the output is far from what it was.
TEST(SoftmaxInputs, AlignedKeysTakeAGoodPartOfTheWeight) {
  for (const char* name :
       {"b1_h16_kv8_s16384_bs64_hd128_bf16_decode", "b1_h1_kv1_s4096_bs16_hd64_f32_decode",
        "b1_h4_kv1_s2000_bs16_hd64_f16_decode_wl600_cap30", "b1_h2_kv2_s900_bs16_hd40_f32_q2_alibi"}) {
    SCOPED_TRACE(name);
    const SoftmaxInputs inputs(Spec(name), {.seed = 2026});
    const NormalBatch batch = Normalise(inputs.batch());
    const SoftmaxCall call = inputs.call(0);
    const int64_t last = batch.kv_len[0] - 1;
    const int64_t first = batch.window_left < 0 ? 0 : last - batch.window_left;
    const OracleResult before = SoftmaxOracle(inputs.batch(), call);
    for (const int64_t key : {first, last}) {
      const int64_t page = batch.page_ids[key / batch.kv.page_size];
      double largest = 0;
      for (int64_t head = 0; head < batch.kv_heads; ++head) {
        const int64_t at = page * call.kv.v_page_stride + key % batch.kv.page_size * call.kv.v_slot_stride +
                           head * call.kv.v_head_stride;
        for (int64_t d = 0; d < batch.head_dim_v; ++d) WriteElement(call.kv.v, call.kv.dtype, at + d, 100);
      }
      const OracleResult after = SoftmaxOracle(inputs.batch(), call);
      // An element of V that grew to 100 shows a weight of w as 100 w.
      for (size_t i = 0; i < after.out.size(); ++i) largest = std::max(largest, after.out[i] - before.out[i]);
      EXPECT_GT(largest, 10) << "key " << key;
    }
  }
}

TEST(SoftmaxInputs, APartHoldsTheSequencesAsTheyAre) {
  const SoftmaxInputs inputs(Spec("b3_h4_kv2_s40-9-33_bs16_hd8_f32_q2_padded"), {.seed = 8});
  const std::vector<int64_t> sequences = {2, 0};
  const SoftmaxInputs::Part part = inputs.Take(sequences);
  const OracleResult whole = SoftmaxOracle(inputs.batch(), inputs.call(0));
  const OracleResult alone = SoftmaxOracle(part.batch, part.call);
  const size_t row = 4;
  for (size_t i = 0; i < 2 * row; ++i) {
    EXPECT_EQ(alone.lse[i], whole.lse[4 * row + i]);
    EXPECT_EQ(alone.lse[2 * row + i], whole.lse[i]);
  }
}

}  // namespace
}  // namespace pagoda::app

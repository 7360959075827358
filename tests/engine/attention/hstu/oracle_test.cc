#include "engine/attention/hstu/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/attention/hstu/variant.h"

namespace pagoda {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

double Silu(double x) { return x / (1 + std::exp(-x)); }

// One sequence, one kv head, dims 1, f32, s = 1, causal; row i of q, k and v is what the test says.
class OneHead {
 public:
  OneHead(std::vector<float> q, std::vector<float> k, std::vector<float> v, int64_t q_heads = 1)
      : q_(std::move(q)), k_(std::move(k)), v_(std::move(v)) {
    const auto rows = static_cast<int64_t>(q_.size()) / q_heads;
    const auto keys = static_cast<int64_t>(k_.size());
    offsets_ = {0, rows};
    offsets_k_ = {0, keys};
    batch.q_heads = q_heads;
    batch.kv_heads = batch.head_dim = batch.head_dim_v = 1;
    batch.seq_offsets = TensorView::Dense(offsets_.data(), DType::kI64, {2});
    batch.seq_offsets_k = TensorView::Dense(offsets_k_.data(), DType::kI64, {2});
    batch.params.silu_scale = 1;
    call.q = TensorView::Dense(q_.data(), DType::kF32, {rows, q_heads, 1});
    call.k = TensorView::Dense(k_.data(), DType::kF32, {keys, 1, 1});
    call.v = TensorView::Dense(v_.data(), DType::kF32, {keys, 1, 1});
  }
  OneHead(const OneHead&) = delete;
  OneHead& operator=(const OneHead&) = delete;

  // The first keys lie in pages of two slots that stand in falling order; k and v have rows for q.
  void PutIntoPages(const std::vector<float>& k, const std::vector<float>& v) {
    const auto pages = static_cast<int32_t>(k.size() + 1) / 2;
    k_cache_.assign(2 * pages, kNaN);
    v_cache_.assign(2 * pages, kNaN);
    for (size_t j = 0; j < k.size(); ++j) {
      const size_t page = pages - 1 - j / 2;
      k_cache_[2 * page + j % 2] = k[j];
      v_cache_[2 * page + j % 2] = v[j];
    }
    for (int32_t page = pages; page-- > 0;) ids_.push_back(page);
    cached_ = {static_cast<int32_t>(k.size())};
    batch.seq_offsets_k = {};
    batch.kv = call.kv =
        PagedKvView::Split(TensorView::Dense(k_cache_.data(), DType::kF32, {pages, 2, 1, 1}),
                           TensorView::Dense(v_cache_.data(), DType::kF32, {pages, 2, 1, 1}), KvLayout::kNHD);
    batch.table = PageTable::Padded(TensorView::Dense(ids_.data(), DType::kI32, {1, pages}),
                                    TensorView::Dense(cached_.data(), DType::kI32, {1}));
  }
  void SetTargets(int64_t count) {
    targets_ = {count};
    batch.num_targets = TensorView::Dense(targets_.data(), DType::kI64, {1});
  }
  void SetContextuals(int64_t count) {
    contextuals_ = {count};
    batch.num_contextuals = TensorView::Dense(contextuals_.data(), DType::kI64, {1});
  }
  std::vector<double> Out() const {
    Normalise(batch);  // what the oracle asks for
    return HstuOracle(batch, call).out;
  }

  HstuBatch batch;
  HstuCall call;

 private:
  std::vector<float> q_, k_, v_, k_cache_, v_cache_;
  std::vector<int64_t> offsets_, offsets_k_, targets_, contextuals_;
  std::vector<int32_t> ids_, cached_;
};

void ExpectOut(const OneHead& p, const std::vector<double>& want) {
  const std::vector<double> got = p.Out();
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-14 * std::abs(want[i])) << i;
}

TEST(HstuOracle, OneKeyWeighsSiluOfItsScore) {
  // SiLU(ln 3) = ln 3 / (1 + 1/3).
  EXPECT_NEAR(OneHead({1}, {std::log(3.0F)}, {4}).Out()[0], 3 * std::log(3.0), 1e-6);
  ExpectOut(OneHead({2}, {-0.5}, {10}), {10 * -1 / (1 + std::exp(1.0))});
  ExpectOut(OneHead({0}, {7}, {10}), {0});
}

TEST(HstuOracle, WeightsAddUpWithoutASumToDivideBy) {
  ExpectOut(OneHead({2, 2}, {0.5, 1.5}, {10, 100}), {10 * Silu(1), 10 * Silu(1) + 100 * Silu(3)});
}

TEST(HstuOracle, AlphaMultipliesScoreAndBias) {
  OneHead p({2}, {0.5, 1.5}, {10, 100});
  p.batch.params.alpha = -0.5F;
  std::vector<float> rab = {0.25, -4};
  p.call.rab = TensorView::Dense(rab.data(), DType::kF32, {1, 1, 1, 2});
  ExpectOut(p, {10 * Silu(-0.5 * 1.25) + 100 * Silu(-0.5 * -1)});
}

TEST(HstuOracle, ABiasOfMinusInfinityLeavesAKeyOut) {
  OneHead p({2}, {0.5, 1.5}, {10, 100});
  std::vector<float> rab = {-std::numeric_limits<float>::infinity(), 0};
  p.call.rab = TensorView::Dense(rab.data(), DType::kF32, {1, 1, 1, 2});
  ExpectOut(p, {100 * Silu(3)});
}

TEST(HstuOracle, TheScaleIsGivenOrOneOverMaxSeqLen) {
  OneHead p({2}, {0.5}, {10});
  p.batch.params.silu_scale = -0.25F;
  p.batch.params.max_seq_len = 8;
  ExpectOut(p, {-2.5 * Silu(1)});
  p.batch.params.silu_scale = 0;
  ExpectOut(p, {10.0 / 8 * Silu(1)});
}

TEST(HstuOracle, RowsStandAtTheEndOfTheKeys) {
  ExpectOut(OneHead({1, 1}, {1, 1, 1}, {3, 60, 900}), {63 * Silu(1), 963 * Silu(1)});
}

TEST(HstuOracle, QueryHeadsShareTheirKvHead) {
  ExpectOut(OneHead({1, 2, -3}, {1}, {5}, 3), {5 * Silu(1), 5 * Silu(2), 5 * Silu(-3)});
}

TEST(HstuOracle, EachHeadHasItsBias) {
  OneHead p({1, 1, 1, 1}, {1, 1}, {5, 50}, 2);
  p.batch.params.mask = HstuMask::kNone;
  // [head][row][key], with what no sequence owns behind each row.
  std::vector<float> rab = {1, 2, kNaN, 3, 4, kNaN, /**/ 5, 6, kNaN, 7, 8, kNaN};
  p.call.rab = TensorView::Dense(rab.data(), DType::kF32, {1, 2, 2, 3});
  ExpectOut(p, {5 * Silu(2) + 50 * Silu(3), 5 * Silu(6) + 50 * Silu(7),  //
                5 * Silu(4) + 50 * Silu(5), 5 * Silu(8) + 50 * Silu(9)});
}

TEST(HstuOracle, DenseFactorsMultiplyWeightsAndHideNothingElse) {
  OneHead p({1, 1}, {1, 2}, {10, 100});
  p.batch.params.mask = HstuMask::kDense;
  std::vector<float> mask = {0.5, -1, 0, 3};
  p.call.mask = TensorView::Dense(mask.data(), DType::kF32, {1, 1, 2, 2});
  ExpectOut(p, {5 * Silu(1) - 100 * Silu(2), 300 * Silu(2)});
}

TEST(HstuOracle, TargetsComeFromTheRowsOfKAndV) {
  OneHead p({1, 1, 1}, {kNaN, 2, 3}, {kNaN, 1000, 20000});
  p.PutIntoPages({1, 1, 1}, {1, 10, 100});
  p.SetTargets(2);
  ExpectOut(p, {111 * Silu(1), 111 * Silu(1) + 1000 * Silu(2),  //
                111 * Silu(1) + 20000 * Silu(3)});
}

TEST(HstuOracle, TargetsOfOneGroupSeeEachOtherCausally) {
  OneHead p({1, 1, 1, 1}, {1, 1, 1, 1}, {1, 10, 100, 1000});
  p.SetTargets(3);
  ExpectOut(p, {1 * Silu(1), 11 * Silu(1), 101 * Silu(1), 1001 * Silu(1)});
  p.batch.params.target_group_size = 2;
  ExpectOut(p, {1 * Silu(1), 11 * Silu(1), 111 * Silu(1), 1001 * Silu(1)});
}

TEST(HstuOracle, ContextualRowsSeeTheHistoryAndNoTarget) {
  OneHead p({1, 1, 1, 1}, {1, 1, 1, 1}, {1, 10, 100, 1000});
  p.SetTargets(1);
  p.SetContextuals(2);
  ExpectOut(p, {111 * Silu(1), 111 * Silu(1), 111 * Silu(1), 1111 * Silu(1)});
  p.batch.params.window_left = 0;
  ExpectOut(p, {111 * Silu(1), 111 * Silu(1), 100 * Silu(1), 1000 * Silu(1)});
}

TEST(HstuOracle, WindowsCountFromTheRowInBothDirections) {
  OneHead p({1, 1, 1, 1}, {1, 1, 1, 1}, {1, 10, 100, 1000});
  p.batch.params.mask = HstuMask::kNone;
  p.batch.params.window_left = 1;
  p.batch.params.window_right = 0;
  ExpectOut(p, {1 * Silu(1), 11 * Silu(1), 110 * Silu(1), 1100 * Silu(1)});
  p.batch.params.window_left = std::numeric_limits<int64_t>::max();
  p.batch.params.window_right = 1;
  ExpectOut(p, {11 * Silu(1), 111 * Silu(1), 1111 * Silu(1), 1111 * Silu(1)});
}

TEST(HstuOracle, MaxAttnLenCountsFromAPlaceThatContextualKeysAndTargetsShare) {
  // Places of the keys: 0 0 1 2 3 3, as two are contextual and two targets.
  OneHead p({1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 10, 100, 1000, 10000, 100000});
  p.SetTargets(2);
  p.SetContextuals(2);
  p.batch.params.max_attn_len = 1;
  ExpectOut(
      p, {1111 * Silu(1), 1111 * Silu(1), 111 * Silu(1), 1100 * Silu(1), 11000 * Silu(1), 101000 * Silu(1)});
  p.batch.params.min_full_attn_seq_len = 1;
  ExpectOut(
      p, {1111 * Silu(1), 1111 * Silu(1), 111 * Silu(1), 1111 * Silu(1), 11111 * Silu(1), 101111 * Silu(1)});
}

TEST(HstuOracle, IntervalsDecideAlone) {
  OneHead p({1, 1}, {1, 1, 1, 1}, {1, 10, 100, 1000});
  p.batch.params.mask = HstuMask::kInterval;
  std::vector<int32_t> bounds = {1, 2, 3, /**/ 0, 1, 9};
  p.batch.interval_mask = TensorView::Dense(bounds.data(), DType::kI32, {2, 3});
  ExpectOut(p, {101 * Silu(1), 1110 * Silu(1)});
}

TEST(HstuOracle, FlopsCountVisiblePairs) {
  OneHead p({1, 1}, {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(HstuFlops(p.batch), 2 * 1 * (1 + 1) * (2 + 3));
}

TEST(HstuOracle, SamplesHoldTheFirstTheLastAndTheNamedRows) {
  const size_t rows = 50;
  OneHead p(std::vector<float>(rows, 1), std::vector<float>(rows, 1), std::vector<float>(rows, 1));
  const OracleResult r = HstuOracle(p.batch, p.call, {.max_flops = 1, .sample = 1, .seed = 3, .rows = {17}});
  EXPECT_TRUE(r.sampled);
  ASSERT_GE(r.rows.size(), 3U);
  EXPECT_EQ(r.rows.front(), 0);
  EXPECT_EQ(r.rows.back(), 49);
  bool named = false;
  for (size_t i = 0; i < r.rows.size(); ++i) {
    named = named || r.rows[i] == 17;
    EXPECT_NEAR(r.out[i], static_cast<double>(r.rows[i] + 1) * Silu(1), 1e-12);
  }
  EXPECT_TRUE(named);
}

}  // namespace
}  // namespace pagoda

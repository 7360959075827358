#include "engine/attention/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace pagoda {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One head of dim 1 over pages of two slots, f32: K and V are what the test says, key j at slot j.
class OneHead {
 public:
  OneHead(std::vector<float> q, std::vector<float> k, std::vector<float> v)
      : q_(std::move(q)), k_(std::move(k)), v_(std::move(v)), keys_(static_cast<int64_t>(k_.size())) {
    if (k_.size() % 2 == 1) {
      k_.push_back(std::nanf(""));
      v_.push_back(std::nanf(""));
    }
    const auto pages = static_cast<int64_t>(k_.size()) / 2;
    q_indptr_ = {0, static_cast<int64_t>(q_.size())};
    for (int32_t page = 0; page < pages; ++page) block_table_.push_back(page);
    block_table_.push_back(-7);
    lens_ = {static_cast<int32_t>(keys_)};
    call.q = TensorView::Dense(q_.data(), DType::kF32, {static_cast<int64_t>(q_.size()), 1, 1});
    call.kv = PagedKvView::Split(TensorView::Dense(k_.data(), DType::kF32, {pages, 2, 1, 1}),
                                 TensorView::Dense(v_.data(), DType::kF32, {pages, 2, 1, 1}), KvLayout::kNHD);
    batch.q_heads = 1;
    batch.kv = call.kv;
    batch.q_indptr = TensorView::Dense(q_indptr_.data(), DType::kI64, {2});
    batch.table = PageTable::Padded(TensorView::Dense(block_table_.data(), DType::kI32, {1, pages + 1}),
                                    TensorView::Dense(lens_.data(), DType::kI32, {1}));
  }
  SoftmaxBatch batch;
  SoftmaxCall call;

 private:
  std::vector<float> q_, k_, v_;
  int64_t keys_;
  std::vector<int64_t> q_indptr_;
  std::vector<int32_t> block_table_, lens_;
};

TEST(SoftmaxOracle, EqualScoresGiveTheMeanAndTheLogOfTheCount) {
  OneHead p({0}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 10});
  const OracleResult r = SoftmaxOracle(p.batch, p.call);
  EXPECT_DOUBLE_EQ(r.out[0], 4);
  EXPECT_DOUBLE_EQ(r.lse[0], std::log(5));
}

TEST(SoftmaxOracle, TwoKeysGiveTheLogisticFunction) {
  OneHead p({2}, {0.5, -0.25}, {1, 0});
  p.batch.params.scale = 3.0F;
  const OracleResult r = SoftmaxOracle(p.batch, p.call);
  const double difference = 3 * 2 * 0.75;
  EXPECT_NEAR(r.out[0], 1 / (1 + std::exp(-difference)), 1e-15);
  EXPECT_NEAR(r.lse[0], 3 + std::log1p(std::exp(-difference)), 1e-14);
}

TEST(SoftmaxOracle, CausalRowsAlignToTheEndOfTheKeys) {
  OneHead p({0, 0}, {0, 0, 0}, {3, 6, 9});
  const OracleResult r = SoftmaxOracle(p.batch, p.call);
  EXPECT_DOUBLE_EQ(r.out[0], 4.5);  // keys 0 and 1
  EXPECT_DOUBLE_EQ(r.out[1], 6);
}

TEST(SoftmaxOracle, RowsBeforeTheFirstKeySeeNothing) {
  OneHead p({0, 0, 0}, {0}, {5});
  const OracleResult r = SoftmaxOracle(p.batch, p.call);
  EXPECT_EQ(r.out, (std::vector<double>{0, 0, 5}));
  EXPECT_EQ(r.lse, (std::vector<double>{-kInfinity, -kInfinity, 0}));
}

TEST(SoftmaxOracle, WindowsCountFromTheRowInBothDirections) {
  OneHead p({0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, {1, 10, 100, 1000, 10000});
  p.batch.params.causal = false;
  p.batch.params.window_left = 1;
  p.batch.params.window_right = 0;
  EXPECT_EQ(SoftmaxOracle(p.batch, p.call).out, (std::vector<double>{1, 5.5, 55, 550, 5500}));
  p.batch.params.window_left = 0;
  p.batch.params.window_right = 1;
  EXPECT_EQ(SoftmaxOracle(p.batch, p.call).out, (std::vector<double>{5.5, 55, 550, 5500, 10000}));
}

TEST(SoftmaxOracle, HugeWindowsAreUnbounded) {
  OneHead p({0, 0, 0}, {0}, {5});
  p.batch.params.causal = false;
  p.batch.params.window_left = p.batch.params.window_right = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(SoftmaxOracle(p.batch, p.call).out, (std::vector<double>{5, 5, 5}));
}

TEST(SoftmaxOracle, SoftcapComesBeforeAlibi) {
  OneHead p({1}, {4, 0}, {1, 0});
  float slope = 0.5;
  p.call.alibi_slopes = TensorView::Dense(&slope, DType::kF32, {1});
  p.batch.params.softcap = 2;
  // Scores 2 tanh(2) - 0.5 and 0.
  EXPECT_NEAR(SoftmaxOracle(p.batch, p.call).out[0], 1 / (1 + std::exp(-(2 * std::tanh(2.0) - 0.5))), 1e-15);
}

TEST(SoftmaxOracle, MagnitudeIsThatOfTheTermsWhereTheyCancel) {
  OneHead cancelled({0}, {0, 0}, {3, -3});
  const OracleResult r = SoftmaxOracle(cancelled.batch, cancelled.call);
  EXPECT_NEAR(r.out[0], 0, 1e-15);
  EXPECT_NEAR(r.magnitude[0], std::sqrt(2 * 1.5 * 1.5), 1e-12);
  OneHead added({0}, {0, 0}, {3, 3});
  EXPECT_NEAR(SoftmaxOracle(added.batch, added.call).magnitude[0], 3, 1e-12);
  OneHead nothing({0}, {}, {});
  EXPECT_EQ(SoftmaxOracle(nothing.batch, nothing.call).magnitude[0], 0);
}

TEST(SoftmaxOracle, TheSinkTakesWeightAndIsInTheLse) {
  OneHead p({0}, {0, 0}, {3, 3});
  float sink = std::log(2.0F);
  p.call.sinks = TensorView::Dense(&sink, DType::kF32, {1});
  const OracleResult r = SoftmaxOracle(p.batch, p.call);
  EXPECT_NEAR(r.out[0], 1.5, 1e-7);
  EXPECT_NEAR(r.lse[0], std::log(4), 1e-7);
}

TEST(SoftmaxOracle, ARowWithOnlyASinkIsZeroWithTheSinksLogit) {
  OneHead p({0, 0}, {0}, {3});
  float sink = -1.5;
  p.call.sinks = TensorView::Dense(&sink, DType::kF32, {1});
  const OracleResult r = SoftmaxOracle(p.batch, p.call);
  EXPECT_EQ(r.out[0], 0);
  EXPECT_EQ(r.lse[0], -1.5);
}

TEST(SoftmaxOracle, DecodesEveryHalfAsTheFormatsSay) {
  // 1.5, the least subnormal, -2, and for f16 its largest value; K = 0 makes the output their value at one
  // key.
  const std::vector<uint16_t> f16 = {0x3e00, 0x0001, 0xc000, 0x7bff};
  const std::vector<uint16_t> bf16 = {0x3fc0, 0x0001, 0xc000, 0x7f7f};
  const std::vector<double> want_f16 = {1.5, std::ldexp(1, -24), -2, 65504};
  const std::vector<double> want_bf16 = {1.5, std::ldexp(1, -133), -2, std::ldexp(255, 120)};
  for (const bool half : {true, false}) {
    for (size_t i = 0; i < f16.size(); ++i) {
      uint16_t k = 0;
      uint16_t q = 0;
      uint16_t v = half ? f16[i] : bf16[i];
      const DType dtype = half ? DType::kF16 : DType::kBF16;
      OneHead p({0}, {0}, {0});
      p.call.q = TensorView::Dense(&q, dtype, {1, 1, 1});
      p.call.kv = PagedKvView::Split(TensorView::Dense(&k, dtype, {1, 1, 1, 1}),
                                     TensorView::Dense(&v, dtype, {1, 1, 1, 1}), KvLayout::kNHD);
      p.batch.kv = p.call.kv;
      EXPECT_EQ(SoftmaxOracle(p.batch, p.call).out[0], (half ? want_f16 : want_bf16)[i]) << i;
    }
  }
}

TEST(SoftmaxOracle, FlopsCountVisiblePairs) {
  OneHead p({0, 0}, {0, 0, 0}, {0, 0, 0});
  EXPECT_EQ(SoftmaxFlops(p.batch), 2 * (1 + 1) * (2 + 3));
  p.batch.params.window_left = 0;
  EXPECT_EQ(SoftmaxFlops(p.batch), 2 * (1 + 1) * 2);
}

TEST(SoftmaxOracle, ASampleHoldsTheFirstTheLastAndTheAskedForRows) {
  OneHead p(std::vector<float>(100, 0), std::vector<float>(100, 0), std::vector<float>(100, 1));
  OracleOptions options;
  options.max_flops = 10;
  options.sample = 3;
  options.seed = 7;
  options.rows = {42, 1000};
  const OracleResult all = SoftmaxOracle(p.batch, p.call);
  const OracleResult some = SoftmaxOracle(p.batch, p.call, options);
  EXPECT_FALSE(all.sampled);
  EXPECT_TRUE(some.sampled);
  EXPECT_EQ(all.rows.size(), 100);
  EXPECT_EQ(some.rows.front(), 0);
  EXPECT_EQ(some.rows.back(), 99);
  EXPECT_TRUE(std::find(some.rows.begin(), some.rows.end(), 42) != some.rows.end());
  EXPECT_LE(some.rows.size(), 6);
  for (size_t i = 0; i < some.rows.size(); ++i) EXPECT_EQ(some.lse[i], all.lse[some.rows[i]]);
}

TEST(SoftmaxOracle, APoolChangesNothing) {
  OneHead p({1, 2, 3}, {1, -1, 2, 0.5}, {1, 2, 3, 4});
  ThreadPool pool(2, false);
  const OracleResult alone = SoftmaxOracle(p.batch, p.call);
  const OracleResult shared = SoftmaxOracle(p.batch, p.call, {}, &pool);
  EXPECT_EQ(alone.out, shared.out);
  EXPECT_EQ(alone.lse, shared.lse);
}

}  // namespace
}  // namespace pagoda

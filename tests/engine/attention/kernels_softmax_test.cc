// The softmax kernels of the table: windows, running states, exp and tanh, on the instruction set that
// PAGODA_ISA names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/attention/kernels/kernels.h"
#include "engine/attention/tiles.h"

namespace pagoda::testing {
namespace {

const AttentionKernels& Kernels() { return ActiveAttentionKernels(); }

int64_t RoundUp(int64_t n) { return Kernels().dim_pad(n); }

// One row of a tile and what the formulas make of it.
struct Row {
  std::vector<float> scores;  // [keys]; NaN outside the window
  RowWindow window;
  float softcap = 0;
  RowState state = {-kInfinity, 0.0F};

  int64_t keys() const { return static_cast<int64_t>(scores.size()); }
  bool sees(int64_t j) const { return j >= window.begin && j < window.end; }
  double Shaped(int64_t j) const {
    double s = scores[j];
    if (softcap > 0) s = softcap * std::tanh(s / softcap);
    if (window.slope != 0) s += double{window.slope} * (double{window.distance} + static_cast<double>(j));
    return s;
  }
  double Max() const {
    double max = state.max;
    for (int64_t j = window.begin; j < window.end; ++j) max = std::max(max, Shaped(j));
    return max;
  }
};

Row ArbitraryRow(Random& random, int64_t keys, float softcap, bool alibi) {
  Row row;
  row.softcap = softcap;
  row.scores.resize(keys, kNaN);
  const auto cut = static_cast<int32_t>(random.Between(0, keys));
  const auto end = static_cast<int32_t>(random.Between(cut, keys));
  const auto all = static_cast<int32_t>(keys);
  const RowWindow windows[] = {{0, all},
                               {0, all},
                               {cut, end},
                               {cut, cut},
                               {all, all},
                               {0, 0},
                               {std::min(cut, std::max(all - 1, 0)), std::min(cut + 1, all)}};
  row.window = windows[random.Below(std::size(windows))];
  if (alibi) {
    row.window.slope = -0.25F;
    row.window.distance = static_cast<float>(random.Between(-100, 20));
  }
  for (int64_t j = row.window.begin; j < row.window.end; ++j) {
    row.scores[j] = static_cast<float>(6 * random.Normal());
  }
  const float maxima[] = {-kInfinity, -500.0F, 0.0F, 3.0F, 500.0F};
  row.state.max = maxima[random.Below(std::size(maxima))];
  row.state.sum = row.state.max == -kInfinity ? 0.0F : 2.5F;
  return row;
}

// Weights, state and factor of `row` against the formulas.
void ExpectRight(const Row& row, const std::vector<float>& weights, const RowState& state, float factor,
                 const std::string& where) {
  const double max = row.Max();
  // f32 scores of size s carry an error of about s * 2^-23 into the exponent.
  double size = std::abs(std::isfinite(row.state.max) ? row.state.max : 0);
  for (int64_t j = row.window.begin; j < row.window.end; ++j) {
    size = std::max({size, std::abs(double{row.scores[j]}), std::abs(row.Shaped(j))});
  }
  const double relative = 1e-6 + 4 * size * 0x1p-23;
  double sum = 0;
  for (int64_t j = 0; j < row.keys(); ++j) {
    const double want = row.sees(j) && max > -INFINITY ? std::exp(row.Shaped(j) - max) : 0;
    // Below exp(-87) a weight may be flushed to 0.
    ASSERT_NEAR(weights[j], want, relative * want + 2e-38) << where << " key " << j;
    if (!row.sees(j)) {
      ASSERT_EQ(weights[j], 0.0F) << where << " key " << j;
    }
    sum += want;
  }
  if (max == -INFINITY) {
    ASSERT_EQ(factor, 1.0F) << where;
    ASSERT_EQ(state.max, -kInfinity) << where;
    ASSERT_EQ(state.sum, 0.0F) << where;
    return;
  }
  const double want_factor = std::exp(row.state.max - max);
  ASSERT_NEAR(factor, want_factor, relative * want_factor + 2e-38) << where;
  ASSERT_NEAR(state.max, max, relative * (1 + std::abs(max))) << where;
  const double want_sum = row.state.sum * want_factor + sum;
  ASSERT_NEAR(state.sum, want_sum, 2 * relative * want_sum) << where;
}

TEST(AttentionKernels, RowsOfEveryWindowAndState) {
  Random random(1);
  for (const float softcap : {0.0F, 5.0F}) {
    for (const bool alibi : {false, true}) {
      for (int64_t keys = 0; keys <= 70; ++keys) {
        for (int repeat = 0; repeat < 8; ++repeat) {
          const Row row = ArbitraryRow(random, keys, softcap, alibi);
          Elements scores(RoundUp(keys));
          std::ranges::copy(row.scores, scores.floats());
          RowState state = row.state;
          const float factor = Kernels().softmax_row(scores.floats(), keys, row.window, {softcap}, &state);
          ASSERT_NO_FATAL_FAILURE(
              ExpectRight(row, {scores.floats(), scores.floats() + keys}, state, factor,
                          fmt::format("keys {} window {}..{} softcap {} alibi {} max {}", keys,
                                      row.window.begin, row.window.end, softcap, alibi, row.state.max)));
        }
      }
    }
  }
}

TEST(AttentionKernels, ColumnsOfEveryWindowAndState) {
  Random random(2);
  for (const float softcap : {0.0F, 5.0F}) {
    for (const bool alibi : {false, true}) {
      for (int64_t rows = 1; rows <= 40; ++rows) {
        const int64_t keys = random.Between(0, 70);
        const int64_t ld = RoundUp(rows) + Kernels().lanes * random.Between(0, 1);
        std::vector<Row> tile;
        std::vector<RowWindow> windows;
        std::vector<RowState> states;
        bool edge = random.Chance(0.2);
        const bool whole = random.Chance(0.3);
        // The lanes past the last row hold anything.
        Elements scores(keys * ld);
        for (int64_t r = 0; r < rows; ++r) {
          Row row = ArbitraryRow(random, keys, softcap, alibi);
          if (whole) {
            row.window.begin = 0;
            row.window.end = static_cast<int32_t>(keys);
            for (float& s : row.scores) s = static_cast<float>(6 * random.Normal());
          }
          edge = edge || row.window.begin > 0 || row.window.end < keys;
          for (int64_t j = 0; j < keys; ++j) scores.Set(j * ld + r, row.scores[j]);
          windows.push_back(row.window);
          states.push_back(row.state);
          tile.push_back(std::move(row));
        }
        Elements factors(rows);
        Kernels().softmax_columns(scores.floats(), keys, rows, ld, windows.data(), edge, alibi, {softcap},
                                  states.data(), factors.floats());
        for (int64_t r = 0; r < rows; ++r) {
          std::vector<float> weights(keys);
          for (int64_t j = 0; j < keys; ++j) weights[j] = scores.at(j * ld + r);
          ASSERT_NO_FATAL_FAILURE(
              ExpectRight(tile[r], weights, states[r], factors.at(r),
                          fmt::format("rows {} keys {} row {} window {}..{} softcap {} alibi {}", rows, keys,
                                      r, windows[r].begin, windows[r].end, softcap, alibi)));
        }
      }
    }
  }
}

TEST(AttentionKernels, ScoresOfMinusInfinityAreNoKeysAtAll) {
  constexpr int64_t kKeys = 21;
  Elements row(RoundUp(kKeys), -kInfinity);
  RowState state = {-kInfinity, 0.0F};
  EXPECT_EQ(Kernels().softmax_row(row.floats(), kKeys, {0, kKeys, 0, 0}, {}, &state), 1.0F);
  EXPECT_EQ(state.max, -kInfinity);
  EXPECT_EQ(state.sum, 0.0F);
  for (int64_t j = 0; j < kKeys; ++j) EXPECT_EQ(row.at(j), 0.0F);

  const int64_t ld = RoundUp(1);
  Elements column(kKeys * ld, -kInfinity);
  const RowWindow window = {0, kKeys, 0, 0};
  float factor = 0;
  Kernels().softmax_columns(column.floats(), kKeys, 1, ld, &window, false, false, {}, &state, &factor);
  EXPECT_EQ(factor, 1.0F);
  EXPECT_EQ(state.max, -kInfinity);
  EXPECT_EQ(state.sum, 0.0F);
  for (int64_t j = 0; j < kKeys; ++j) EXPECT_EQ(column.at(j * ld), 0.0F);
}

// exp(x) over all negative floats: with a running max of 0 a score x has the weight exp(x).
TEST(AttentionKernels, ExpIsWithinFourUlp) {
  constexpr int64_t kKeys = 4096;
  Random random(3);
  double worst = 0;
  for (int batch = 0; batch < 200; ++batch) {
    Elements scores(kKeys, 0.0F);
    for (int64_t j = 0; j < kKeys; ++j) {
      // Half of them anywhere among the bit patterns, half where exp is neither 1 nor 0.
      const auto bits = static_cast<uint32_t>(random.Below(0x7f800000U + 1)) | 0x80000000U;
      scores.Set(j,
                 batch % 2 == 0 ? std::bit_cast<float>(bits) : static_cast<float>(-110 * random.Uniform()));
    }
    const std::vector<float> x(scores.floats(), scores.floats() + kKeys);
    RowState state = {0.0F, 1.0F};
    ASSERT_EQ(Kernels().softmax_row(scores.floats(), kKeys, {0, kKeys, 0, 0}, {}, &state), 1.0F);
    ASSERT_EQ(state.max, 0.0F);
    for (int64_t j = 0; j < kKeys; ++j) {
      const float p = scores.at(j);
      if (x[j] < -87.0F && p == 0.0F) continue;
      const double ulps = Ulps(p, std::exp(double{x[j]}));
      worst = std::max(worst, ulps);
      ASSERT_LE(ulps, 4) << "exp(" << x[j] << ") = " << p;
    }
  }
  RecordProperty("worst_ulp", fmt::format("{:.2f}", worst));
}

// With one key and no state the running max is the score itself, so a softcap of 1 shows tanh.
TEST(AttentionKernels, TanhIsWithinFourUlp) {
  Random random(4);
  const int64_t room = Kernels().lanes;
  Elements scores(room, 0.0F);
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    const auto bits = static_cast<uint32_t>(random.Bits());
    float x = i % 2 == 0 ? std::bit_cast<float>(bits) : static_cast<float>(3 * random.Normal());
    if (std::isnan(x)) x = kInfinity;
    const auto lane = static_cast<int32_t>(random.Below(room));
    scores.Set(lane, x);
    RowState state = {-kInfinity, 0.0F};
    Kernels().softmax_row(scores.floats(), room, {lane, lane + 1, 0, 0}, {1.0F}, &state);
    const double ulps = Ulps(state.max, std::tanh(double{x}));
    worst = std::max(worst, ulps);
    ASSERT_LE(ulps, 4) << "tanh(" << x << ") = " << state.max;
    ASSERT_EQ(state.sum, 1.0F);
  }
  RecordProperty("worst_ulp", fmt::format("{:.2f}", worst));
}

// 2^24 is where f32 stops telling neighbouring key numbers apart.
TEST(AttentionKernels, WindowsAreExactPast16MillionKeys) {
  constexpr int32_t kKeys = (1 << 24) + 70;
  for (int32_t begin = kKeys - 40; begin < kKeys - 35; ++begin) {
    const RowWindow window = {begin, begin + 20, 0, 0};
    Elements scores(RoundUp(kKeys), 0.0F);
    RowState state = {-kInfinity, 0.0F};
    Kernels().softmax_row(scores.floats(), kKeys, window, {}, &state);
    EXPECT_EQ(state.sum, 20.0F) << begin;
    for (int32_t j = kKeys - 60; j < kKeys; ++j) {
      ASSERT_EQ(scores.at(j), j >= begin && j < begin + 20 ? 1.0F : 0.0F) << begin << " key " << j;
    }
  }
}

}  // namespace
}  // namespace pagoda::testing

#include <gtest/gtest.h>
#include <pagoda/softmax.h>
#include <pagoda/status.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct State {
  std::vector<float> out, lse;
  bool operator==(const State&) const = default;
};

State Merged(State a, const State& b) {
  pagoda::MergeSoftmaxStates(a.out, a.lse, b.out, b.lse, static_cast<int64_t>(a.out.size() / a.lse.size()));
  return a;
}

// Keys with scores and values as one state of a single row of two dimensions, in double.
State Exact(const std::vector<double>& scores, const std::vector<double>& values) {
  double sum = 0;
  double out[2] = {0, 0};
  for (size_t i = 0; i < scores.size(); ++i) {
    sum += std::exp(scores[i]);
    out[0] += std::exp(scores[i]) * values[i];
    out[1] -= std::exp(scores[i]) * values[i];
  }
  return {{static_cast<float>(out[0] / sum), static_cast<float>(out[1] / sum)},
          {static_cast<float>(std::log(sum))}};
}

void ExpectNear(const State& got, const State& want, float tolerance) {
  for (size_t i = 0; i < want.out.size(); ++i) EXPECT_NEAR(got.out[i], want.out[i], tolerance);
  for (size_t i = 0; i < want.lse.size(); ++i) EXPECT_NEAR(got.lse[i], want.lse[i], tolerance);
}

TEST(MergeSoftmaxStates, IsTheSoftmaxOverAllKeys) {
  const State a = Exact({0.5, -1, 3}, {1, 2, 3});
  const State b = Exact({2, -4}, {-7, 5});
  ExpectNear(Merged(a, b), Exact({0.5, -1, 3, 2, -4}, {1, 2, 3, -7, 5}), 1e-6F);
}

TEST(MergeSoftmaxStates, EqualWeightsGiveTheMean) {
  const State got = Merged({{1, 2}, {0}}, {{3, 6}, {0}});
  EXPECT_EQ(got.out, (std::vector<float>{2, 4}));
  EXPECT_FLOAT_EQ(got.lse[0], std::log(2.0F));
}

TEST(MergeSoftmaxStates, EmptyStatesAreExact) {
  // 0.1 and 0.3 are what arithmetic would disturb; an empty state's output may be anything.
  const State full = {{0.1F, -0.3F, 7e30F}, {-12.3F}};
  const State empty = {{kNaN, kInfinity, 5}, {-kInfinity}};
  EXPECT_EQ(Merged(full, empty), full);
  EXPECT_EQ(Merged(empty, full), full);
  const State zero = {{0, 0, 0}, {-kInfinity}};
  EXPECT_EQ(Merged(zero, zero), zero);
}

TEST(MergeSoftmaxStates, EachRowIsItsOwn) {
  State a = {{1, 1, /**/ 2, 2, /**/ 3, 3}, {0, -kInfinity, 5}};
  const State b = {{9, 9, /**/ 8, 8, /**/ 7, 7}, {-kInfinity, 1, 5}};
  const State want = {{1, 1, /**/ 8, 8, /**/ 5, 5}, {0, 1, 5 + std::log(2.0F)}};
  pagoda::MergeSoftmaxStates(a.out, a.lse, b.out, b.lse, 2);
  ExpectNear(a, want, 1e-6F);
}

TEST(MergeSoftmaxStates, IsAssociativeAndCommutative) {
  const State a = Exact({0.5, -1, 3}, {1, 2, 3});
  const State b = Exact({12}, {-7});
  const State c = Exact({-30, 11.5}, {4, 6});
  ExpectNear(Merged(Merged(a, b), c), Merged(a, Merged(b, c)), 4e-6F);
  ExpectNear(Merged(a, b), Merged(b, a), 1e-6F);
}

TEST(MergeSoftmaxStates, FarApartAndHugeLogitsDoNotOverflow) {
  const State a = {{1, 2}, {30000}};
  EXPECT_EQ(Merged(a, {{5, 6}, {-30000}}), a);
  EXPECT_EQ(Merged({{5, 6}, {-30000}}, a), a);
  ExpectNear(Merged(a, {{3, 4}, {30000}}), {{2, 3}, {30000 + std::log(2.0F)}}, 4e-3F);
}

TEST(MergeSoftmaxStates, NaNShows) {
  EXPECT_TRUE(std::isnan(Merged({{1, 2}, {0}}, {{1, 2}, {kNaN}}).out[0]));
  EXPECT_TRUE(std::isnan(Merged({{1, 2}, {kNaN}}, {{1, 2}, {0}}).lse[0]));
}

TEST(MergeSoftmaxStates, NoRowsIsLegal) { EXPECT_NO_THROW(pagoda::MergeSoftmaxStates({}, {}, {}, {}, 128)); }

void ExpectRefused(State a, const State& b, int64_t dim, const std::string& field, const std::string& text) {
  const State before = a;
  try {
    pagoda::MergeSoftmaxStates(a.out, a.lse, b.out, b.lse, dim);
    ADD_FAILURE() << "accepted, expected: " << text;
  } catch (const pagoda::Error& e) {
    EXPECT_EQ(e.field(), field);
    EXPECT_EQ(std::string(e.what()), text);
    EXPECT_EQ(e.code(), pagoda::ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(a, before);
}

TEST(MergeSoftmaxStates, WrongSizesAreNamed) {
  const State two = {{1, 2, 3, 4}, {0, 0}};
  ExpectRefused(two, {{1, 2, 3, 4}, {0}}, 2, "lse_b", "lse_b has 1 rows, lse_a has 2");
  ExpectRefused(two, {{1, 2, 3}, {0, 0}}, 2, "out_b", "out_b has 3 floats, expected 4");
  ExpectRefused({{1, 2, 3}, {0, 0}}, two, 2, "out_a", "out_a has 3 floats, expected 4");
  ExpectRefused(two, two, 0, "dim", "dim = 0 must be at least 1");
  ExpectRefused(two, two, -2, "dim", "dim = -2 must be at least 1");
  // 4 rows times 2^62 is 2^64: nothing at all, if it is multiplied in 64 bits.
  const State none = {{}, {0, 0, 0, 0}};
  ExpectRefused(none, none, int64_t{1} << 62, "dim",
                "dim = 4 * 4611686018427387904 does not fit into 64 bits");
}

TEST(LseToBase2, IsTheLogarithmOfTheSameSum) {
  EXPECT_EQ(pagoda::LseToBase2(0), 0);
  EXPECT_FLOAT_EQ(pagoda::LseToBase2(std::log(8.0F)), 3);
  EXPECT_EQ(pagoda::LseToBase2(-kInfinity), -kInfinity);
}

}  // namespace

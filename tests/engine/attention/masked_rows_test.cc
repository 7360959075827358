// Rows that see no key, whatever hides them, and rows of q that are NaN: exact, and without effect on others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/attention/problem.h"

namespace pagoda::testing {
namespace {

constexpr float kMinusInf = -std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Whether query a of sequence b sees a key, by the definition.
bool SeesAKey(const ProblemSpec& spec, size_t b, int64_t a) {
  const int64_t r = spec.contexts[b] - spec.queries[b] + a;
  for (int64_t j = 0; j < spec.contexts[b]; ++j) {
    if ((!spec.params.causal || j <= r) &&
        (spec.params.window_left < 0 || j >= r - spec.params.window_left) &&
        (spec.params.window_right < 0 || j <= r + spec.params.window_right)) {
      return true;
    }
  }
  return false;
}

class SoftmaxVariantMaskedRows : public ::testing::TestWithParam<const SoftmaxVariant*> {
 protected:
  // Masked rows are exactly 0 with an LSE of the sink alone; the others are right. Returns how many there
  // are.
  int64_t CheckMasked(const ProblemSpec& spec) {
    const Problem problem(spec);
    const Result got = RunVariant(*GetParam(), problem, 2);
    const SoftmaxCall call = problem.Call(nullptr, nullptr);
    const auto* sinks = static_cast<const float*>(call.sinks.data);
    const OracleResult want = SoftmaxOracle(problem.batch(), call);
    EXPECT_EQ(Mismatch(got, want, 1e-5, 1e-5), "") << spec.Describe();
    int64_t masked = 0;
    int64_t row = 0;
    for (size_t b = 0; b < spec.contexts.size(); ++b) {
      for (int64_t a = 0; a < spec.queries[b]; ++a, ++row) {
        if (SeesAKey(spec, b, a)) continue;
        ++masked;
        for (int64_t head = 0; head < spec.q_heads; ++head) {
          const int64_t i = row * spec.q_heads + head;
          EXPECT_EQ(got.lse[i], sinks != nullptr ? sinks[head] : kMinusInf) << spec.Describe();
          for (int64_t d = 0; d < spec.head_dim_v; ++d) {
            EXPECT_EQ(got.out[i * spec.head_dim_v + d], 0.0F) << spec.Describe();
          }
        }
      }
    }
    return masked;
  }
};

TEST_P(SoftmaxVariantMaskedRows, AreZeroInEveryForm) {
  struct Form {
    std::vector<int64_t> contexts, queries;
    bool causal;
    int64_t left, right;
  };
  const Form forms[] = {
      {{0}, {1}, true, -1, -1},               // no keys, decode
      {{0, 20}, {30, 1}, true, -1, -1},       // no keys, many rows
      {{5, 40}, {12, 3}, true, -1, -1},       // rows before the first key
      {{3}, {70}, true, -1, -1},              // whole blocks of rows before the first key
      {{5, 9}, {12, 30}, false, -1, 2},       // the right window ends before the first key
      {{0, 0, 0}, {2, 0, 9}, false, -1, -1},  // nothing anywhere
      {{4}, {20}, false, 3, 0},               // both windows
      {{200}, {210}, true, 0, -1},            // each row sees itself, the first ten nothing
  };
  for (const Form& form : forms) {
    for (const bool sinks : {false, true}) {
      for (const bool shaped : {false, true}) {
        ProblemSpec spec;
        spec.contexts = form.contexts;
        spec.queries = form.queries;
        spec.params.causal = form.causal;
        spec.params.window_left = form.left;
        spec.params.window_right = form.right;
        spec.params.softcap = shaped ? 10 : 0;
        spec.alibi = shaped;
        spec.sinks = sinks;
        spec.head_dim = spec.head_dim_v = 16;
        EXPECT_GT(CheckMasked(spec), 0) << "the form hides no row: " << spec.Describe();
      }
    }
  }
}

// Key ranges that only some rows of a block see: the others bring an empty state to the merge.
TEST_P(SoftmaxVariantMaskedRows, EmptyPartialStatesMergeExactly) {
  for (const int64_t context : {64, 66, 130, 515, 1027}) {
    for (const int64_t queries : {2, 4, 40}) {
      ProblemSpec spec;
      spec.contexts = {context};
      spec.queries = {queries};
      spec.page_size = 1;
      spec.head_dim = spec.head_dim_v = 16;
      spec.params.window_left = 1;
      EXPECT_EQ(CheckMasked(spec), 0);
      spec.sinks = true;
      EXPECT_EQ(CheckMasked(spec), 0);
    }
  }
}

// Rows that bring an empty state from every key range.
TEST_P(SoftmaxVariantMaskedRows, OnlyEmptyPartialStatesMergeExactly) {
  for (const bool sinks : {false, true}) {
    ProblemSpec spec;
    spec.contexts = {100};
    spec.queries = {110};
    spec.q_heads = spec.kv_heads = 2;
    spec.page_size = 1;
    spec.head_dim = spec.head_dim_v = 16;
    spec.sinks = sinks;
    EXPECT_EQ(CheckMasked(spec), 10);
  }
}

TEST_P(SoftmaxVariantMaskedRows, ANaNInQStaysInItsRow) {
  for (const int64_t queries : {1, 3, 30}) {  // few rows, many rows
    for (const bool sinks : {false, true}) {
      for (const float softcap : {0.0F, 20.0F}) {
        for (const int64_t context : {37, 64, 700}) {
          ProblemSpec spec;
          spec.contexts = {context, 33};
          spec.queries = {queries, 2};
          spec.params.softcap = softcap;
          spec.sinks = sinks;
          spec.alibi = softcap > 0;
          spec.head_dim = 40;
          spec.head_dim_v = 24;
          const Problem clean(spec);
          const Result want = RunVariant(*GetParam(), clean, 2);
          Problem dirty(spec);
          const int64_t row = queries / 2;
          const int64_t head = 1;
          dirty.SetQ(row, head, 39, kNaN);
          const Result got = RunVariant(*GetParam(), dirty, 2);
          const int64_t bad = row * spec.q_heads + head;
          for (int64_t i = 0; i < static_cast<int64_t>(got.lse.size()); ++i) {
            const std::string where =
                fmt::format("row {} head {}: {}", i / spec.q_heads, i % spec.q_heads, spec.Describe());
            for (int64_t d = 0; d < spec.head_dim_v; ++d) {
              const int64_t at = i * spec.head_dim_v + d;
              if (i == bad) {
                ASSERT_TRUE(std::isnan(got.out[at])) << got.out[at] << " in " << where;
              } else {
                ASSERT_EQ(got.out[at], want.out[at]) << where;
              }
            }
            if (i == bad) {
              // A merge takes -inf for an empty state and would lose the NaN.
              ASSERT_TRUE(std::isnan(got.lse[i])) << got.lse[i] << " in " << where;
            } else {
              ASSERT_EQ(got.lse[i], want.lse[i]) << where;
            }
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SoftmaxVariantMaskedRows,
                         ::testing::ValuesIn(SoftmaxVariants().begin(), SoftmaxVariants().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace pagoda::testing

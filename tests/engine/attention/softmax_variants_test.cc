// Every variant against the fp64 oracle, on the instruction set that PAGODA_ISA names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "engine/attention/problem.h"
#include "engine/attention/tiles.h"
#include "engine/simd/isa.h"
#include "pagoda/status.h"

namespace pagoda::testing {
namespace {

class SoftmaxVariantTest : public ::testing::TestWithParam<const SoftmaxVariant*> {
 protected:
  void ExpectRight(const ProblemSpec& spec, int threads = 2) {
    const Problem problem(spec);
    const OracleResult want = SoftmaxOracle(problem.batch(), problem.Call(nullptr, nullptr));
    const double tolerance = ToleranceOf(spec.dtype);
    const std::string wrong = Mismatch(RunVariant(*GetParam(), problem, threads), want, tolerance, tolerance);
    EXPECT_TRUE(wrong.empty()) << wrong << "\n" << spec.Describe();
  }
};

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

TEST_P(SoftmaxVariantTest, EveryHeadDimension) {
  for (const int64_t dim :
       {1, 2, 7, 8, 15, 16, 17, 31, 33, 40, 64, 72, 80, 96, 112, 128, 192, 256, 512, 576}) {
    for (const DType dtype : kTypes) {
      ProblemSpec spec;
      spec.contexts = {37, 5};
      spec.queries = {1, 5};
      spec.head_dim = dim;
      spec.head_dim_v = dim == 576 ? 512 : dim == 192 ? 128 : dim;
      spec.dtype = dtype;
      ExpectRight(spec);
    }
  }
}

TEST_P(SoftmaxVariantTest, EveryGroupSize) {
  for (int64_t group = 1; group <= 17; ++group) {
    for (const int64_t queries : {1, 3}) {
      ProblemSpec spec;
      spec.contexts = {150, 64};
      spec.queries = {queries, 1};
      spec.kv_heads = 2;
      spec.q_heads = 2 * group;
      spec.head_dim = spec.head_dim_v = 48;
      spec.dtype = group % 2 == 0 ? DType::kBF16 : DType::kF32;
      ExpectRight(spec);
    }
  }
}

TEST_P(SoftmaxVariantTest, EveryPageSize) {
  for (const int64_t page : {1, 2, 3, 5, 16, 17, 32, 63, 64, 65, 128, 256, 1000}) {
    for (const bool hnd : {false, true}) {
      ProblemSpec spec;
      spec.contexts = {1, page, page + 1, 300};
      spec.queries = {1, 1, 1, 20};
      spec.queries[1] = std::min<int64_t>(page, 4);
      spec.page_size = page;
      spec.hnd = hnd;
      spec.head_dim = spec.head_dim_v = 32;
      ExpectRight(spec);
    }
  }
}

TEST_P(SoftmaxVariantTest, LongContextsAreCutAndMerged) {
  for (const int64_t n : {63, 64, 65, 511, 512, 1025, 4096, 5003, 9000}) {
    ProblemSpec spec;
    spec.contexts = {n};
    spec.page_size = 32;
    spec.head_dim = spec.head_dim_v = 16;
    spec.sinks = n % 2 == 1;
    spec.alibi = n % 2 == 1;
    ExpectRight(spec);
  }
}

// Ranges of keys that a row sees in part or not at all.
TEST_P(SoftmaxVariantTest, LongContextsInWindows) {
  for (const int64_t n : {1535, 1537, 3100}) {
    for (const int64_t window_left : {7, 1600}) {
      for (const int64_t page : {1, 3, 100}) {
        ProblemSpec spec;
        spec.contexts = {n, n, n};
        spec.queries = {1, 20, 300};
        spec.page_size = page;
        spec.q_heads = 2;
        spec.kv_heads = 1;
        spec.head_dim = spec.head_dim_v = 8;
        spec.params.window_left = window_left;
        ExpectRight(spec);
      }
    }
  }
}

// A key that is no number makes every row that sees it none, wherever the key and whatever the other scores:
// these reach thousands, so that the weights of one range are 0 beside another's.
TEST_P(SoftmaxVariantTest, AKeyThatIsNoNumberShows) {
  constexpr int64_t kContext = 3100;
  for (const int64_t page : {1, 64}) {
    for (const int64_t key : {0, 511, 512, 1535, 1536, 3071, 3072, 3099}) {
      ProblemSpec spec;
      spec.contexts = {kContext, kContext, kContext};
      spec.queries = {1, 20, 300};
      spec.page_size = page;
      spec.q_heads = 2;
      spec.head_dim = spec.head_dim_v = 8;
      spec.spread = 30;
      const Problem problem(spec);
      const PagedKvView& kv = problem.batch().kv;
      const NormalBatch normal = Normalise(problem.batch());
      for (int64_t b = 0; b < normal.batch; ++b) {
        const int64_t id = normal.page_ids[normal.page_begin[b] + key / page];
        static_cast<float*>(kv.k)[id * kv.k_page_stride + key % page * kv.k_slot_stride] = kNaN;  // of head 0
      }
      const Result got = RunVariant(*GetParam(), problem, 2);
      for (int64_t b = 0; b < normal.batch; ++b) {
        for (int64_t a = 0; a < normal.q_len(b); ++a) {
          const int64_t row = (normal.q_begin[b] + a) * spec.q_heads;
          const bool sees = key <= kContext - normal.q_len(b) + a;
          ASSERT_EQ(std::isnan(got.lse[row]), sees) << "key " << key << " sequence " << b << " query " << a;
          ASSERT_EQ(std::isnan(got.out[row * spec.head_dim_v]), sees) << "key " << key << " query " << a;
          ASSERT_FALSE(std::isnan(got.lse[row + 1])) << "key " << key << " query " << a;
        }
      }
    }
  }
}

// Equal addends are the worst case: each addition rounds in the same direction. One after the other 16,464 of
// them lose 1.5e-4.
TEST_P(SoftmaxVariantTest, LongSumsLoseLittle) {
  constexpr int64_t kKeys = 16'464;
  constexpr int64_t kDim = 8;
  constexpr int64_t kPageSize = 16;
  constexpr int64_t kPages = kKeys / kPageSize;
  for (const int64_t queries : {1, 20, 300}) {
    std::vector<float> ones(static_cast<size_t>(kKeys * kDim), 1.0F);
    std::vector<float> tenths(ones.size(), 0.1F);
    std::vector<int32_t> pages(kPages);
    std::iota(pages.begin(), pages.end(), 0);
    std::vector<int32_t> q_indptr = {0, static_cast<int32_t>(queries)};
    std::vector<int32_t> context = {kKeys};
    SoftmaxBatch batch;
    batch.q_heads = 1;
    batch.q_indptr = TensorView::Dense(q_indptr.data(), DType::kI32, {2});
    batch.kv = PagedKvView::Split(TensorView::Dense(ones.data(), DType::kF32, {kPages, kPageSize, 1, kDim}),
                                  TensorView::Dense(tenths.data(), DType::kF32, {kPages, kPageSize, 1, kDim}),
                                  KvLayout::kNHD);
    batch.table = PageTable::Padded(TensorView::Dense(pages.data(), DType::kI32, {1, kPages}),
                                    TensorView::Dense(context.data(), DType::kI32, {1}));
    SoftmaxCall call;
    call.q = TensorView::Dense(ones.data(), DType::kF32, {queries, 1, kDim});
    call.kv = batch.kv;
    const OracleResult want = SoftmaxOracle(batch, call);
    EXPECT_EQ(Mismatch(RunVariant(*GetParam(), batch, call, 2), want, 0, 2e-5), "") << queries << " rows";
  }
}

TEST_P(SoftmaxVariantTest, EmptySequencesRowsAndBatches) {
  ProblemSpec spec;
  spec.contexts = {0, 5, 0, 3, 40};
  spec.queries = {0, 0, 3, 9, 2};  // queries without keys, keys without queries, more queries than keys
  ExpectRight(spec);
  spec.sinks = true;
  ExpectRight(spec);
  spec.padded = true;
  ExpectRight(spec);
  spec.contexts = {};
  spec.queries = {};
  ExpectRight(spec);
  spec.contexts = {0};
  spec.queries = {4};
  ExpectRight(spec);
}

TEST_P(SoftmaxVariantTest, WindowsOnBothSides) {
  for (const bool causal : {true, false}) {
    for (const int64_t left : {-1, 0, 1, 7, 100}) {
      for (const int64_t right : {-1, 0, 2, 100}) {
        ProblemSpec spec;
        spec.contexts = {70, 19};
        spec.queries = {21, 19};
        spec.params.causal = causal;
        spec.params.window_left = left;
        spec.params.window_right = right;
        ExpectRight(spec);
        spec.queries = {1, 2};
        ExpectRight(spec);
        spec.contexts = {1,
                         3};  // most rows stand before the first key, and a right window may still reach it
        spec.queries = {30, 9};
        ExpectRight(spec);
      }
    }
  }
}

TEST_P(SoftmaxVariantTest, ScoresThatAreHardForExp) {
  for (const float scale : {-0.5F, 0.0F, 1.0F, 4.0F}) {
    for (const float softcap : {0.0F, 0.5F, 30.0F, 1000.0F}) {
      ProblemSpec spec;
      spec.contexts = {200};
      spec.queries = {3};
      spec.head_dim = 16;
      spec.params.scale = scale;
      spec.params.softcap = softcap;
      // f32 scores of size s carry an error of about s * 2^-22 into the weights.
      const Problem problem(spec);
      const OracleResult want = SoftmaxOracle(problem.batch(), problem.Call(nullptr, nullptr));
      const std::string wrong = Mismatch(RunVariant(*GetParam(), problem, 2), want, 3e-5, 3e-5);
      EXPECT_TRUE(wrong.empty()) << wrong << "\n" << spec.Describe();
    }
  }
}

TEST_P(SoftmaxVariantTest, PrefillOfManyRows) {
  for (const DType dtype : kTypes) {
    ProblemSpec spec;
    spec.contexts = {333, 130};
    spec.queries = {200, 130};
    spec.q_heads = 6;
    spec.dtype = dtype;
    spec.head_dim = 80;
    spec.head_dim_v = 40;
    spec.alibi = true;
    ExpectRight(spec);
  }
}

// A position's row is the same whether it is decoded or part of a prefill: windows and ALiBi count from it.
TEST_P(SoftmaxVariantTest, PrefillAndDecodeAgree) {
  for (const bool windowed : {false, true}) {
    ProblemSpec spec;
    spec.contexts = {75};
    spec.queries = {30};
    spec.alibi = true;
    spec.head_dim = spec.head_dim_v = 32;
    if (windowed) spec.params.window_left = 20;
    const Problem prefill(spec);
    const Result all = RunVariant(*GetParam(), prefill, 2);
    for (const int64_t query : {0, 1, 17, 29}) {
      // The same tensors with the context cut behind the query.
      int32_t q_indptr[] = {0, 1};
      int32_t context = static_cast<int32_t>(75 - 30 + query + 1);
      NormalBatch normal = Normalise(prefill.batch());
      SoftmaxBatch batch = prefill.batch();
      batch.q_indptr = TensorView::Dense(q_indptr, DType::kI32, {2});
      batch.table = PageTable::Padded(TensorView::Dense(normal.page_ids.data(), DType::kI64,
                                                        {1, static_cast<int64_t>(normal.page_ids.size())}),
                                      TensorView::Dense(&context, DType::kI32, {1}));
      SoftmaxCall call = prefill.Call(nullptr, nullptr);
      call.q.data = static_cast<float*>(call.q.data) + query * call.q.strides[0];
      call.q.shape[0] = 1;
      const Result one = RunVariant(*GetParam(), batch, call, 2);
      for (int64_t i = 0; i < spec.q_heads * spec.head_dim_v; ++i) {
        ASSERT_NEAR(one.out[i], all.out[query * spec.q_heads * spec.head_dim_v + i], 1e-5)
            << "query " << query << " element " << i << " windowed " << windowed;
      }
      for (int64_t h = 0; h < spec.q_heads; ++h) {
        ASSERT_NEAR(one.lse[h], all.lse[query * spec.q_heads + h], 1e-5)
            << "query " << query << " head " << h;
      }
    }
  }
}

// Dot products beyond 65,504, the largest f16.
TEST_P(SoftmaxVariantTest, F16NeverAccumulatesInF16) {
  for (const int64_t queries : {1, 40}) {
    ProblemSpec spec;
    spec.contexts = {300};
    spec.queries = {queries};
    spec.dtype = DType::kF16;
    spec.spread = 100;
    spec.params.scale = 1e-4F;
    const Problem problem(spec);
    double largest = 0;
    const SoftmaxCall call = problem.Call(nullptr, nullptr);
    const OracleResult want = SoftmaxOracle(problem.batch(), call);
    for (const double lse : want.lse) largest = std::max(largest, lse / spec.params.scale.value());
    ASSERT_GT(largest, 65504) << "the scores are too small for the test";
    const std::string wrong = Mismatch(RunVariant(*GetParam(), problem, 2), want, 1e-3, 1e-3);
    EXPECT_TRUE(wrong.empty()) << wrong << "\n" << spec.Describe();
  }
}

// Anything with anything. The seed of a failing problem is in its description; PAGODA_TEST_SEED replays from
// there.
TEST_P(SoftmaxVariantTest, RandomProblems) {
  const char* forced = std::getenv("PAGODA_TEST_SEED");
  const uint64_t first = forced != nullptr ? std::strtoull(forced, nullptr, 10) : 1;
  for (uint64_t seed = first; seed < first + (forced != nullptr ? 1 : 60); ++seed) {
    Random random(seed);
    const auto pick = [&](std::initializer_list<int64_t> options) {
      return options.begin()[random.Below(options.size())];
    };
    ProblemSpec spec;
    spec.seed = seed;
    const int64_t batch = random.Between(0, 4);
    spec.contexts.clear();
    spec.queries.clear();
    for (int64_t b = 0; b < batch; ++b) {
      spec.contexts.push_back(pick({0, 1, 17, 64, 129, 400}));
      spec.queries.push_back(random.Chance(0.5) ? 1 : random.Between(0, 40));
    }
    spec.kv_heads = pick({1, 2, 3});
    spec.q_heads = spec.kv_heads * pick({1, 2, 3, 5, 8, 9});
    spec.head_dim = pick({8, 40, 64, 128});
    spec.combined = random.Chance(0.3);
    spec.head_dim_v = spec.combined ? spec.head_dim : pick({8, 40, 64, 128});
    spec.page_size = pick({1, 3, 16, 17, 64, 128});
    spec.dtype = kTypes[random.Below(3)];
    spec.hnd = random.Chance(0.5);
    spec.padded = random.Chance(0.5);
    spec.index64 = random.Chance(0.5);
    spec.params.causal = random.Chance(0.7);
    if (random.Chance(0.3)) spec.params.window_left = random.Between(0, 50);
    if (random.Chance(0.3)) spec.params.window_right = random.Between(0, 50);
    if (random.Chance(0.3)) spec.params.softcap = 20;
    spec.alibi = random.Chance(0.3);
    spec.sinks = random.Chance(0.3);
    ExpectRight(spec, static_cast<int>(random.Between(1, 3)));
  }
}

ProblemSpec MixedBatch() {
  ProblemSpec spec;
  spec.contexts = {700, 1, 129, 64, 300};
  spec.queries = {1, 1, 5, 40, 1};
  spec.q_heads = 6;
  spec.dtype = DType::kBF16;
  return spec;
}

TEST_P(SoftmaxVariantTest, KeepsItsPromises) {
  const ProblemSpec spec = MixedBatch();
  const Problem problem(spec);
  const Result want = RunVariant(*GetParam(), problem, 1);
  if ((GetParam()->promises & kRepeatable) != 0) {
    EXPECT_EQ(RunVariant(*GetParam(), problem, 1), want);
  }
  if ((GetParam()->promises & kThreadInvariant) != 0) {
    for (const int threads : {2, 3, 8}) EXPECT_EQ(RunVariant(*GetParam(), problem, threads), want) << threads;
  }
}

TEST_P(SoftmaxVariantTest, AMismatchShows) {
  // The comparison itself: one element off by two tolerances, and a NaN.
  const Problem problem(MixedBatch());
  const OracleResult want = SoftmaxOracle(problem.batch(), problem.Call(nullptr, nullptr));
  Result got = RunVariant(*GetParam(), problem, 2);
  ASSERT_EQ(Mismatch(got, want, 8e-3, 8e-3), "");
  Result off = got;
  off.out.back() += 0.05F;
  EXPECT_NE(Mismatch(off, want, 8e-3, 8e-3), "");
  off = got;
  off.lse.front() = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(Mismatch(off, want, 8e-3, 8e-3), "");
}

std::string NameOfParam(const ::testing::TestParamInfo<const SoftmaxVariant*>& info) {
  return std::string(info.param->name);
}

INSTANTIATE_TEST_SUITE_P(All, SoftmaxVariantTest,
                         ::testing::ValuesIn(SoftmaxVariants().begin(), SoftmaxVariants().end()),
                         NameOfParam);

TEST(ForcedIsa, IsTheOneThatRuns) {
  const char* forced = std::getenv("PAGODA_ISA");
  if (forced == nullptr) GTEST_SKIP() << "PAGODA_ISA is not set";
  EXPECT_EQ(NameOf(ActiveIsa()), forced);
}

}  // namespace
}  // namespace pagoda::testing

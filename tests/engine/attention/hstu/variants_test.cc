// Every HSTU variant against the fp64 oracle, on the instruction set that PAGODA_ISA names.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/attention/hstu/arbitrary.h"
#include "engine/attention/hstu/problem.h"
#include "engine/attention/tiles.h"
#include "engine/simd/isa.h"

namespace pagoda::testing {
namespace {

// Inputs are taken as stored, weights and sums are f32 and so is the output: the same whatever the inputs'
// type.
constexpr double kTolerance = 1e-5;
// ... but on tiles, where a weight is two bf16 and off by up to 2^-16 of it.
constexpr double kTileTolerance = 1e-4;

double ToleranceOfF32(DType inputs) {
  return inputs == DType::kBF16 && ActiveIsa() == Isa::kAmx ? kTileTolerance : kTolerance;
}

class HstuVariantTest : public ::testing::TestWithParam<const HstuVariant*> {
 protected:
  // Empty, or what is wrong with it.
  static std::string WrongWith(const HstuSpec& spec, int threads = 2) {
    const HstuProblem problem(spec);
    const OracleResult want = HstuOracle(problem.batch(), problem.call());
    const double tolerance = ToleranceOfF32(spec.dtype);
    const std::string wrong =
        Mismatch(RunHstuVariant(*GetParam(), problem, threads), want, tolerance, tolerance);
    return wrong.empty() ? wrong : wrong + "\n" + spec.Describe();
  }
  static void ExpectRight(const HstuSpec& spec) { EXPECT_EQ(WrongWith(spec), ""); }
  static void ExpectRightPagedAndContiguous(HstuSpec spec) {
    for (const bool paged : {true, false}) {
      spec.paged = paged;
      ExpectRight(spec);
    }
  }
};

Lengths Plain(int64_t queries, int64_t keys) { return {.queries = queries, .keys = keys}; }

TEST_P(HstuVariantTest, EveryHeadDimension) {
  for (const int64_t dim :
       {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 72, 96, 128, 192, 256, 257, 320, 384, 511, 512}) {
    for (const DType dtype : kFloatTypes) {
      HstuSpec spec;
      spec.sequences = {Plain(1, 37), Plain(5, 5), {.queries = 20, .keys = 30, .targets = 3}};
      spec.dtype = dtype;
      spec.head_dim = dim;
      spec.head_dim_v = 40;
      ExpectRight(spec);
      spec.head_dim = 24;
      spec.head_dim_v = dim;
      ExpectRight(spec);
    }
  }
}

TEST_P(HstuVariantTest, EveryGroupSize) {
  for (const int64_t group : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 300}) {
    for (const int64_t queries : {1, 3}) {
      HstuSpec spec;
      spec.sequences = {Plain(queries, 150), {.queries = 2, .keys = 64, .targets = 2}};
      spec.q_heads = spec.kv_heads * group;
      spec.head_dim = spec.head_dim_v = 24;
      spec.dtype = kFloatTypes[group % 3];
      ExpectRight(spec);
    }
  }
}

TEST_P(HstuVariantTest, EveryPageSizeAndLayout) {
  for (const int64_t page : {1, 3, 16, 32, 64, 128, 256}) {
    for (const int form : {0, 1, 2, 3, 4, 5, 6, 7}) {
      HstuSpec spec;
      spec.page_size = page;
      spec.hnd = (form & 1) != 0;
      spec.combined = (form & 2) != 0;
      spec.padded = (form & 4) != 0;
      spec.index64 = spec.hnd != spec.padded;
      spec.gap = spec.hnd ? 3 : 0;
      spec.head_dim = spec.head_dim_v = 40;
      spec.dtype = kFloatTypes[form % 3];
      spec.sequences = {Plain(1, 1),
                        {.queries = 1, .keys = page, .targets = 1},
                        {.queries = 4, .keys = page + 4, .targets = 2},
                        Plain(20, 300),
                        {.queries = 7, .keys = 7, .targets = 7}};
      ExpectRight(spec);
    }
  }
}

// Few rows and many, up to and past a block of 256.
TEST_P(HstuVariantTest, EveryNumberOfRows) {
  for (const int64_t group : {1, 2, 3}) {
    for (const int64_t queries :
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300}) {
      if (queries * group > 320) continue;
      HstuSpec spec;
      spec.sequences = {{.queries = queries, .keys = 310, .targets = std::min<int64_t>(queries, 5)}};
      spec.kv_heads = 3;
      spec.q_heads = 3 * group;
      spec.head_dim = 16;
      spec.head_dim_v = 20;
      spec.dtype = kFloatTypes[queries % 3];
      ExpectRight(spec);
    }
  }
}

TEST_P(HstuVariantTest, LongSequencesAreCutAndAdded) {
  for (const int64_t keys : {127, 128, 129, 513, 1025, 1535, 1536, 1537, 2111, 2112, 2113, 4224, 5000}) {
    for (const int64_t queries : {1, 40}) {
      HstuSpec spec;
      spec.sequences = {{.queries = queries, .keys = keys, .targets = 1}, Plain(queries, 130)};
      spec.head_dim = spec.head_dim_v = 16;
      spec.page_size = 32;
      spec.dtype = keys % 2 == 0 ? DType::kBF16 : DType::kF32;
      ExpectRightPagedAndContiguous(spec);
    }
  }
}

// Equal addends are the worst case: each addition rounds in the same direction. One after the other 16,464 of
// them lose 6e-5.
TEST_P(HstuVariantTest, LongSumsLoseLittle) {
  constexpr int64_t kKeys = 16'464;
  constexpr int64_t kDim = 8;
  for (const int64_t queries : {1, 20}) {
    std::vector<float> ones(static_cast<size_t>(kKeys * kDim), 1.0F);
    std::vector<float> tenths(ones.size(), 0.1F);
    std::vector<int32_t> q_offsets = {0, static_cast<int32_t>(queries)};
    std::vector<int32_t> k_offsets = {0, kKeys};
    HstuBatch batch;
    batch.dtype = DType::kF32;
    batch.q_heads = batch.kv_heads = 1;
    batch.head_dim = batch.head_dim_v = kDim;
    batch.seq_offsets = TensorView::Dense(q_offsets.data(), DType::kI32, {2});
    batch.seq_offsets_k = TensorView::Dense(k_offsets.data(), DType::kI32, {2});
    batch.params.mask = HstuMask::kNone;
    batch.params.silu_scale = 1.0F / kKeys;
    HstuCall call;
    call.q = TensorView::Dense(ones.data(), DType::kF32, {queries, 1, kDim});
    call.k = TensorView::Dense(ones.data(), DType::kF32, {kKeys, 1, kDim});
    call.v = TensorView::Dense(tenths.data(), DType::kF32, {kKeys, 1, kDim});
    const OracleResult want = HstuOracle(batch, call);
    EXPECT_EQ(Mismatch(RunHstuVariant(*GetParam(), batch, call, 2), want, 0, 3e-5), "") << queries << " rows";
  }
}

// Whole key ranges, and whole key blocks, that no row sees.
TEST_P(HstuVariantTest, LongSequencesWithHoles) {
  for (const int64_t queries : {1, 40}) {
    HstuSpec spec;
    spec.sequences = {{.queries = queries, .keys = 5000, .targets = queries}, Plain(queries, 3000)};
    spec.head_dim = spec.head_dim_v = 16;
    spec.params.max_attn_len = 100;
    ExpectRightPagedAndContiguous(spec);
    spec.params.max_attn_len = 0;
    spec.params.window_left = 700;
    ExpectRightPagedAndContiguous(spec);
    spec.params = {.mask = HstuMask::kInterval};
    ExpectRightPagedAndContiguous(spec);
    spec.bounds = {10, 2500, 2600, 4800, 4900};
    ExpectRightPagedAndContiguous(spec);
    spec.params = {.mask = HstuMask::kNone, .window_left = 10, .window_right = 3};
    ExpectRightPagedAndContiguous(spec);
  }
}

TEST_P(HstuVariantTest, EveryMaskOnFewAndManyRows) {
  const std::vector<HstuParams> refinements = {
      {},
      {.target_group_size = 3},
      {.window_left = 9},
      {.window_left = 0, .window_right = 0},
      {.target_group_size = 2, .window_left = 30},
      {.max_attn_len = 7},
      {.max_attn_len = 5, .min_full_attn_seq_len = 4},
      {.mask = HstuMask::kNone},
      {.mask = HstuMask::kNone, .window_left = 5, .window_right = 11},
      {.mask = HstuMask::kDense},
      {.mask = HstuMask::kInterval},
  };
  for (const HstuParams& params : refinements) {
    const int64_t contextuals = params.mask == HstuMask::kCausal ? 6 : 0;
    HstuSpec spec;
    spec.params = params;
    spec.head_dim = spec.head_dim_v = 32;
    spec.page_size = 3;
    spec.sequences = {{.queries = 70, .keys = 70, .targets = 9, .contextuals = contextuals},
                      {.queries = 30, .keys = 200, .targets = 20},
                      {.queries = 3, .keys = 120, .targets = 2, .contextuals = contextuals},
                      {.queries = 4, .keys = 5, .targets = 1, .contextuals = contextuals / 2},
                      Plain(1, 99)};
    ExpectRightPagedAndContiguous(spec);
  }
}

TEST_P(HstuVariantTest, BiasAndDenseMaskInEveryForm) {
  for (const int form : {0, 1, 2, 3}) {
    for (const int64_t gap : {0, 2}) {
      HstuSpec spec;
      spec.sequences = {{.queries = 50, .keys = 130, .targets = 4}, Plain(2, 230), Plain(0, 3), Plain(1, 1)};
      spec.gap = gap;
      spec.head_dim = 24;
      spec.rab = PairForm{.per_sequence = (form & 1) != 0, .per_head = (form & 2) != 0};
      spec.mask = PairForm{.per_sequence = (form & 2) == 0, .per_head = (form & 1) == 0};
      spec.params.alpha = -0.4F;
      spec.params.target_group_size = 2;
      ExpectRightPagedAndContiguous(spec);
      spec.params.target_group_size = 1;
      spec.params.mask = HstuMask::kDense;
      ExpectRightPagedAndContiguous(spec);
    }
  }
}

// A bias by key alone, by row alone, and one for all: strides of 0.
TEST_P(HstuVariantTest, BiasThatRepeats) {
  std::vector<float> values(120);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.05F * static_cast<float>(i) - 2;
  for (const auto& [by_row, by_key] : {std::pair(0, 1), std::pair(1, 0), std::pair(0, 0)}) {
    for (const int64_t queries : {1, 20}) {
      HstuSpec spec;
      spec.sequences = {Plain(queries, 120), Plain(queries, 33)};
      const HstuProblem problem(spec);
      HstuCall call = problem.call();
      call.rab = TensorView::Dense(values.data(), DType::kF32, {1, 1, queries, 120});
      call.rab.strides = {0, 0, by_row, by_key};
      const OracleResult want = HstuOracle(problem.batch(), call);
      EXPECT_EQ(Mismatch(RunHstuVariant(*GetParam(), problem.batch(), call, 2), want, kTolerance, kTolerance),
                "")
          << by_row << by_key << " " << queries << " rows";
    }
  }
}

TEST_P(HstuVariantTest, RowsThatSeeNothingAreZero) {
  for (const int64_t queries : {1, 20}) {
    HstuSpec spec;
    spec.params.mask = HstuMask::kInterval;
    spec.sequences = {Plain(queries, 700), Plain(1, 3)};
    spec.bounds = {0};
    const Result got = RunHstuVariant(*GetParam(), HstuProblem(spec), 2);
    EXPECT_EQ(got.out, std::vector<float>(got.out.size(), 0.0F));
  }
}

TEST_P(HstuVariantTest, EmptySequencesAndBatches) {
  HstuSpec spec;
  for (const HstuMask mask : {HstuMask::kNone, HstuMask::kCausal, HstuMask::kDense, HstuMask::kInterval}) {
    for (const bool padded : {false, true}) {
      spec.params.mask = mask;
      spec.padded = padded;
      spec.rab = PairForm{};
      spec.sequences = {Plain(0, 0), Plain(0, 40), Plain(3, 3), Plain(0, 0)};
      ExpectRightPagedAndContiguous(spec);
      spec.sequences = {};
      ExpectRightPagedAndContiguous(spec);
      spec.sequences = {Plain(0, 0)};
      ExpectRightPagedAndContiguous(spec);
    }
  }
}

TEST_P(HstuVariantTest, EveryScale) {
  for (const float alpha : {-2.0F, 0.0F, 0.125F, 3.0F}) {
    for (const float silu_scale : {-0.01F, 0.0F, 0.02F}) {
      for (const int64_t queries : {1, 20}) {
        HstuSpec spec;
        spec.sequences = {Plain(queries, 100)};
        spec.head_dim = spec.head_dim_v = 8;
        spec.params.alpha = alpha;
        spec.params.silu_scale = silu_scale;
        if (silu_scale == 0) spec.params.max_seq_len = 50;
        ExpectRight(spec);
      }
    }
  }
}

// Scores far past where e^x and e^-x leave the range of f32, and past 65,504, the largest f16.
TEST_P(HstuVariantTest, ScoresOfAnySize) {
  for (const DType dtype : kFloatTypes) {
    for (const int64_t queries : {1, 20}) {
      HstuSpec spec;
      spec.sequences = {Plain(queries, 100)};
      spec.spread = 150;
      spec.params.silu_scale = 1e-8F;
      spec.dtype = dtype;
      ExpectRight(spec);
    }
  }
}

HstuSpec ArbitrarySpec() {
  const auto pick = [](std::initializer_list<int64_t> options) {
    return *rc::gen::elementOf(std::vector<int64_t>(options));
  };
  const auto flag = [] { return *rc::gen::arbitrary<bool>(); };
  const auto form = [&] { return PairForm{.per_sequence = flag(), .per_head = flag()}; };
  HstuSpec spec;
  spec.seed = *rc::gen::inRange<uint64_t>(0, 1 << 20);
  spec.paged = flag();
  const int64_t keys = pick({3, 40, 300});
  spec.params = ArbitraryParams(keys);
  spec.params.alpha = *rc::gen::element(1.0F, 0.3F, -1.5F);
  spec.sequences.resize(pick({0, 1, 2, 3, 4}));
  for (Lengths& s : spec.sequences) s = ArbitraryLengths(spec.params, keys, spec.paged);
  spec.kv_heads = pick({1, 2, 3});
  spec.q_heads = spec.kv_heads * pick({1, 2, 3, 4, 5, 6, 7, 8});
  spec.head_dim = pick({1, 5, 8, 24, 40, 72});
  spec.combined = flag();
  spec.head_dim_v = spec.combined ? spec.head_dim : pick({1, 5, 8, 24, 40, 72});
  spec.page_size = pick({1, 3, 16, 32, 128});
  spec.dtype = *rc::gen::element(DType::kF32, DType::kF16, DType::kBF16);
  spec.hnd = flag();
  spec.padded = flag();
  spec.index64 = flag();
  spec.gap = pick({0, 0, 1, 7});
  if (flag()) spec.rab = form();
  spec.mask = form();
  spec.interval_bounds = pick({1, 3, 7});
  return spec;
}

// Anything with anything. rapidcheck says how to replay a failure (RC_PARAMS).
TEST_P(HstuVariantTest, RandomProblems) {
  EXPECT_TRUE(rc::check([] {
    const HstuSpec spec = ArbitrarySpec();
    const std::string wrong = WrongWith(spec, *rc::gen::inRange(1, 4));
    if (!wrong.empty()) RC_FAIL(wrong);
  }));
}

TEST_P(HstuVariantTest, AMismatchShows) {
  HstuSpec spec;
  spec.sequences = {Plain(3, 50)};
  const HstuProblem problem(spec);
  const OracleResult want = HstuOracle(problem.batch(), problem.call());
  Result got = RunHstuVariant(*GetParam(), problem, 2);
  got.out.back() += 1e-4F;
  EXPECT_NE(Mismatch(got, want, kTolerance, kTolerance), "");
  got.out.back() = kNaN;
  EXPECT_NE(Mismatch(got, want, kTolerance, kTolerance), "");
}

INSTANTIATE_TEST_SUITE_P(All, HstuVariantTest,
                         ::testing::ValuesIn(HstuVariants().begin(), HstuVariants().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace pagoda::testing

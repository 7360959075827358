// What an HSTU variant promises about its bits, held over random batches: alone or in company, on any number
// of threads, by a new plan or an old one, through any staging buffer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/half.h"
#include "base/random.h"
#include "engine/attention/hstu/problem.h"
#include "engine/attention/tiles.h"
#include "engine/index_tensor.h"

namespace pagoda::testing {
namespace {

HstuSpec ArbitraryBatch(uint64_t seed) {
  Random random(seed);
  const auto pick = [&](std::initializer_list<int64_t> options) {
    return options.begin()[random.Below(options.size())];
  };
  const auto form = [&] {
    return PairForm{.per_sequence = random.Chance(0.5), .per_head = random.Chance(0.5)};
  };
  HstuSpec spec;
  spec.seed = seed;
  spec.paged = random.Chance(0.6);
  spec.params.mask = static_cast<HstuMask>(seed % 4);
  spec.sequences.clear();
  const int64_t batch = random.Between(2, 5);
  for (int64_t b = 0; b < batch; ++b) {
    Lengths s;
    s.keys = pick({0, 1, 30, 65, 200, 700, 1500, 1600, 3200});
    s.queries = std::min(s.keys, pick({0, 1, 1, 1, 2, 9, 70}));
    s.targets = random.Between(0, std::min<int64_t>(s.queries, 20));
    if (spec.params.mask == HstuMask::kCausal && random.Chance(0.3))
      s.contextuals = std::min<int64_t>(s.history(), 3);
    spec.sequences.push_back(s);
  }
  if (spec.params.mask == HstuMask::kCausal) {
    if (random.Chance(0.3)) {
      spec.params.max_attn_len = random.Between(1, 100);
    } else {
      if (random.Chance(0.3)) spec.params.window_left = random.Between(0, 300);
      spec.params.target_group_size = pick({1, 3});
    }
  }
  spec.params.max_seq_len = 4000;
  spec.kv_heads = pick({1, 2, 3});
  spec.q_heads = spec.kv_heads * pick({1, 2, 4, 7});
  spec.head_dim = pick({16, 40, 64});
  spec.head_dim_v = pick({16, 40, 64});
  spec.page_size = pick({1, 3, 16, 64, 128});
  spec.dtype = kFloatTypes[random.Below(3)];
  spec.hnd = random.Chance(0.5);
  spec.padded = random.Chance(0.5);
  if (random.Chance(0.4)) spec.rab = form();
  spec.mask = form();
  return spec;
}

TensorView Part(TensorView view, int64_t first, int64_t count) {
  if (view.data == nullptr) return view;
  view.data = static_cast<std::byte*>(view.data) + first * view.strides[0] * SizeOf(view.dtype);
  view.shape[0] = count;
  return view;
}

// Sequence b of a problem as a batch of its own, over the same tensors.
struct Alone {
  Alone(const HstuProblem& problem, const NormalHstuBatch& all, int64_t b)
      : q_offsets({0, all.q_len(b)}),
        k_offsets({0, all.kv_len[b]}),
        targets({all.kv_len[b] - all.history[b]}),
        contextuals({all.contextual[b]}),
        pages(all.paged ? std::vector(all.page_ids.begin() + all.page_begin[b],
                                      all.page_ids.begin() + all.page_begin[b + 1])
                        : std::vector<int64_t>{}),
        len({all.cached[b]}),
        batch(problem.batch()),
        call(problem.call()) {
    batch.seq_offsets = q_offsets.view();
    batch.num_targets = targets.view();
    batch.num_contextuals = contextuals.view();
    batch.interval_mask = Part(batch.interval_mask, all.q_begin[b], all.q_len(b));
    call.q = Part(call.q, all.q_begin[b], all.q_len(b));
    for (TensorView* t : {&call.rab, &call.mask}) {
      if (!t->empty() && t->shape[0] > 1) *t = Part(*t, b, 1);
    }
    const int64_t first_k = all.paged ? all.q_begin[b] : all.k_begin[b];
    const int64_t rows_k = all.paged ? all.q_len(b) : all.kv_len[b];
    call.k = Part(call.k, first_k, rows_k);
    call.v = Part(call.v, first_k, rows_k);
    if (!all.paged) {
      batch.seq_offsets_k = k_offsets.view();
      return;
    }
    TensorView table = pages.view();
    table.rank = 2;
    table.shape = {1, pages.view().shape[0]};
    table.strides = {table.shape[1], 1};
    batch.table = PageTable::Padded(table, len.view());
  }
  IndexTensor q_offsets, k_offsets, targets, contextuals, pages, len;
  HstuBatch batch;
  HstuCall call;
};

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

class HstuVariantPromises : public ::testing::TestWithParam<const HstuVariant*> {
 protected:
  static const HstuVariant& variant() { return *GetParam(); }
  static bool Promises(Promise promise) { return (variant().promises & promise) != 0; }
};

TEST_P(HstuVariantPromises, ASequenceAloneHasTheBitsItHasInTheBatch) {
  if (!Promises(kBatchInvariant)) GTEST_SKIP() << "not promised";
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const HstuProblem problem(ArbitraryBatch(seed));
    const NormalHstuBatch all = Normalise(problem.batch());
    const Result whole = RunHstuVariant(variant(), problem, 2);
    const int64_t row = problem.spec().q_heads * problem.spec().head_dim_v;
    for (int64_t b = 0; b < all.batch; ++b) {
      const Alone alone(problem, all, b);
      const Result got = RunHstuVariant(variant(), alone.batch, alone.call, 2);
      EXPECT_TRUE(SameBits(got.out, std::span(whole.out).subspan(all.q_begin[b] * row, all.q_len(b) * row)))
          << "sequence " << b << " of " << problem.spec().Describe();
    }
  }
}

TEST_P(HstuVariantPromises, AnyNumberOfThreadsGivesTheSameBits) {
  if (!Promises(kThreadInvariant)) GTEST_SKIP() << "not promised";
  for (uint64_t seed = 101; seed <= 116; ++seed) {
    const HstuProblem problem(ArbitraryBatch(seed));
    const Result want = RunHstuVariant(variant(), problem, 1);
    for (const int threads : {2, 3, 5}) {
      EXPECT_TRUE(SameBits(RunHstuVariant(variant(), problem, threads).out, want.out))
          << threads << " threads: " << problem.spec().Describe();
    }
  }
}

// Long enough to be cut into ranges whose sums are added by whoever comes first.
TEST_P(HstuVariantPromises, RangesAreAddedInOneOrder) {
  if (!Promises(kThreadInvariant)) GTEST_SKIP() << "not promised";
  for (const int64_t queries : {1, 20}) {
    HstuSpec spec;
    spec.sequences = {{.queries = queries, .keys = 9000}, {.queries = 1, .keys = 4000}};
    spec.head_dim = spec.head_dim_v = 16;
    const HstuProblem problem(spec);
    const Result want = RunHstuVariant(variant(), problem, 1);
    for (const int threads : {2, 3, 5})
      EXPECT_TRUE(SameBits(RunHstuVariant(variant(), problem, threads).out, want.out)) << threads;
  }
}

TEST_P(HstuVariantPromises, TheSameCallAgainGivesTheSameBits) {
  if (!Promises(kRepeatable)) GTEST_SKIP() << "not promised";
  for (uint64_t seed = 201; seed <= 208; ++seed) {
    const HstuProblem problem(ArbitraryBatch(seed));
    const Result want = RunHstuVariant(variant(), problem, 3);
    EXPECT_TRUE(SameBits(RunHstuVariant(variant(), problem, 3).out, want.out)) << problem.spec().Describe();
  }
}

// The variants that promise the bits of another.
class HstuSameBits : public HstuVariantPromises {};

std::vector<const HstuVariant*> BearersOfSameBits() {
  std::vector<const HstuVariant*> bearers;
  std::copy_if(HstuVariants().begin(), HstuVariants().end(), std::back_inserter(bearers),
               [](const HstuVariant* v) { return !v->same_bits_as.empty(); });
  return bearers;
}

// Exactly one key, no divisor of anything, and more than there is to copy.
TEST_P(HstuSameBits, AnyStagingBufferGivesTheBitsOfTheNamedVariant) {
  const HstuVariant* named = FindHstuVariant(variant().same_bits_as);
  ASSERT_NE(named, nullptr);
  for (uint64_t seed = 301; seed <= 316; ++seed) {
    const HstuProblem problem(ArbitraryBatch(seed));
    const HstuSpec& spec = problem.spec();
    const Result want = RunHstuVariant(*named, problem, 1);
    const int64_t row = std::max(spec.head_dim, spec.head_dim_v) * SizeOf(spec.dtype);
    for (const int64_t bytes : {2 * row, 2 * row + 1, 4 * row - 1, 11 * row + 7, int64_t{10'007},
                                int64_t{1} << 20, std::numeric_limits<int64_t>::max()}) {
      const HstuPlanOptions options{.staging_bytes = bytes};
      EXPECT_TRUE(SameBits(RunHstuVariant(variant(), problem, 2, options).out, want.out))
          << bytes << " bytes: " << spec.Describe();
      EXPECT_TRUE(SameBits(RunHstuVariant(*named, problem, 2, options).out, want.out))
          << named->name << " through " << bytes << " bytes: " << spec.Describe();
    }
    const HstuPlanOptions one_row{.staging_bytes = row};
    EXPECT_TRUE(SameBits(RunHstuVariant(*named, problem, 2, one_row).out, want.out)) << spec.Describe();
  }
}

// Layers of a model: one plan and one workspace, other values.
TEST_P(HstuVariantPromises, APlanServesEveryLayer) {
  for (uint64_t seed = 401; seed <= 404; ++seed) {
    HstuSpec spec = ArbitraryBatch(seed);
    HstuPlan first = [&] {
      // The tensors that the plan was made from are gone when it runs.
      const HstuProblem gone(spec);
      return PlanHstu(variant(), gone.batch(), 2);
    }();
    const HstuPlan plan = std::move(first);
    Buffer workspace(plan.workspace_bytes());
    std::ranges::fill(workspace.span<std::byte>(), std::byte{0xff});
    ThreadPool pool(2);
    for (spec.layer = 0; spec.layer < 3; ++spec.layer) {
      const HstuProblem layer(spec);
      const Result want = RunHstuVariant(variant(), layer, 2);
      HstuCall call = layer.call();
      std::vector<float> got(want.out.size());
      call.out = TensorView::Dense(got.data(), DType::kF32, {call.q.shape[0], spec.q_heads, spec.head_dim_v});
      RunHstu(plan, call, workspace.span<std::byte>(), pool);
      EXPECT_TRUE(SameBits(got, want.out)) << "layer " << spec.layer << " of " << spec.Describe();
    }
  }
}

// out with gaps and in every type: the f32 result rounded once, and nothing between the rows.
TEST_P(HstuVariantPromises, StridesAndTypesOfTheOutputChangeNothingElse) {
  constexpr int64_t kDim = 17;
  constexpr int64_t kHead = 19;
  for (const int64_t queries : {1, 20}) {
    HstuSpec spec;
    spec.sequences = {{.queries = queries, .keys = 700}, {.queries = 1, .keys = 40, .targets = 1}};
    spec.head_dim = 24;
    spec.head_dim_v = kDim;
    spec.gap = 5;
    const HstuProblem problem(spec);
    const Result want = RunHstuVariant(variant(), problem, 2);
    const int64_t rows = queries + 1;
    const int64_t row = spec.q_heads * kHead + 3;
    for (const DType dtype : kFloatTypes) {
      Elements got(dtype, (rows - 1) * row + (spec.q_heads - 1) * kHead + kDim, -77);
      Elements expected(dtype, got.count(), -77);
      for (int64_t i = 0; i < rows * spec.q_heads; ++i) {
        for (int64_t d = 0; d < kDim; ++d)
          expected.Set(i / spec.q_heads * row + i % spec.q_heads * kHead + d, want.out[i * kDim + d]);
      }
      const HstuPlan plan = PlanHstu(variant(), problem.batch(), 2);
      Buffer workspace(plan.workspace_bytes());
      ThreadPool pool(2);
      HstuCall call = problem.call();
      call.out = TensorView::Dense(got.data(), dtype, {rows, spec.q_heads, kDim});
      call.out.strides = {row, kHead, 1};
      RunHstu(plan, call, workspace.span<std::byte>(), pool);
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.count() * SizeOf(dtype)), 0)
          << NameOf(dtype) << " queries " << queries;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HstuVariantPromises,
                         ::testing::ValuesIn(HstuVariants().begin(), HstuVariants().end()),
                         [](const auto& info) { return std::string(info.param->name); });

INSTANTIATE_TEST_SUITE_P(All, HstuSameBits, ::testing::ValuesIn(BearersOfSameBits()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace pagoda::testing

// What a variant promises about its bits, held over random batches: alone or in company, on any number of
// threads, by a new plan or an old one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "base/random.h"
#include "engine/attention/problem.h"
#include "engine/index_tensor.h"

namespace pagoda::testing {
namespace {

ProblemSpec ArbitraryBatch(uint64_t seed) {
  Random random(seed);
  const auto pick = [&](std::initializer_list<int64_t> options) {
    return options.begin()[random.Below(options.size())];
  };
  ProblemSpec spec;
  spec.seed = seed;
  spec.contexts.clear();
  spec.queries.clear();
  const int64_t batch = random.Between(2, 5);
  for (int64_t b = 0; b < batch; ++b) {
    spec.contexts.push_back(pick({0, 1, 30, 65, 200, 700, 1500, 1600, 3200}));
    spec.queries.push_back(pick({0, 1, 1, 1, 2, 9, 70}));
  }
  spec.kv_heads = pick({1, 2, 3});
  spec.q_heads = spec.kv_heads * pick({1, 2, 4, 7});
  spec.head_dim = pick({16, 40, 64});
  spec.head_dim_v = pick({16, 40, 64});
  spec.page_size = pick({1, 3, 16, 64, 128});
  spec.dtype = random.Chance(0.5) ? DType::kBF16 : DType::kF32;
  spec.hnd = random.Chance(0.5);
  spec.padded = random.Chance(0.5);
  spec.params.causal = random.Chance(0.7);
  if (random.Chance(0.3)) spec.params.window_left = random.Between(0, 100);
  if (random.Chance(0.2)) spec.params.softcap = 20;
  spec.alibi = random.Chance(0.3);
  spec.sinks = random.Chance(0.3);
  return spec;
}

// Sequence b of a problem as a batch of its own, over the same q, K and V.
struct Alone {
  Alone(const Problem& problem, const NormalBatch& all, int64_t b)
      : q_indptr({0, all.q_len(b)}),
        pages({all.page_ids.begin() + all.page_begin[b], all.page_ids.begin() + all.page_begin[b + 1]}, 1,
              all.page_begin[b + 1] - all.page_begin[b], DType::kI64, std::max<int64_t>(1, pages_of(all, b)),
              1),
        len({all.kv_len[b]}),
        batch(problem.batch()),
        call(problem.Call(nullptr, nullptr)) {
    batch.q_indptr = q_indptr.view();
    batch.table = PageTable::Padded(pages.view(), len.view());
    call.q.data =
        static_cast<std::byte*>(call.q.data) + all.q_begin[b] * call.q.strides[0] * SizeOf(call.q.dtype);
    call.q.shape[0] = all.q_len(b);
  }
  static int64_t pages_of(const NormalBatch& all, int64_t b) {
    return all.page_begin[b + 1] - all.page_begin[b];
  }
  IndexTensor q_indptr, pages, len;
  SoftmaxBatch batch;
  SoftmaxCall call;
};

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

class SoftmaxVariantPromises : public ::testing::TestWithParam<const SoftmaxVariant*> {
 protected:
  const SoftmaxVariant& variant() const { return *GetParam(); }
  bool Promises(Promise promise) const { return (variant().promises & promise) != 0; }
};

TEST_P(SoftmaxVariantPromises, ASequenceAloneHasTheBitsItHasInTheBatch) {
  if (!Promises(kBatchInvariant)) GTEST_SKIP() << "not promised";
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    const Problem problem(ArbitraryBatch(seed));
    const NormalBatch all = Normalise(problem.batch());
    const Result whole = RunVariant(variant(), problem, 2);
    const int64_t heads = problem.spec().q_heads;
    const int64_t dim = problem.spec().head_dim_v;
    for (int64_t b = 0; b < all.batch; ++b) {
      const Alone alone(problem, all, b);
      const Result got = RunVariant(variant(), alone.batch, alone.call, 2);
      const int64_t first = all.q_begin[b] * heads;
      const int64_t rows = all.q_len(b) * heads;
      EXPECT_TRUE(SameBits(got.out, std::span(whole.out).subspan(first * dim, rows * dim)) &&
                  SameBits(got.lse, std::span(whole.lse).subspan(first, rows)))
          << "sequence " << b << " of " << problem.spec().Describe();
    }
  }
}

TEST_P(SoftmaxVariantPromises, AnyNumberOfThreadsGivesTheSameBits) {
  if (!Promises(kThreadInvariant)) GTEST_SKIP() << "not promised";
  for (uint64_t seed = 101; seed <= 112; ++seed) {
    const Problem problem(ArbitraryBatch(seed));
    const Result want = RunVariant(variant(), problem, 1);
    for (const int threads : {2, 3, 8}) {
      const Result got = RunVariant(variant(), problem, threads);
      EXPECT_TRUE(SameBits(got.out, want.out) && SameBits(got.lse, want.lse))
          << threads << " threads: " << problem.spec().Describe();
    }
  }
}

// Threads may decide how prefill is cut into blocks. 260 rows are one block or several with a last one of 4
// rows. Where a block's tiles begin, and how many of a tile's keys its last row sees, differ then.
TEST_P(SoftmaxVariantPromises, BlocksOfAnySizeGiveTheSameBits) {
  if (!Promises(kThreadInvariant)) GTEST_SKIP() << "not promised";
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t context : {300, 301, 1700}) {
      for (const int64_t window_left : {-1, 130, 7}) {
        ProblemSpec spec;
        spec.dtype = dtype;
        const size_t sequences = context > 1000 ? 1 : 4;
        spec.contexts.assign(sequences, context);
        spec.queries.assign(sequences, 260);
        spec.q_heads = spec.kv_heads = 2;
        spec.head_dim = spec.head_dim_v = 40;
        spec.params.window_left = window_left;
        const Problem problem(spec);
        const Result want = RunVariant(variant(), problem, 1);
        for (const int threads : {2, 4, 8}) {
          const Result got = RunVariant(variant(), problem, threads);
          EXPECT_TRUE(SameBits(got.out, want.out) && SameBits(got.lse, want.lse))
              << threads << " threads: " << spec.Describe();
        }
      }
    }
  }
}

TEST_P(SoftmaxVariantPromises, TheSameCallAgainGivesTheSameBits) {
  if (!Promises(kRepeatable)) GTEST_SKIP() << "not promised";
  for (uint64_t seed = 201; seed <= 206; ++seed) {
    const Problem problem(ArbitraryBatch(seed));
    const Result want = RunVariant(variant(), problem, 3);
    for (int i = 0; i < 2; ++i) {
      const Result got = RunVariant(variant(), problem, 3);
      EXPECT_TRUE(SameBits(got.out, want.out) && SameBits(got.lse, want.lse)) << problem.spec().Describe();
    }
  }
}

// Layers of a model: one plan and one workspace, other q, K and V.
TEST_P(SoftmaxVariantPromises, APlanServesEveryLayer) {
  for (uint64_t seed = 301; seed <= 304; ++seed) {
    ProblemSpec spec = ArbitraryBatch(seed);
    const SoftmaxPlan plan = [&] {
      // The tensors that the plan was made from are gone when it runs.
      const Problem first(spec);
      return PlanSoftmax(variant(), first.batch(), 2);
    }();
    Buffer workspace(plan.workspace_bytes());
    std::ranges::fill(workspace.span<std::byte>(), std::byte{0xff});
    ThreadPool pool(2);
    for (spec.layer = 0; spec.layer < 3; ++spec.layer) {
      const Problem layer(spec);
      Result got;
      got.out.resize(layer.out_floats());
      got.lse.resize(layer.lse_floats());
      RunSoftmax(plan, layer.Call(got.out.data(), got.lse.data()), workspace.span<std::byte>(), pool);
      const Result want = RunVariant(variant(), layer, 2);
      EXPECT_TRUE(SameBits(got.out, want.out) && SameBits(got.lse, want.lse))
          << "layer " << spec.layer << " of " << spec.Describe();
    }
  }
}

TEST_P(SoftmaxVariantPromises, AMovedPlanIsThePlan) {
  const Problem problem(ArbitraryBatch(1));
  const Result want = RunVariant(variant(), problem, 2);
  SoftmaxPlan first = PlanSoftmax(variant(), problem.batch(), 2);
  SoftmaxPlan plan = std::move(first);
  Buffer workspace(plan.workspace_bytes());
  ThreadPool pool(2);
  Result got;
  got.out.resize(problem.out_floats());
  got.lse.resize(problem.lse_floats());
  RunSoftmax(plan, problem.Call(got.out.data(), got.lse.data()), workspace.span<std::byte>(), pool);
  EXPECT_TRUE(SameBits(got.out, want.out) && SameBits(got.lse, want.lse));
}

// q, out and lse with gaps; out in every type: the f32 result rounded once.
TEST_P(SoftmaxVariantPromises, StridesAndTypesOfTheOutputChangeNothingElse) {
  for (const int64_t queries : {1, 20}) {
    ProblemSpec spec;
    spec.contexts = {70, 40};
    spec.queries = {queries, 1};
    spec.head_dim = 24;
    spec.head_dim_v = 17;
    const Problem problem(spec);
    const Result want = RunVariant(variant(), problem, 2);
    const SoftmaxCall dense = problem.Call(nullptr, nullptr);
    const int64_t rows = dense.q.shape[0];
    const int64_t heads = dense.q.shape[1];
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      SoftmaxCall call = dense;
      const auto spread = [](TensorView& view, std::vector<float>& room, int64_t row_stride,
                             int64_t head_stride) {
        room.assign(row_stride * view.shape[0], std::numeric_limits<float>::quiet_NaN());
        view.data = room.data();
        view.strides = {row_stride, head_stride, 1};
      };
      std::vector<float> q;
      std::vector<float> out;
      std::vector<float> lse;
      spread(call.q, q, heads * 30 + 5, 30);
      for (int64_t i = 0; i < rows * heads; ++i) {
        std::copy_n(static_cast<const float*>(dense.q.data) + i * 24, 24,
                    q.data() + i / heads * (heads * 30 + 5) + i % heads * 30);
      }
      spread(call.out, out, heads * 19 + 3, 19);
      call.out.dtype = dtype;
      call.lse = TensorView::Dense(nullptr, DType::kF32, {rows, heads});
      spread(call.lse, lse, heads * 2 + 1, 2);
      const std::vector<float> out_before = out;
      const SoftmaxPlan plan = PlanSoftmax(variant(), problem.batch(), 2);
      Buffer workspace(plan.workspace_bytes());
      ThreadPool pool(2);
      RunSoftmax(plan, call, workspace.span<std::byte>(), pool);
      // Put what is expected into a copy and compare all of it, gaps too.
      std::vector<float> want_out = out_before;
      std::vector<float> want_lse(lse.size(), std::numeric_limits<float>::quiet_NaN());
      for (int64_t i = 0; i < rows * heads; ++i) {
        const int64_t at = i / heads * (heads * 19 + 3) + i % heads * 19;
        for (int64_t d = 0; d < 17; ++d) {
          const float x = want.out[i * 17 + d];
          if (dtype == DType::kF32) {
            want_out[at + d] = x;
          } else {
            reinterpret_cast<uint16_t*>(want_out.data())[at + d] =
                dtype == DType::kF16 ? F32ToF16(x) : F32ToBF16(x);
          }
        }
        want_lse[i / heads * (heads * 2 + 1) + i % heads * 2] = want.lse[i];
      }
      EXPECT_TRUE(SameBits(out, want_out)) << NameOf(dtype) << " queries " << queries;
      EXPECT_TRUE(SameBits(lse, want_lse)) << NameOf(dtype) << " queries " << queries;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SoftmaxVariantPromises,
                         ::testing::ValuesIn(SoftmaxVariants().begin(), SoftmaxVariants().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace pagoda::testing

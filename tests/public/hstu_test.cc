// HSTU attention as a user of the library writes it: a history in pages, candidates beside it, a plan, calls.
#include <gtest/gtest.h>
#include <pagoda/hstu.h>
#include <pagoda/paged_kv.h>
#include <pagoda/status.h>
#include <pagoda/thread_pool.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace {

using pagoda::DType;
using pagoda::TensorView;

constexpr int64_t kPages = 4;
constexpr int64_t kPageSize = 4;
constexpr int64_t kHistory = 10;
constexpr int64_t kTargets = 3;
constexpr int64_t kDim = 8;

// Any fixed values between -1 and 1.
float Value(int64_t row, int64_t d, int64_t what) {
  return std::sin(static_cast<float>(13 * row + 7 * d + 3 * what));
}

float* Aligned(size_t bytes) {
  return static_cast<float*>(std::aligned_alloc(64, std::max<size_t>(64, (bytes + 63) / 64 * 64)));
}

// One head, one user with a history of ten events and three candidates, which see the history and themselves.
class Ranking {
 public:
  Ranking() : cache_(2 * kPages * kPageSize * kDim, NAN), q_(kTargets * kDim), k_(q_.size()), v_(q_.size()) {
    for (int64_t j = 0; j < kHistory; ++j) {
      for (int64_t d = 0; d < kDim; ++d) {
        Cached(j, d, 0) = Value(j, d, 1);
        Cached(j, d, 1) = Value(j, d, 2);
      }
    }
    for (int64_t t = 0; t < kTargets; ++t) {
      for (int64_t d = 0; d < kDim; ++d) {
        q_[t * kDim + d] = Value(t, d, 0);
        k_[t * kDim + d] = Value(kHistory + t, d, 1);
        v_[t * kDim + d] = Value(kHistory + t, d, 2);
      }
    }
  }

  pagoda::HstuBatch Batch() {
    pagoda::HstuBatch batch;
    batch.q_heads = batch.kv_heads = 1;
    batch.head_dim = batch.head_dim_v = kDim;
    batch.seq_offsets = TensorView::Dense(offsets_, DType::kI32, {2});
    batch.kv = pagoda::PagedKvView::Combined(
        TensorView::Dense(cache_.data(), DType::kF32, {kPages, 2, kPageSize, 1, kDim}),
        pagoda::KvLayout::kNHD);
    batch.table = pagoda::PageTable::Csr(TensorView::Dense(indptr_, DType::kI32, {2}),
                                         TensorView::Dense(pages_, DType::kI32, {3}),
                                         TensorView::Dense(last_page_len_, DType::kI32, {1}));
    batch.num_targets = TensorView::Dense(targets_, DType::kI32, {1});
    batch.params.max_seq_len = 64;
    return batch;
  }

  pagoda::HstuCall Call(std::vector<float>& out) {
    pagoda::HstuCall call;
    call.q = TensorView::Dense(q_.data(), DType::kF32, {kTargets, 1, kDim});
    call.k = TensorView::Dense(k_.data(), DType::kF32, {kTargets, 1, kDim});
    call.v = TensorView::Dense(v_.data(), DType::kF32, {kTargets, 1, kDim});
    call.kv = Batch().kv;
    call.out = TensorView::Dense(out.data(), DType::kF32, {kTargets, 1, kDim});
    return call;
  }

  // By the formula.
  static std::vector<double> Expected() {
    std::vector<double> out(kTargets * kDim, 0.0);
    for (int64_t t = 0; t < kTargets; ++t) {
      for (int64_t j = 0; j < kHistory + kTargets; ++j) {
        if (j >= kHistory && j != kHistory + t) continue;
        double x = 0;
        for (int64_t d = 0; d < kDim; ++d) x += double{Value(t, d, 0)} * Value(j, d, 1);
        const double weight = x / (1 + std::exp(-x)) / 64;
        for (int64_t d = 0; d < kDim; ++d) out[t * kDim + d] += weight * Value(j, d, 2);
      }
    }
    return out;
  }

 private:
  float& Cached(int64_t key, int64_t d, int64_t value) {
    const int64_t page = pages_[key / kPageSize];
    return cache_[((page * 2 + value) * kPageSize + key % kPageSize) * kDim + d];
  }

  std::vector<float> cache_, q_, k_, v_;
  int32_t offsets_[2] = {0, kTargets};
  int32_t indptr_[2] = {0, 3};
  int32_t pages_[3] = {2, 0, 3};
  int32_t last_page_len_[1] = {2};
  int32_t targets_[1] = {kTargets};
};

TEST(HstuLibrary, EveryVariantScoresCandidatesByTheFormula) {
  Ranking ranking;
  const std::vector<double> want = Ranking::Expected();
  pagoda::ThreadPool pool(2, false);
  ASSERT_FALSE(pagoda::HstuVariants().empty());
  for (const pagoda::HstuVariant* variant : pagoda::HstuVariants()) {
    const pagoda::HstuPlan plan = pagoda::PlanHstu(*variant, ranking.Batch(), pool.threads());
    const std::unique_ptr<float, decltype(&std::free)> workspace(Aligned(plan.workspace_bytes()), &std::free);
    std::vector<float> out(want.size(), NAN);
    pagoda::RunHstu(plan, ranking.Call(out),
                    std::as_writable_bytes(std::span(workspace.get(), plan.workspace_bytes() / 4)), pool);
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(out[i], want[i], 1e-6) << pagoda::NameOf(*variant) << " " << i;
  }
}

TEST(HstuLibrary, FindsVariantsByName) {
  for (const pagoda::HstuVariant* variant : pagoda::HstuVariants())
    EXPECT_EQ(pagoda::FindHstuVariant(pagoda::NameOf(*variant)), variant);
  EXPECT_EQ(pagoda::FindHstuVariant("gather"), nullptr);
}

TEST(HstuLibrary, NamesTheFieldThatIsWrong) {
  Ranking ranking;
  pagoda::HstuBatch batch = ranking.Batch();
  batch.params.max_seq_len = 0;
  try {
    pagoda::PlanHstu(*pagoda::HstuVariants().front(), batch, 1);
    FAIL() << "was planned";
  } catch (const pagoda::Error& e) {
    EXPECT_EQ(e.field(), "max_seq_len");
  }
}

}  // namespace

// One decode step of one layer: two sequences get a new token each, its K and V go to the cache, and the new
// queries attend to all keys so far. What a decoder does for every layer and token, with public headers only.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "pagoda/block_pool.h"
#include "pagoda/paged_kv.h"
#include "pagoda/softmax.h"
#include "pagoda/status.h"
#include "pagoda/thread_pool.h"

namespace {

constexpr int64_t kPages = 8, kPageSize = 16, kQHeads = 8, kKvHeads = 2, kHeadDim = 64;

using pagoda::DType;
using pagoda::TensorView;

void Run() {
  // The cache of one layer: K and V apart, [pages, page_size, kv_heads, head_dim].
  std::vector<float> k_cache(kPages * kPageSize * kKvHeads * kHeadDim), v_cache(k_cache.size());
  const auto cache_view = [](std::vector<float>& data) {
    return TensorView::Dense(data.data(), DType::kF32, {kPages, kPageSize, kKvHeads, kHeadDim});
  };
  const pagoda::PagedKvView cache =
      pagoda::PagedKvView::Split(cache_view(k_cache), cache_view(v_cache), pagoda::KvLayout::kNHD);

  // Two sequences of 16 and 33 keys, the new token counted: one page and three.
  pagoda::BlockPool pool(kPages);
  const std::vector<int64_t> first = pool.Allocate(1);
  const std::vector<int64_t> second = pool.Allocate(3);
  std::array<int64_t, 3> indptr = {0, 1, 4};
  std::array<int64_t, 4> indices = {first[0], second[0], second[1], second[2]};
  std::array<int64_t, 2> last_page_len = {16, 1};

  // The new tokens' K and V go to the last slot of each sequence.
  std::array<int64_t, 2> slots = {first[0] * kPageSize + 15, second[2] * kPageSize + 0};
  std::vector<float> k(2 * kKvHeads * kHeadDim, 0.5F), v(k.size(), 1.0F);
  const auto token_view = [](std::vector<float>& data) {
    return TensorView::Dense(data.data(), DType::kF32, {2, kKvHeads, kHeadDim});
  };
  pagoda::AppendKv(cache, token_view(k), token_view(v), TensorView::Dense(slots.data(), DType::kI64, {2}));

  // The plan holds for every layer of this step.
  std::array<int64_t, 3> q_indptr = {0, 1, 2};
  pagoda::SoftmaxBatch batch;
  batch.q_heads = kQHeads;
  batch.q_indptr = TensorView::Dense(q_indptr.data(), DType::kI64, {3});
  batch.kv = cache;
  batch.table = pagoda::PageTable::Csr(TensorView::Dense(indptr.data(), DType::kI64, {3}),
                                       TensorView::Dense(indices.data(), DType::kI64, {4}),
                                       TensorView::Dense(last_page_len.data(), DType::kI64, {2}));
  pagoda::ThreadPool threads(pagoda::DefaultThreads());
  const pagoda::SoftmaxVariant* variant = pagoda::FindSoftmaxVariant("spmd_paged_attention_highperf");
  const pagoda::SoftmaxPlan plan = pagoda::PlanSoftmax(*variant, batch, threads.threads());

  std::vector<float> q(2 * kQHeads * kHeadDim, 0.25F), out(q.size());
  std::vector<std::byte> workspace(plan.workspace_bytes() + 64);
  void* aligned = workspace.data();
  size_t space = workspace.size();
  std::align(64, plan.workspace_bytes(), aligned, space);

  pagoda::SoftmaxCall call;
  call.q = TensorView::Dense(q.data(), DType::kF32, {2, kQHeads, kHeadDim});
  call.kv = cache;
  call.out = TensorView::Dense(out.data(), DType::kF32, {2, kQHeads, kHeadDim});
  pagoda::RunSoftmax(plan, call, {static_cast<std::byte*>(aligned), plan.workspace_bytes()}, threads);

  // All keys but the new one are zero, and so are their values.
  std::printf("sequence of 16 keys: out[0] = %.4f\nsequence of 33 keys: out[0] = %.4f\n", out[0],
              out[kQHeads * kHeadDim]);
}

}  // namespace

int main() {
  try {
    Run();
    return 0;
  } catch (const pagoda::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

// Plans one decode step of one sequence of three keys, with what was installed and nothing else.
#include <array>
#include <cstdint>
#include <cstdio>

#include "pagoda/paged_kv.h"
#include "pagoda/softmax.h"
#include "pagoda/status.h"

int main() {
  using pagoda::DType;
  using pagoda::TensorView;
  std::array<float, 4 * 8> cache{};  // one page of 4 slots, one kv head of 8
  std::array<int32_t, 2> q_indptr = {0, 1}, indptr = {0, 1};
  std::array<int32_t, 1> indices = {0}, last_page_len = {3};

  const TensorView page = TensorView::Dense(cache.data(), DType::kF32, {1, 4, 1, 8});
  pagoda::SoftmaxBatch batch;
  batch.q_heads = 2;
  batch.q_indptr = TensorView::Dense(q_indptr.data(), DType::kI32, {2});
  batch.kv = pagoda::PagedKvView::Split(page, page, pagoda::KvLayout::kNHD);
  batch.table = pagoda::PageTable::Csr(TensorView::Dense(indptr.data(), DType::kI32, {2}),
                                       TensorView::Dense(indices.data(), DType::kI32, {1}),
                                       TensorView::Dense(last_page_len.data(), DType::kI32, {1}));
  for (const pagoda::SoftmaxVariant* variant : pagoda::SoftmaxVariants()) {
    const pagoda::SoftmaxPlan plan = pagoda::PlanSoftmax(*variant, batch, 1);
    std::printf("%.*s needs %zu bytes\n", static_cast<int>(pagoda::NameOf(*variant).size()),
                pagoda::NameOf(*variant).data(), plan.workspace_bytes());
  }

  indices[0] = 7;  // there is one page: errors must cross the library's border
  try {
    pagoda::PlanSoftmax(*pagoda::SoftmaxVariants().front(), batch, 1);
  } catch (const pagoda::Error& error) {
    std::printf("%s\n", error.what());
    return 0;
  }
  return 1;
}

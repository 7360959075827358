// Caches whose pages lie further apart than 32 bits count, over address space of which only the rows exist.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/attention/problem.h"
#include "engine/memory.h"

namespace pagoda::testing {
namespace {

// Beyond 2^31 elements, which in bf16 is beyond 2^32 bytes, from page 1 on.
constexpr int64_t kPageStride = (int64_t{1} << 31) + 123;

class SoftmaxVariantSparseCache : public ::testing::TestWithParam<const SoftmaxVariant*> {};

TEST_P(SoftmaxVariantSparseCache, PagesBeyond32BitsAreRead) {
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    for (const bool hnd : {false, true}) {
      for (const int64_t queries : {1, 20}) {
        ProblemSpec spec;
        spec.contexts = {40, 33};
        spec.queries = {queries, 1};
        spec.dtype = dtype;
        spec.hnd = hnd;
        spec.head_dim = 24;
        spec.head_dim_v = 16;
        const Problem problem(spec);
        const SoftmaxCall dense = problem.Call(nullptr, nullptr);
        const PagedKvView& from = dense.kv;
        PagedKvView to = from;
        const int64_t size = SizeOf(dtype);
        const SparseMemory k(from.num_pages * kPageStride * size);
        const SparseMemory v(from.num_pages * kPageStride * size);
        to.k = k.data();
        to.v = v.data();
        to.k_page_stride = to.v_page_stride = kPageStride;
        for (int64_t page = 0; page < from.num_pages; ++page) {
          std::memcpy(k.data() + page * kPageStride * size,
                      static_cast<std::byte*>(from.k) + page * from.k_page_stride * size,
                      from.k_page_stride * size);
          std::memcpy(v.data() + page * kPageStride * size,
                      static_cast<std::byte*>(from.v) + page * from.v_page_stride * size,
                      from.v_page_stride * size);
        }
        SoftmaxBatch batch = problem.batch();
        SoftmaxCall call = dense;
        batch.kv = call.kv = to;
        EXPECT_EQ(RunVariant(*GetParam(), batch, call, 2), RunVariant(*GetParam(), problem, 2))
            << spec.Describe();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SoftmaxVariantSparseCache,
                         ::testing::ValuesIn(SoftmaxVariants().begin(), SoftmaxVariants().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace pagoda::testing

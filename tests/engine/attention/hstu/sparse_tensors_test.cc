// Pages and rows that lie further apart than 32 bits count, over address space of which only they exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engine/attention/hstu/problem.h"
#include "engine/memory.h"

namespace pagoda::testing {
namespace {

// Beyond 2^31 elements, which in bf16 is beyond 2^32 bytes, from the second page or row on.
constexpr int64_t kStride = (int64_t{1} << 31) + 123;

// A copy of `count` rows or pages of `elements` dense elements, kStride apart.
SparseMemory Spread(const void* from, int64_t count, int64_t elements, int64_t size) {
  SparseMemory to(std::max<int64_t>(1, count) * kStride * size);
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to.data() + i * kStride * size, static_cast<const std::byte*>(from) + i * elements * size,
                elements * size);
  }
  return to;
}

SparseMemory Spread(const TensorView& t) { return Spread(t.data, t.shape[0], t.strides[0], SizeOf(t.dtype)); }

class HstuVariantSparse : public ::testing::TestWithParam<const HstuVariant*> {};

TEST_P(HstuVariantSparse, WhatLiesBeyond32BitsIsRead) {
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    for (const bool paged : {true, false}) {
      for (const int64_t queries : {2, 20}) {
        HstuSpec spec;
        spec.sequences = {{.queries = queries, .keys = 40, .targets = 2}, {.queries = 1, .keys = 33}};
        spec.paged = paged;
        spec.dtype = dtype;
        spec.head_dim = 24;
        spec.head_dim_v = 16;
        spec.rab = PairForm{.per_sequence = true};
        const HstuProblem problem(spec);
        HstuBatch batch = problem.batch();
        HstuCall call = problem.call();
        const SparseMemory q = Spread(call.q);
        const SparseMemory k = Spread(call.k);
        const SparseMemory v = Spread(call.v);
        const SparseMemory rab = Spread(call.rab);
        for (const auto& [view, memory] :
             {std::pair{&call.q, &q}, {&call.k, &k}, {&call.v, &v}, {&call.rab, &rab}}) {
          view->data = memory->data();
          view->strides[0] = kStride;
        }
        const PagedKvView& kv = batch.kv;
        const int64_t size = SizeOf(dtype);
        const SparseMemory k_pages = Spread(kv.k, kv.num_pages, kv.k_page_stride, size);
        const SparseMemory v_pages = Spread(kv.v, kv.num_pages, kv.v_page_stride, size);
        if (paged) {
          batch.kv.k = k_pages.data();
          batch.kv.v = v_pages.data();
          batch.kv.k_page_stride = batch.kv.v_page_stride = kStride;
          call.kv = batch.kv;
        }
        EXPECT_EQ(RunHstuVariant(*GetParam(), batch, call, 2), RunHstuVariant(*GetParam(), problem, 2))
            << spec.Describe();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HstuVariantSparse,
                         ::testing::ValuesIn(HstuVariants().begin(), HstuVariants().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace pagoda::testing

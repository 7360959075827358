#include "pagoda/paged_kv.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "engine/expect_error.h"
#include "engine/index_tensor.h"
#include "engine/kv/cache.h"
#include "engine/memory.h"

namespace pagoda::testing {
namespace {

float kNumber[1024];

TensorView Floats(std::initializer_list<int64_t> shape) {
  return TensorView::Dense(kNumber, DType::kF32, shape);
}

// --- views

TEST(PagedKv, SplitReadsBothLayouts) {
  const PagedKvView nhd = PagedKvView::Split(Floats({4, 3, 2, 5}), Floats({4, 3, 2, 7}), KvLayout::kNHD);
  EXPECT_EQ(nhd.k, kNumber);
  EXPECT_EQ(nhd.v, kNumber);
  EXPECT_EQ(nhd.dtype, DType::kF32);
  EXPECT_EQ(std::tie(nhd.num_pages, nhd.page_size, nhd.kv_heads, nhd.head_dim, nhd.head_dim_v),
            std::make_tuple(4, 3, 2, 5, 7));
  EXPECT_EQ(std::tie(nhd.k_page_stride, nhd.k_slot_stride, nhd.k_head_stride), std::make_tuple(30, 10, 5));
  EXPECT_EQ(std::tie(nhd.v_page_stride, nhd.v_slot_stride, nhd.v_head_stride), std::make_tuple(42, 14, 7));
  const PagedKvView hnd = PagedKvView::Split(Floats({4, 2, 3, 5}), Floats({4, 2, 3, 7}), KvLayout::kHND);
  EXPECT_EQ(std::tie(hnd.num_pages, hnd.page_size, hnd.kv_heads), std::make_tuple(4, 3, 2));
  EXPECT_EQ(std::tie(hnd.k_page_stride, hnd.k_slot_stride, hnd.k_head_stride), std::make_tuple(30, 5, 15));
  EXPECT_EQ(std::tie(hnd.v_page_stride, hnd.v_slot_stride, hnd.v_head_stride), std::make_tuple(42, 7, 21));
}

TEST(PagedKv, CombinedReadsBothLayouts) {
  const PagedKvView nhd = PagedKvView::Combined(Floats({4, 2, 3, 6, 5}), KvLayout::kNHD);
  EXPECT_EQ(nhd.k, kNumber);
  EXPECT_EQ(nhd.v, kNumber + 90);
  EXPECT_EQ(std::tie(nhd.num_pages, nhd.page_size, nhd.kv_heads, nhd.head_dim, nhd.head_dim_v),
            std::make_tuple(4, 3, 6, 5, 5));
  EXPECT_EQ(std::tie(nhd.k_page_stride, nhd.k_slot_stride, nhd.k_head_stride), std::make_tuple(180, 30, 5));
  EXPECT_EQ(std::tie(nhd.v_page_stride, nhd.v_slot_stride, nhd.v_head_stride), std::make_tuple(180, 30, 5));
  const PagedKvView hnd = PagedKvView::Combined(Floats({4, 2, 6, 3, 5}), KvLayout::kHND);
  EXPECT_EQ(std::tie(hnd.page_size, hnd.kv_heads), std::make_tuple(3, 6));
  EXPECT_EQ(std::tie(hnd.k_page_stride, hnd.k_slot_stride, hnd.k_head_stride), std::make_tuple(180, 5, 15));
}

TEST(PagedKv, StridesWithGapsAreKept) {
  TensorView k = Floats({4, 3, 2, 5});
  k.strides = {100, 20, 8, 1};
  const PagedKvView view = PagedKvView::Split(k, Floats({4, 3, 2, 5}), KvLayout::kNHD);
  EXPECT_EQ(std::tie(view.k_page_stride, view.k_slot_stride, view.k_head_stride),
            std::make_tuple(100, 20, 8));
  // A last dimension of one element has no stride to speak of.
  TensorView thin = Floats({4, 3, 2, 1});
  thin.strides[3] = 9;
  EXPECT_NO_THROW(PagedKvView::Split(thin, thin, KvLayout::kNHD));
}

TEST(PagedKv, ACacheWithoutPagesIsLegal) {
  EXPECT_EQ(PagedKvView::Split(Floats({0, 3, 2, 5}), Floats({0, 3, 2, 5}), KvLayout::kNHD).num_pages, 0);
}

TEST(PagedKv, EveryRefusalNamesItsTensor) {
  const TensorView k = Floats({4, 3, 2, 5});
  const auto split = [&](const TensorView& a, const TensorView& b, KvLayout layout = KvLayout::kNHD) {
    return [=] { PagedKvView::Split(a, b, layout); };
  };
  const auto combined = [](const TensorView& a, KvLayout layout = KvLayout::kNHD) {
    return [=] { PagedKvView::Combined(a, layout); };
  };
  ExpectError(split({}, k), "k_cache", "k_cache is missing");
  ExpectError(split(k, {}), "v_cache", "v_cache is missing");
  TensorView wrong = k;
  wrong.dtype = DType::kI32;
  ExpectError(split(wrong, k), "k_cache", "k_cache must be f32, f16 or bf16, not i32");
  ExpectError(split(k, Floats({4, 3, 2})), "v_cache",
              "v_cache must be [pages, page_size, kv_heads, head_dim], not of rank 3");
  ExpectError(split(Floats({4, 3, 2}), k, KvLayout::kHND), "k_cache",
              "k_cache must be [pages, kv_heads, page_size, head_dim], not of rank 3");
  wrong = k;
  wrong.strides[3] = 2;
  ExpectError(split(wrong, k), "k_cache", "k_cache must be dense in its last dimension, which has stride 2");
  ExpectError(split(Floats({4, 0, 2, 5}), k), "k_cache", "k_cache has 0 entries in dimension 1");
  ExpectError(split(Floats({-1, 3, 2, 5}), k), "k_cache", "k_cache has -1 entries in dimension 0");
  wrong = k;
  wrong.dtype = DType::kF16;
  ExpectError(split(k, wrong), "v_cache", "v_cache is f16, but k_cache is f32");
  ExpectError(split(k, Floats({5, 3, 2, 5})), "v_cache",
              "v_cache has 5 entries in dimension 0, but k_cache has 4");
  ExpectError(split(k, Floats({4, 3, 1, 5})), "v_cache",
              "v_cache has 1 entries in dimension 2, but k_cache has 2");
  ExpectError(combined({}), "kv_cache", "kv_cache is missing");
  ExpectError(combined(k), "kv_cache",
              "kv_cache must be [pages, 2, page_size, kv_heads, head_dim], not of rank 4");
  ExpectError(combined(k, KvLayout::kHND), "kv_cache",
              "kv_cache must be [pages, 2, kv_heads, page_size, head_dim], not of rank 4");
  ExpectError(combined(Floats({4, 3, 3, 2, 5})), "kv_cache",
              "kv_cache must have 2 (K and V) in dimension 1, not 3");
}

// --- AppendKv

// Rows of new tokens whose bits are unique, with gaps, ending where memory ends.
struct Rows {
  Rows(int64_t tokens, int64_t heads, int64_t dim, DType dtype, uint32_t first, int64_t gap)
      : head_stride(dim + gap),
        token_stride(heads * head_stride + gap),
        memory(tokens == 0
                   ? 0
                   : ((tokens - 1) * token_stride + (heads - 1) * head_stride + dim) * SizeOf(dtype)) {
    view = TensorView::Dense(memory.data(), dtype, {tokens, heads, dim});
    view.strides = {token_stride, head_stride, 1};
    const int64_t size = SizeOf(dtype);
    for (int64_t i = 0; i < static_cast<int64_t>(memory.size()) / size; ++i) {
      const uint32_t bits = first + static_cast<uint32_t>(i);
      std::memcpy(memory.data() + i * size, &bits, size);
    }
  }
  uint32_t Bits(int64_t token, int64_t head, int64_t d) const {
    uint32_t bits = 0;
    const int64_t size = SizeOf(view.dtype);
    std::memcpy(&bits, memory.data() + (token * token_stride + head * head_stride + d) * size, size);
    return bits;
  }
  int64_t head_stride, token_stride;
  GuardedMemory memory;
  TensorView view;
};

TEST(AppendKv, WritesEachTokenToItsSlotAndNothingElse) {
  for (const CacheShape& shape : EveryCacheShape()) {
    for (const DType index : {DType::kI32, DType::kI64}) {
      SCOPED_TRACE(shape.Describe());
      Cache cache(shape);
      // Skipped, the first and last slot, and one slot twice: the later token stays.
      const std::vector<int64_t> slots = {4, -1, 0, 14, 7, 4};
      const auto tokens = static_cast<int64_t>(slots.size());
      const Rows k(tokens, shape.heads, shape.dim, shape.dtype, 10000, shape.gap);
      const Rows v(tokens, shape.heads, shape.dim_v, shape.dtype, 20000, shape.gap);
      std::vector<uint32_t> want = cache.bits();
      for (int64_t t = 0; t < tokens; ++t) {
        if (slots[t] < 0) continue;
        const int64_t page = slots[t] / shape.page_size;
        const int64_t slot = slots[t] % shape.page_size;
        for (int64_t h = 0; h < shape.heads; ++h) {
          for (int64_t d = 0; d < shape.dim; ++d) want[cache.At(false, page, slot, h, d)] = k.Bits(t, h, d);
          for (int64_t d = 0; d < shape.dim_v; ++d) want[cache.At(true, page, slot, h, d)] = v.Bits(t, h, d);
        }
      }
      AppendKv(cache.view(), k.view, v.view, IndexTensor(slots, index, 2).view());
      EXPECT_EQ(cache.bits(), want);
    }
  }
}

RC_GTEST_PROP(AppendKvProperty, AnOutOfRangeSlotWritesNothing, ()) {
  const CacheShape shape = *rc::gen::elementOf(EveryCacheShape());
  Cache cache(shape);
  const int64_t room = shape.pages * shape.page_size;
  auto slots =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(-1, room)));
  const auto bad = *rc::gen::inRange<size_t>(0, slots.size());
  slots[bad] = *rc::gen::element<int64_t>(-2, room, room + 1, std::numeric_limits<int64_t>::max(),
                                          std::numeric_limits<int64_t>::min());
  const auto tokens = static_cast<int64_t>(slots.size());
  const Rows k(tokens, shape.heads, shape.dim, shape.dtype, 10000, 0);
  const Rows v(tokens, shape.heads, shape.dim_v, shape.dtype, 20000, 0);
  const std::vector<uint32_t> before = cache.bits();
  try {
    AppendKv(cache.view(), k.view, v.view, IndexTensor(slots, DType::kI64).view());
    RC_FAIL("accepted");
  } catch (const Error& e) {
    RC_ASSERT(e.field() == fmt::format("slots[{}]", bad));
    RC_ASSERT(std::string(e.what()) ==
              fmt::format("slots[{}] = {} is outside -1..{}", bad, slots[bad], room - 1));
  }
  RC_ASSERT(cache.bits() == before);
}

TEST(AppendKv, NoTokensIsLegal) {
  Cache cache({});
  const std::vector<uint32_t> before = cache.bits();
  AppendKv(cache.view(), TensorView::Dense(nullptr, DType::kF32, {0, 2, 4}),
           TensorView::Dense(nullptr, DType::kF32, {0, 2, 6}), TensorView::Dense(nullptr, DType::kI32, {0}));
  EXPECT_EQ(cache.bits(), before);
}

TEST(AppendKv, EveryRefusalNamesItsTensorAndWritesNothing) {
  Cache cache({});
  const std::vector<uint32_t> before = cache.bits();
  const IndexTensor slots({3, 4});
  const Rows k(2, 2, 4, DType::kF32, 0, 0);
  const Rows v(2, 2, 6, DType::kF32, 0, 0);
  const auto append = [&](const TensorView& a, const TensorView& b, const TensorView& s) {
    return [=, &cache] { AppendKv(cache.view(), a, b, s); };
  };
  ExpectError(append(k.view, v.view, {}), "slots", "slots is missing");
  ExpectError(append(k.view, v.view, k.view), "slots", "slots must be i32 or i64, not f32");
  TensorView bad = slots.view();
  bad.shape[0] = -2;
  ExpectError(append(k.view, v.view, bad), "slots", "slots has -2 entries");
  bad = k.view;
  bad.dtype = DType::kBF16;
  ExpectError(append(bad, v.view, slots.view()), "k", "k is bf16, but the cache is f32");
  ExpectError(append(v.view, v.view, slots.view()), "k", "k must be [2, 2, 4]");
  ExpectError(append(k.view, k.view, slots.view()), "v", "v must be [2, 2, 6]");
  ExpectError(append(k.view, v.view, IndexTensor({1}).view()), "k", "k must be [1, 2, 4]");
  bad = k.view;
  bad.strides[2] = 2;
  ExpectError(append(bad, v.view, slots.view()), "k", "k must be dense in its last dimension");
  bad = v.view;
  bad.data = nullptr;
  ExpectError(append(k.view, bad, slots.view()), "v", "v has no data");
  EXPECT_EQ(cache.bits(), before);
}

// Page 2 begins beyond 2^31 elements and 2^32 bytes; a 32-bit product would land in page 0 or outside.
TEST(AppendKv, ReachesPagesBeyond32Bits) {
  constexpr int64_t kPageStride = (int64_t{1} << 31) + 12345;
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const int64_t size = SizeOf(dtype);
    const SparseMemory memory((2 * kPageStride + 64) * size);
    TensorView view = TensorView::Dense(memory.data(), dtype, {3, 2, 4, 1, 4});
    view.strides[0] = kPageStride;
    const PagedKvView cache = PagedKvView::Combined(view, KvLayout::kNHD);
    const Rows k(1, 1, 4, dtype, 10000, 0);
    const Rows v(1, 1, 4, dtype, 20000, 0);
    AppendKv(cache, k.view, v.view, IndexTensor({2 * 4 + 3}).view());
    const std::byte* row = memory.data() + (2 * kPageStride + 3 * 4) * size;
    EXPECT_EQ(std::memcmp(row, k.memory.data(), 4 * size), 0) << NameOf(dtype);
    EXPECT_EQ(std::memcmp(row + 16 * size, v.memory.data(), 4 * size), 0) << NameOf(dtype);
  }
}

}  // namespace
}  // namespace pagoda::testing

// The planners as pure functions: which row meets which key. Runs every variant over tensors at addresses
// where there is no memory, with kernels that only keep the books.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/buffer.h"
#include "base/random.h"
#include "engine/attention/recording_kernels.h"
#include "engine/attention/variant.h"
#include "engine/index_tensor.h"

namespace pagoda::testing {
namespace {

struct Shape {
  std::vector<int64_t> contexts, queries;
  int64_t group = 2, kv_heads = 2, page_size = 16;
  bool hnd = false;
  SoftmaxParams params;

  std::string Describe() const {
    return fmt::format("contexts {} queries {} group {} kv heads {} page {} hnd={} causal={} window {}/{}",
                       fmt::join(contexts, ","), fmt::join(queries, ","), group, kv_heads, page_size, hnd,
                       params.causal, params.window_left, params.window_right);
  }
};

// Never dereferenced.
void* NoMemoryAt(uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// A batch whose pages are in random order, with pages between that nobody owns.
struct Batch {
  Batch(const Shape& s, Random& random)
      : shape(s),
        offsets({0}),
        q_indptr(Offsets(s.queries)),
        table(Table(s, random, &pages)),
        lens(s.contexts) {
    const int64_t width = Width(s);
    const auto batch_size = static_cast<int64_t>(s.contexts.size());
    call.q = TensorView::Dense(NoMemoryAt(uintptr_t{1} << 44), DType::kBF16,
                               {offsets.back(), s.kv_heads * s.group, 3});
    call.out = TensorView::Dense(NoMemoryAt(uintptr_t{2} << 44), DType::kF32,
                                 {offsets.back(), s.kv_heads * s.group, 5});
    const auto cache = [&](uintptr_t at, int64_t dim) {
      return s.hnd
                 ? TensorView::Dense(NoMemoryAt(at), DType::kBF16, {Pages(s), s.kv_heads, s.page_size, dim})
                 : TensorView::Dense(NoMemoryAt(at), DType::kBF16, {Pages(s), s.page_size, s.kv_heads, dim});
    };
    call.kv = PagedKvView::Split(cache(uintptr_t{3} << 44, 3), cache(uintptr_t{4} << 44, 5),
                                 s.hnd ? KvLayout::kHND : KvLayout::kNHD);
    batch.q_heads = s.kv_heads * s.group;
    batch.q_indptr = q_indptr.view();
    batch.kv = call.kv;
    TensorView block_table = table.view();
    block_table.rank = 2;
    block_table.shape = {batch_size, width};
    block_table.strides = {width, 1};
    batch.table = PageTable::Padded(block_table, lens.view());
    batch.params = s.params;
    batch.params.scale = 1.0F;
  }

  // The key of RecordingKernels that holds key j of sequence b for a kv head.
  int64_t KeyOf(int64_t b, int64_t j, int64_t head) const {
    return (pages[b][j / shape.page_size] * shape.page_size + j % shape.page_size) * shape.kv_heads + head;
  }
  bool Sees(int64_t b, int64_t a, int64_t j) const {
    const int64_t r = shape.contexts[b] - shape.queries[b] + a;
    const SoftmaxParams& p = shape.params;
    return (!p.causal || j <= r) && (p.window_left < 0 || j >= r - p.window_left) &&
           (p.window_right < 0 || j <= r + p.window_right);
  }

  std::vector<int64_t> Offsets(const std::vector<int64_t>& queries) {
    for (const int64_t n : queries) offsets.push_back(offsets.back() + n);
    return offsets;
  }
  static int64_t PagesOf(const Shape& s, int64_t context) {
    return (context + s.page_size - 1) / s.page_size;
  }
  static int64_t Width(const Shape& s) {
    int64_t width = 1;
    for (const int64_t n : s.contexts) width = std::max(width, PagesOf(s, n));
    return width;
  }
  static int64_t Pages(const Shape& s) {
    int64_t pages = 3;
    for (const int64_t n : s.contexts) pages += PagesOf(s, n);
    return pages;
  }
  static std::vector<int64_t> Table(const Shape& s, Random& random,
                                    std::vector<std::vector<int64_t>>* pages) {
    std::vector<int64_t> ids(Pages(s));
    std::iota(ids.begin(), ids.end(), 0);
    random.Shuffle(std::span<int64_t>(ids));
    std::vector<int64_t> table;
    size_t next = 0;
    for (const int64_t n : s.contexts) {
      pages->emplace_back();
      for (int64_t p = 0; p < PagesOf(s, n); ++p) pages->back().push_back(ids[next++]);
      for (int64_t p = 0; p < Width(s); ++p) table.push_back(p < PagesOf(s, n) ? pages->back()[p] : -1);
    }
    return table;
  }

  Shape shape;
  std::vector<int64_t> offsets;
  std::vector<std::vector<int64_t>> pages;
  IndexTensor q_indptr, table, lens;
  SoftmaxBatch batch;
  SoftmaxCall call;
};

// Every row takes in every key that it sees once, and nothing else; meets no key twice; is stored once.
void ExpectCovered(const SoftmaxVariant& variant, const Batch& b, int threads) {
  RecordingKernels record(b.call);
  const SoftmaxPlan plan = PlanSoftmax(variant, b.batch, threads);
  Buffer workspace(plan.workspace_bytes());
  ThreadPool pool(threads);
  RunSoftmax(plan, b.call, workspace.span<std::byte>(), pool);
  ASSERT_FALSE(record.lost()) << "an address outside q, K and V";

  const int64_t q_heads = b.shape.kv_heads * b.shape.group;
  std::vector<uint8_t> own(record.keys());
  for (size_t s = 0; s < b.shape.contexts.size(); ++s) {
    const auto sequence = static_cast<int64_t>(s);
    for (int64_t a = 0; a < b.shape.queries[s]; ++a) {
      for (int64_t head = 0; head < q_heads; ++head) {
        const int64_t row = (b.offsets[s] + a) * q_heads + head;
        std::ranges::fill(own, 0);
        for (int64_t j = 0; j < b.shape.contexts[s]; ++j) {
          const int64_t key = b.KeyOf(sequence, j, head / b.shape.group);
          const bool sees = b.Sees(sequence, a, j);
          own[key] = 1;
          ASSERT_EQ(record.weighted(row, key), sees ? 1 : 0)
              << "V: sequence " << s << " query " << a << " head " << head << " key " << j;
          ASSERT_LE(record.scored(row, key), 1) << "K: sequence " << s << " query " << a << " key " << j;
          ASSERT_GE(record.scored(row, key), sees ? 1 : 0)
              << "K: sequence " << s << " query " << a << " key " << j;
        }
        for (int64_t key = 0; key < record.keys(); ++key) {
          if (own[key] != 0) continue;
          ASSERT_EQ(record.weighted(row, key) + record.scored(row, key), 0)
              << "sequence " << s << " query " << a << " head " << head << " met somebody else's key " << key;
        }
        ASSERT_EQ(record.stored(row), 1) << "sequence " << s << " query " << a << " head " << head;
      }
    }
  }
}

class PlanTest : public ::testing::TestWithParam<const SoftmaxVariant*> {
 protected:
  void Check(const Shape& shape, uint64_t seed = 2026) {
    Random random(seed);
    const Batch batch(shape, random);
    for (const int threads : {1, 3}) {
      ExpectCovered(*GetParam(), batch, threads);
      if (HasFatalFailure()) {
        FAIL() << GetParam()->name << " on " << threads << " threads, seed " << seed << ": "
               << shape.Describe();
      }
    }
  }
};

TEST_P(PlanTest, DecodeOfEveryLength) {
  Shape shape;
  shape.contexts = {1, 15, 16, 17, 63, 64, 65, 128, 500, 513, 1100};
  shape.queries.assign(shape.contexts.size(), 1);
  Check(shape);
}

TEST_P(PlanTest, LongDecodeInGroupsOfSmallPages) {
  Shape shape;
  shape.contexts = {1500};
  shape.queries = {2};
  shape.page_size = 3;
  shape.kv_heads = 3;
  Check(shape);
}

TEST_P(PlanTest, PrefillInSeveralBlocks) {
  Shape shape;
  shape.contexts = {190, 70};
  shape.queries = {150, 70};
  shape.kv_heads = 1;
  Check(shape);
  shape.params.causal = false;
  Check(shape);
}

TEST_P(PlanTest, WindowsOnBothSides) {
  for (const bool causal : {true, false}) {
    for (const int64_t left : {-1, 0, 5, 70}) {
      for (const int64_t right : {-1, 0, 1, 9}) {
        Shape shape;
        shape.contexts = {90, 3, 150};
        shape.queries = {20, 8, 3};
        shape.params.causal = causal;
        shape.params.window_left = left;
        shape.params.window_right = right;
        Check(shape);
      }
    }
  }
}

TEST_P(PlanTest, EmptySequencesAndRowsWithoutKeys) {
  Shape shape;
  shape.contexts = {0, 20, 0, 4};
  shape.queries = {0, 0, 3, 9};
  Check(shape);
  shape.contexts = {};
  shape.queries = {};
  Check(shape);
}

TEST_P(PlanTest, RandomBatches) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    Shape shape;
    const int64_t sequences = random.Between(0, 4);
    for (int64_t b = 0; b < sequences; ++b) {
      shape.contexts.push_back(random.Between(0, random.Chance(0.3) ? 400 : 80));
      shape.queries.push_back(random.Chance(0.5) ? 1 : random.Between(0, 30));
    }
    shape.group = random.Between(1, 9);
    shape.kv_heads = random.Between(1, 3);
    const int64_t page_sizes[] = {1, 2, 7, 16, 64, 300};
    shape.page_size = page_sizes[random.Below(std::size(page_sizes))];
    shape.hnd = random.Chance(0.5);
    shape.params.causal = random.Chance(0.6);
    if (random.Chance(0.4)) shape.params.window_left = random.Between(0, random.Chance(0.5) ? 9 : 90);
    if (random.Chance(0.4)) shape.params.window_right = random.Between(0, random.Chance(0.5) ? 9 : 90);
    Check(shape, seed);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlanTest,
                         ::testing::ValuesIn(SoftmaxVariants().begin(), SoftmaxVariants().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace pagoda::testing

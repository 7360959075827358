#include "pagoda/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"
#include "engine/expect_error.h"
#include "engine/kv/cache.h"
#include "engine/memory.h"

namespace pagoda::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(BlockPool, HandsOutEachPageOnce) {
  BlockPool pool(4);
  EXPECT_EQ(pool.num_pages(), 4);
  EXPECT_EQ(pool.free_pages(), 4);
  EXPECT_THAT(pool.Allocate(4), UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_EQ(pool.free_pages(), 0);
  EXPECT_THAT(pool.Allocate(0), IsEmpty());
}

TEST(BlockPool, APageIsFreeWhenItsLastOwnerHasGone) {
  BlockPool pool(2);
  const int64_t page = pool.Allocate(1)[0];
  pool.Share(page);
  EXPECT_EQ(pool.references(page), 2);
  pool.Free(page);
  EXPECT_EQ(pool.free_pages(), 1);
  pool.Free(page);
  EXPECT_EQ(pool.references(page), 0);
  EXPECT_EQ(pool.free_pages(), 2);
}

TEST(BlockPool, EveryRefusal) {
  BlockPool pool(4);
  const std::vector<int64_t> pages = pool.Allocate(3);
  ExpectError([] { BlockPool(-1); }, "num_pages", "num_pages = -1 must not be negative");
  ExpectError([&] { pool.Allocate(2); }, "count", "count = 2 pages asked for, 1 of 4 are free");
  ExpectError([&] { pool.Allocate(-1); }, "count", "count = -1 pages asked for, 1 of 4 are free");
  ExpectError([&] { pool.references(4); }, "page", "page = 4 is outside 0..3");
  ExpectError([&] { pool.references(-1); }, "page", "page = -1 is outside 0..3");
  ExpectError([&] { pool.Free(-1); }, "page", "page = -1 is outside 0..3");
  ExpectError([&] { pool.Share(4); }, "page", "page = 4 is outside 0..3");
  ExpectError([&] { pool.Share(3); }, "page", "page = 3 is free");
  pool.Free(pages[1]);
  ExpectError([&] { pool.Free(pages[1]); }, "page", "page = 1 is free");
  EXPECT_EQ(pool.free_pages(), 2);
  ExpectError([&] { pool.Fork(pages); }, "page", "page = 1 is free");
  EXPECT_EQ(pool.references(pages[0]), 1) << "a refused fork must share nothing";
}

TEST(BlockPool, EveryRefusalOfMakeWritable) {
  Cache cache({});
  BlockPool pool(5);
  std::vector<int64_t> pages = pool.Allocate(2);
  ExpectError([&] { pool.MakeWritable(pages, 2, cache.view()); }, "i", "i = 2 is outside 0..1");
  ExpectError([&] { pool.MakeWritable(pages, -1, cache.view()); }, "i", "i = -1 is outside 0..1");
  BlockPool other(6);
  std::vector<int64_t> its = other.Allocate(1);
  ExpectError([&] { other.MakeWritable(its, 0, cache.view()); }, "cache", "cache has 5 pages, the pool 6");
  std::vector<int64_t> free = {4};
  ExpectError([&] { pool.MakeWritable(free, 0, cache.view()); }, "page", "page = 4 is free");
  std::vector<int64_t> outside = {5};
  ExpectError([&] { pool.MakeWritable(outside, 0, cache.view()); }, "page", "page = 5 is outside 0..4");
}

TEST(BlockPool, CopyOnWriteWithoutAFreePageChangesNothing) {
  Cache cache({});
  BlockPool pool(5);
  std::vector<int64_t> pages = pool.Allocate(5);
  const std::vector<int64_t> before = pages;
  const std::vector<int64_t> fork = pool.Fork(pages);
  const std::vector<uint32_t> bits = cache.bits();
  ExpectError([&] { pool.MakeWritable(pages, 1, cache.view()); }, "count",
              "count = 1 pages asked for, 0 of 5 are free");
  EXPECT_EQ(pages, before);
  for (const int64_t p : pages) EXPECT_EQ(pool.references(p), 2);
  EXPECT_EQ(cache.bits(), bits);
}

TEST(BlockPool, APageOfOneOwnerIsWrittenInPlace) {
  Cache cache({});
  BlockPool pool(5);
  std::vector<int64_t> pages = pool.Allocate(2);
  EXPECT_FALSE(pool.MakeWritable(pages, 1, cache.view()));
  EXPECT_THAT(pages, ElementsAre(0, 1));
  EXPECT_EQ(pool.free_pages(), 3);
}

TEST(BlockPool, CopiesKAndVOfAPageInEveryLayoutAndLeavesTheGaps) {
  for (const CacheShape& shape : EveryCacheShape()) {
    SCOPED_TRACE(shape.Describe());
    Cache cache(shape);
    BlockPool pool(shape.pages);
    std::vector<int64_t> pages = pool.Allocate(3);
    const std::vector<int64_t> fork = pool.Fork(pages);
    std::vector<uint32_t> want = cache.bits();
    ASSERT_TRUE(pool.MakeWritable(pages, 1, cache.view()));
    EXPECT_NE(pages[1], fork[1]);
    EXPECT_EQ(pool.references(pages[1]), 1);
    EXPECT_EQ(pool.references(fork[1]), 1);
    for (int64_t s = 0; s < shape.page_size; ++s) {
      for (int64_t h = 0; h < shape.heads; ++h) {
        for (const bool value : {false, true}) {
          for (int64_t d = 0; d < (value ? shape.dim_v : shape.dim); ++d) {
            want[cache.At(value, pages[1], s, h, d)] = want[cache.At(value, fork[1], s, h, d)];
          }
        }
      }
    }
    EXPECT_EQ(cache.bits(), want);
  }
}

TEST(BlockPool, CopiesPagesBeyond32Bits) {
  constexpr int64_t kPageStride = (int64_t{1} << 31) + 12345;
  const SparseMemory memory((2 * kPageStride + 64) * 4);
  TensorView view = TensorView::Dense(memory.data(), DType::kF32, {3, 2, 4, 1, 4});
  view.strides[0] = kPageStride;
  const PagedKvView cache = PagedKvView::Combined(view, KvLayout::kNHD);
  auto* floats = reinterpret_cast<float*>(memory.data());
  for (int64_t i = 0; i < 32; ++i) floats[kPageStride + i] = static_cast<float>(i + 1);
  BlockPool pool(3);
  std::vector<int64_t> pages = pool.Allocate(2);
  const std::vector<int64_t> fork = pool.Fork(pages);
  ASSERT_TRUE(pool.MakeWritable(pages, 1, cache));
  ASSERT_EQ(pages[1], 2);
  for (int64_t i = 0; i < 32; ++i) ASSERT_EQ(floats[2 * kPageStride + i], static_cast<float>(i + 1)) << i;
}

// --- against a model

// What a scheduler does to sequences, played on a pool over a real cache and on plain values: whatever is
// shared, each sequence must keep reading what it wrote itself.
class Schedule {
 public:
  explicit Schedule(const CacheShape& shape) : cache_(shape), pool_(shape.pages) {}

  void Play(int op, uint64_t choice) {
    Random random(choice);
    switch (op) {
      case 0:
        return Begin(random);
      case 1:
        return Fork(random);
      case 2:
        return Write(random);
      default:
        return End(random);
    }
  }

  void Check() const {
    std::map<int64_t, int64_t> owners;
    for (const Sequence& s : sequences_) {
      for (size_t i = 0; i < s.pages.size(); ++i) {
        ++owners[s.pages[i]];
        for (const bool value : {false, true}) {
          RC_ASSERT(cache_.bits()[Probe(value, s.pages[i])] == s.written[i] + (value ? 1 : 0));
        }
      }
    }
    const int64_t pages = cache_.shape().pages;
    for (int64_t p = 0; p < pages; ++p) RC_ASSERT(pool_.references(p) == owners[p]);
    RC_ASSERT(pool_.free_pages() ==
              std::count_if(owners.begin(), owners.end(), [](const auto& o) { return o.second == 0; }));
  }

 private:
  struct Sequence {
    std::vector<int64_t> pages;
    std::vector<uint32_t> written;  // what stands in each page
  };

  // One element of K or V stands for the page: the last of it, where a short copy would fail.
  int64_t Probe(bool value, int64_t page) const {
    const CacheShape& s = cache_.shape();
    return cache_.At(value, page, s.page_size - 1, s.heads - 1, (value ? s.dim_v : s.dim) - 1);
  }

  void Put(Sequence& s, size_t i) {
    s.written[i] = next_ += 2;
    for (const bool value : {false, true})
      cache_.Set(Probe(value, s.pages[i]), s.written[i] + (value ? 1 : 0));
  }

  void Begin(Random& random) {
    const auto count = static_cast<int64_t>(random.Below(4));
    const int64_t free = pool_.free_pages();
    try {
      const std::vector<int64_t> pages = pool_.Allocate(count);
      RC_ASSERT(count <= free);
      sequences_.push_back({pages, std::vector<uint32_t>(count)});
      for (int64_t i = 0; i < count; ++i) Put(sequences_.back(), i);
    } catch (const Error&) {
      RC_ASSERT(count > free);
    }
  }

  void Fork(Random& random) {
    if (sequences_.empty()) return;
    const Sequence& from = sequences_[random.Below(sequences_.size())];
    sequences_.push_back(Sequence{pool_.Fork(from.pages), from.written});
    RC_ASSERT(sequences_.back().pages.size() == sequences_.back().written.size());
  }

  void Write(Random& random) {
    if (sequences_.empty()) return;
    Sequence& s = sequences_[random.Below(sequences_.size())];
    if (s.pages.empty()) return;
    const size_t i = random.Below(s.pages.size());
    const bool shared = pool_.references(s.pages[i]) > 1;
    const int64_t free = pool_.free_pages();
    try {
      RC_ASSERT(pool_.MakeWritable(s.pages, static_cast<int64_t>(i), cache_.view()) == shared);
    } catch (const Error&) {
      RC_ASSERT(shared && free == 0);
      return;
    }
    RC_ASSERT(pool_.references(s.pages[i]) == 1);
    Put(s, i);
  }

  void End(Random& random) {
    if (sequences_.empty()) return;
    const size_t which = random.Below(sequences_.size());
    for (const int64_t p : sequences_[which].pages) pool_.Free(p);
    sequences_.erase(sequences_.begin() + static_cast<int64_t>(which));
  }

  Cache cache_;
  BlockPool pool_;
  std::vector<Sequence> sequences_;
  uint32_t next_ = 1000;
};

RC_GTEST_PROP(BlockPoolProperty, SharedPagesKeepWhatEachSequenceWrote, ()) {
  Schedule schedule(*rc::gen::elementOf(EveryCacheShape()));
  const auto steps = *rc::gen::container<std::vector<std::pair<int, uint64_t>>>(
      rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::arbitrary<uint64_t>()));
  for (const auto& [op, choice] : steps) {
    schedule.Play(op, choice);
    schedule.Check();
  }
}

}  // namespace
}  // namespace pagoda::testing

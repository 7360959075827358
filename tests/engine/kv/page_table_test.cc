#include "engine/kv/page_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/expect_error.h"
#include "engine/index_tensor.h"

namespace pagoda::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kPageSize = 4;
constexpr int64_t kPages = 10;

// The two forms in plain values, resolved through i32 views that end where memory ends.
struct Csr {
  std::vector<int64_t> indptr = {0, 2, 2, 5};
  std::vector<int64_t> indices = {7, 0, 3, 9, 3};
  std::vector<int64_t> last = {4, 0, 1};
  ResolvedTable Resolve(int64_t batch = 3, int64_t pages = kPages) const {
    const IndexTensor a(indptr);
    const IndexTensor b(indices);
    const IndexTensor c(last);
    return ResolveTable(PageTable::Csr(a.view(), b.view(), c.view()), batch, kPageSize, pages);
  }
};

struct Padded {
  std::vector<int64_t> table = {7, 0, -1, /**/ -5, 99, -1, /**/ 3, 9, 3};
  std::vector<int64_t> lens = {8, 0, 9};
  ResolvedTable Resolve(int64_t batch = 3, int64_t pages = kPages) const {
    const IndexTensor a(table, 3, 3, DType::kI32, 3, 1);
    const IndexTensor b(lens);
    return ResolveTable(PageTable::Padded(a.view(), b.view()), batch, kPageSize, pages);
  }
};

TEST(PageTable, CsrAndPaddedMeanTheSame) {
  for (const ResolvedTable& got : {Csr().Resolve(), Padded().Resolve()}) {
    EXPECT_THAT(got.kv_len, ElementsAre(8, 0, 9));
    EXPECT_THAT(got.page_begin, ElementsAre(0, 2, 2, 5));
    EXPECT_THAT(got.page_ids, ElementsAre(7, 0, 3, 9, 3));
  }
}

TEST(PageTable, AnEmptySequenceMaySayZeroOrAWholePage) {
  for (const int64_t tail : {int64_t{0}, kPageSize}) {
    Csr t;
    t.last[1] = tail;
    EXPECT_EQ(t.Resolve().kv_len[1], 0);
  }
}

TEST(PageTable, EmptyBatches) {
  const ResolvedTable csr = Csr{{0}, {}, {}}.Resolve(0, 0);
  EXPECT_THAT(csr.kv_len, IsEmpty());
  EXPECT_THAT(csr.page_begin, ElementsAre(0));
  const IndexTensor table({}, 0, 5, DType::kI64, 5, 1);
  const IndexTensor lens({}, DType::kI64);
  EXPECT_THAT(ResolveTable(PageTable::Padded(table.view(), lens.view()), 0, 1, 0).kv_len, IsEmpty());
  // An empty std::vector has no data.
  const TensorView none = TensorView::Dense(nullptr, DType::kI32, {0});
  const IndexTensor zero({0});
  EXPECT_THAT(ResolveTable(PageTable::Csr(zero.view(), none, none), 0, 1, 0).kv_len, IsEmpty());
}

struct Refusal {
  std::function<void()> call;
  const char* field;
  const char* text;
};

Refusal CsrRefusal(Csr t, const char* field, const char* text, int64_t pages = kPages) {
  return {[t = std::move(t), pages] { t.Resolve(3, pages); }, field, text};
}

Refusal PaddedRefusal(Padded t, const char* field, const char* text, int64_t pages = kPages) {
  return {[t = std::move(t), pages] { t.Resolve(3, pages); }, field, text};
}

void ExpectAll(const std::vector<Refusal>& refusals) {
  for (const Refusal& r : refusals) ExpectError(r.call, r.field, r.text);
}

TEST(PageTable, EveryErrorOfCsrValues) {
  ExpectAll({
      CsrRefusal({.indptr = {1, 2, 2, 5}}, "kv_indptr[0]", "kv_indptr[0] = 1 must be 0"),
      CsrRefusal({.indptr = {0, 2, 1, 5}}, "kv_indptr[2]",
                 "kv_indptr[2] = 1 is below kv_indptr[1] = 2; offsets must not decrease (sequence 1)"),
      CsrRefusal({.indptr = {0, 2, 2, -1}}, "kv_indptr[3]",
                 "kv_indptr[3] = -1 is below kv_indptr[2] = 2; offsets must not decrease (sequence 2)"),
      CsrRefusal({.indptr = {0, 2, 2, 6}}, "kv_indptr[3]",
                 "kv_indptr[3] = 6 goes past the 5 entries of kv_indices (sequence 2)"),
      CsrRefusal({.indptr = {0, 2, 2, 4}}, "kv_indptr[3]",
                 "kv_indptr[3] = 4, but kv_indices has 5 entries; the last offset must be their number"),
      CsrRefusal({.last = {4, 1, 1}}, "kv_last_page_len[1]",
                 "kv_last_page_len[1] = 1, but sequence 1 has no pages: it must be 0 or the page size 4"),
      CsrRefusal({.last = {0, 0, 1}}, "kv_last_page_len[0]",
                 "kv_last_page_len[0] = 0 is outside 1..4 (sequence 0 has 2 pages)"),
      CsrRefusal({.last = {4, 0, 5}}, "kv_last_page_len[2]",
                 "kv_last_page_len[2] = 5 is outside 1..4 (sequence 2 has 3 pages)"),
      CsrRefusal({.indices = {7, 0, 3, 10, 3}}, "kv_indices[3]",
                 "kv_indices[3] = 10 is outside 0..9 (sequence 2)"),
      CsrRefusal({.indices = {7, -1, 3, 9, 3}}, "kv_indices[1]",
                 "kv_indices[1] = -1 is outside 0..9 (sequence 0)"),
      CsrRefusal({}, "kv_indices[0]", "kv_indices[0] = 7, but the cache has no pages (sequence 0)", 0),
      CsrRefusal({.indptr = {0, 2, 5}}, "kv_indptr", "kv_indptr has 3 entries, expected 4"),
      CsrRefusal({.last = {4, 0}}, "kv_last_page_len", "kv_last_page_len has 2 entries, expected 3"),
  });
}

TEST(PageTable, EveryErrorOfPaddedValues) {
  ExpectAll({
      PaddedRefusal({.lens = {8, -1, 9}}, "context_lens[1]",
                    "context_lens[1] = -1 must not be negative (sequence 1)"),
      PaddedRefusal({.lens = {8, 0, 13}}, "context_lens[2]",
                    "context_lens[2] = 13 needs 4 pages of 4, but block_table has room for 3 (sequence 2)"),
      PaddedRefusal({.table = {7, 0, 0, 0, 0, 0, 3, 10, 3}}, "block_table[2][1]",
                    "block_table[2][1] = 10 is outside 0..9 (sequence 2)"),
      PaddedRefusal({.table = {-1, 0, 0, 0, 0, 0, 3, 9, 3}}, "block_table[0][0]",
                    "block_table[0][0] = -1 is outside 0..9 (sequence 0)"),
      PaddedRefusal({}, "block_table[0][0]", "block_table[0][0] = 7, but the cache has no pages (sequence 0)",
                    0),
      PaddedRefusal({.lens = {8, 0}}, "context_lens", "context_lens has 2 entries, expected 3"),
      {[] { Padded().Resolve(2); }, "block_table", "block_table has 3 rows for 2 sequences"},
      {[] {
         const IndexTensor table({0, 1}, 1, 2, DType::kI64, 2, 1);
         const IndexTensor lens({std::numeric_limits<int64_t>::max()}, DType::kI64);
         ResolveTable(PageTable::Padded(table.view(), lens.view()), 1, 1, 2);
       },
       "context_lens[0]",
       "context_lens[0] = 9223372036854775807 needs 9223372036854775807 pages of 1, but block_table has room "
       "for 2 (sequence 0)"},
  });
}

TEST(PageTable, EveryErrorOfForm) {
  const IndexTensor indptr({0, 1});
  const IndexTensor one({1});
  const IndexTensor table({0}, 1, 1, DType::kI32, 1, 1);
  float number = 0;
  const TensorView floats = TensorView::Dense(&number, DType::kF32, {1});
  const TensorView float_table = TensorView::Dense(&number, DType::kF32, {1, 1});
  TensorView lies = one.view();
  lies.shape[0] = -1;
  TensorView nowhere = one.view();
  nowhere.data = nullptr;
  TensorView no_table = table.view();
  no_table.data = nullptr;
  const auto resolve = [](const PageTable& t) { return [t] { ResolveTable(t, 1, kPageSize, kPages); }; };
  PageTable both = PageTable::Csr(indptr.view(), one.view(), one.view());
  both.block_table = table.view();
  PageTable lengths_of_padded = PageTable::Csr(indptr.view(), one.view(), one.view());
  lengths_of_padded.context_lens = one.view();
  PageTable ids_of_csr = PageTable::Padded(table.view(), one.view());
  ids_of_csr.indices = one.view();
  PageTable lengths_of_csr = PageTable::Padded(table.view(), one.view());
  lengths_of_csr.last_page_len = one.view();
  ExpectAll({
      {resolve(lengths_of_padded), "context_lens",
       "context_lens belongs to the form of block_table, which isn't given"},
      {resolve(ids_of_csr), "kv_indices", "kv_indices belongs to the form of kv_indptr, which isn't given"},
      {resolve(lengths_of_csr), "kv_last_page_len",
       "kv_last_page_len belongs to the form of kv_indptr, which isn't given"},
      {resolve({}), "page_table", "page_table has neither kv_indptr nor block_table"},
      {resolve(both), "block_table", "block_table and kv_indptr are both given; a table has one form"},
      {resolve(PageTable::Csr(indptr.view(), {}, one.view())), "kv_indices", "kv_indices is missing"},
      {resolve(PageTable::Csr(indptr.view(), one.view(), {})), "kv_last_page_len",
       "kv_last_page_len is missing"},
      {resolve(PageTable::Csr(indptr.view(), floats, one.view())), "kv_indices",
       "kv_indices must be i32 or i64, not f32"},
      {resolve(PageTable::Csr(indptr.view(), table.view(), one.view())), "kv_indices",
       "kv_indices must have one dimension, not 2"},
      {resolve(PageTable::Csr(indptr.view(), lies, one.view())), "kv_indices", "kv_indices has -1 entries"},
      {resolve(PageTable::Csr(indptr.view(), nowhere, one.view())), "kv_indices",
       "kv_indices has 1 entries, but no data"},
      {resolve(PageTable::Padded(table.view(), {})), "context_lens", "context_lens is missing"},
      {resolve(PageTable::Padded(one.view(), one.view())), "block_table",
       "block_table must be [batch, max_pages] of i32 or i64, not rank 1 of i32"},
      {resolve(PageTable::Padded(float_table, one.view())), "block_table",
       "block_table must be [batch, max_pages] of i32 or i64, not rank 2 of f32"},
      {resolve(PageTable::Padded(no_table, one.view())), "block_table",
       "block_table has 1 entries, but no data"},
  });
}

TEST(PageTable, LengthsThatDoNotFitInto64Bits) {
  const IndexTensor indptr({0, 3});
  const IndexTensor indices({0, 1, 2});
  const IndexTensor last({1});
  ExpectError(
      [&] {
        ResolveTable(PageTable::Csr(indptr.view(), indices.view(), last.view()), 1, int64_t{1} << 62, 3);
      },
      "page_size", "page_size = 2 * 4611686018427387904 does not fit into 64 bits");
}

TEST(Offsets, AreReadAndRefused) {
  const auto resolve = [](const std::vector<int64_t>& values) {
    return ResolveOffsets(IndexTensor(values, DType::kI64, 2).view(), "q_indptr");
  };
  EXPECT_THAT(resolve({0, 0, 3, 3}), ElementsAre(0, 0, 3, 3));
  ExpectError([&] { resolve({}); }, "q_indptr", "q_indptr is empty; it needs batch + 1 entries");
  ExpectError([&] { resolve({2, 3}); }, "q_indptr[0]", "q_indptr[0] = 2 must be 0");
  ExpectError([&] { resolve({0, 3, 2}); }, "q_indptr[2]",
              "q_indptr[2] = 2 is below q_indptr[1] = 3; offsets must not decrease (sequence 1)");
  ExpectError([] { ResolveOffsets({}, "q_indptr"); }, "q_indptr", "q_indptr is missing");
}

// --- properties

struct Table {
  int64_t page_size = 1;
  int64_t pages = 1;
  std::vector<int64_t> kv_len, page_begin = {0}, page_ids;
};

Table ArbitraryTable() {
  Table t;
  t.page_size = *rc::gen::element<int64_t>(1, 2, 3, 16, 17, 128);
  t.pages = *rc::gen::inRange<int64_t>(1, 40);
  const auto lens = *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(0, 200));
  for (const int64_t len : lens) {
    t.kv_len.push_back(len);
    const int64_t count = (len + t.page_size - 1) / t.page_size;
    for (int64_t p = 0; p < count; ++p) t.page_ids.push_back(*rc::gen::inRange<int64_t>(0, t.pages));
    t.page_begin.push_back(static_cast<int64_t>(t.page_ids.size()));
  }
  return t;
}

DType ArbitraryIndexType() { return *rc::gen::element(DType::kI32, DType::kI64); }
int64_t ArbitraryStride() { return *rc::gen::element<int64_t>(1, 2, 7, -1, -3); }

// The tensors of a table in either form, each of a type and stride of its own.
struct Tensors {
  std::vector<int64_t> indptr, indices, last, block_table, lens;
  int64_t batch = 0;
  int64_t width = 0;

  ResolvedTable ResolveCsr(int64_t page_size, int64_t pages) const {
    const IndexTensor a(indptr, ArbitraryIndexType(), ArbitraryStride());
    const IndexTensor b(indices, ArbitraryIndexType(), ArbitraryStride());
    const IndexTensor c(last, ArbitraryIndexType(), ArbitraryStride());
    return ResolveTable(PageTable::Csr(a.view(), b.view(), c.view()), batch, page_size, pages);
  }
  ResolvedTable ResolvePadded(int64_t page_size, int64_t pages) const {
    const int64_t column = *rc::gen::inRange<int64_t>(1, 4);
    const int64_t row = *rc::gen::inRange<int64_t>(width * column + 1, width * column + 9);
    const IndexTensor a(block_table, batch, width, ArbitraryIndexType(), row, column);
    const IndexTensor b(lens, ArbitraryIndexType(), ArbitraryStride());
    return ResolveTable(PageTable::Padded(a.view(), b.view()), batch, page_size, pages);
  }
};

Tensors TensorsOf(const Table& t) {
  Tensors out;
  out.batch = static_cast<int64_t>(t.kv_len.size());
  out.indptr = t.page_begin;
  out.indices = t.page_ids;
  out.lens = t.kv_len;
  for (const int64_t len : t.kv_len) {
    const int64_t when_empty = *rc::gen::element<int64_t>(0, t.page_size);
    out.last.push_back(len == 0 ? when_empty : (len - 1) % t.page_size + 1);
    out.width = std::max(out.width, (len + t.page_size - 1) / t.page_size);
  }
  out.width += *rc::gen::inRange<int64_t>(0, 3);
  out.block_table.assign(out.batch * out.width, -1);
  for (int64_t b = 0; b < out.batch; ++b) {
    for (int64_t p = t.page_begin[b]; p < t.page_begin[b + 1]; ++p) {
      out.block_table[b * out.width + p - t.page_begin[b]] = t.page_ids[p];
    }
  }
  return out;
}

void ExpectSame(const ResolvedTable& got, const Table& want) {
  RC_ASSERT(got.kv_len == want.kv_len);
  RC_ASSERT(got.page_begin == want.page_begin);
  RC_ASSERT(got.page_ids == want.page_ids);
}

RC_GTEST_PROP(PageTableProperty, ValidTablesComeBackInEveryForm, ()) {
  const Table table = ArbitraryTable();
  const Tensors tensors = TensorsOf(table);
  ExpectSame(tensors.ResolveCsr(table.page_size, table.pages), table);
  ExpectSame(tensors.ResolvePadded(table.page_size, table.pages), table);
}

template <typename F>
void ExpectRefused(F&& f, const std::string& field) {
  try {
    f();
  } catch (const Error& e) {
    RC_ASSERT(e.field() == field);
    RC_ASSERT(std::string(e.what()).starts_with(field + " "));
    return;
  }
  RC_FAIL("accepted, expected a refusal of " + field);
}

int64_t NotAPage(const Table& t) {
  return *rc::gen::element<int64_t>(-1, t.pages, t.pages + 1, std::numeric_limits<int32_t>::max(),
                                    std::numeric_limits<int32_t>::min());
}

RC_GTEST_PROP(PageTableProperty, OneWrongEntryOfCsrIsNamed, ()) {
  const Table table = ArbitraryTable();
  Tensors bad = TensorsOf(table);
  RC_PRE(bad.batch > 0);
  const int64_t b = *rc::gen::inRange<int64_t>(0, bad.batch);
  const int64_t pages = table.page_begin[b + 1] - table.page_begin[b];
  std::string field;
  switch (*rc::gen::inRange(0, 4)) {
    case 0: {
      RC_PRE(!bad.indices.empty());
      const auto i = *rc::gen::inRange<size_t>(0, bad.indices.size());
      bad.indices[i] = NotAPage(table);
      field = fmt::format("kv_indices[{}]", i);
      break;
    }
    case 1:
      bad.last[b] = pages == 0 ? *rc::gen::element<int64_t>(-1, table.page_size + 1)
                               : *rc::gen::element<int64_t>(-1, 0, table.page_size + 1);
      field = fmt::format("kv_last_page_len[{}]", b);
      break;
    case 2:
      bad.indptr[0] = *rc::gen::element<int64_t>(-1, 1);
      field = "kv_indptr[0]";
      break;
    default:
      // Below its predecessor, or past the end.
      bad.indptr[b + 1] = *rc::gen::element<int64_t>(bad.indptr[b] - 1, bad.indptr.back() + 1,
                                                     std::numeric_limits<int32_t>::max());
      field = fmt::format("kv_indptr[{}]", b + 1);
  }
  ExpectRefused([&] { bad.ResolveCsr(table.page_size, table.pages); }, field);
}

RC_GTEST_PROP(PageTableProperty, OneWrongEntryOfThePaddedFormIsNamed, ()) {
  const Table table = ArbitraryTable();
  Tensors bad = TensorsOf(table);
  RC_PRE(bad.batch > 0);
  const int64_t b = *rc::gen::inRange<int64_t>(0, bad.batch);
  const int64_t pages = table.page_begin[b + 1] - table.page_begin[b];
  std::string field;
  if (*rc::gen::arbitrary<bool>() && pages > 0) {
    const int64_t p = *rc::gen::inRange<int64_t>(0, pages);
    bad.block_table[b * bad.width + p] = NotAPage(table);
    field = fmt::format("block_table[{}][{}]", b, p);
  } else {
    bad.lens[b] =
        *rc::gen::element<int64_t>(-1, std::numeric_limits<int32_t>::min(), bad.width * table.page_size + 1,
                                   std::numeric_limits<int32_t>::max());
    field = fmt::format("context_lens[{}]", b);
  }
  ExpectRefused([&] { bad.ResolvePadded(table.page_size, table.pages); }, field);
}

// Anything at all: either a refusal or a table within its bounds. The views end where memory ends.
RC_GTEST_PROP(PageTableProperty, GarbageIsRefusedOrHarmless, ()) {
  const auto value = rc::gen::oneOf(
      rc::gen::inRange<int64_t>(-2, 12),
      rc::gen::element<int64_t>(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
                                std::numeric_limits<int32_t>::max(), int64_t{1} << 62));
  const auto values = [&] { return *rc::gen::container<std::vector<int64_t>>(value); };
  Tensors t;
  t.batch = *rc::gen::inRange<int64_t>(0, 4);
  t.width = *rc::gen::inRange<int64_t>(0, 4);
  t.indptr = *rc::gen::element(std::vector<int64_t>{0, 1, 2, 3}, values());
  t.indices = values();
  t.last = values();
  t.lens = *rc::gen::element(std::vector<int64_t>(t.batch, 3), values());
  t.block_table = *rc::gen::container<std::vector<int64_t>>(t.batch * t.width, value);
  constexpr int64_t kCachePages = 10;
  const auto check = [&](auto&& resolve) {
    try {
      const ResolvedTable got = resolve();
      RC_ASSERT(got.kv_len.size() == static_cast<size_t>(t.batch));
      RC_ASSERT(got.page_begin.size() == static_cast<size_t>(t.batch + 1));
      for (int64_t b = 0; b < t.batch; ++b) {
        const int64_t pages = got.page_begin[b + 1] - got.page_begin[b];
        RC_ASSERT(got.kv_len[b] >= 0 && got.kv_len[b] <= pages * kPageSize);
        RC_ASSERT(got.kv_len[b] > (pages - 1) * kPageSize);
      }
      for (const int64_t id : got.page_ids) RC_ASSERT(id >= 0 && id < kCachePages);
      RC_TAG("accepted");
    } catch (const Error&) {
      RC_TAG("refused");
    }
  };
  check([&] { return t.ResolveCsr(kPageSize, kCachePages); });
  check([&] { return t.ResolvePadded(kPageSize, kCachePages); });
}

}  // namespace
}  // namespace pagoda::testing

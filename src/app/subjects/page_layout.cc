#include "app/subjects/page_layout.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace pagoda::app {
namespace {

int64_t PagesFor(int64_t keys, int64_t page_size) { return (keys + page_size - 1) / page_size; }

void MakeCsr(const judge::CaseSpec& spec, const PageLayout& layout, std::span<const int64_t> sequences,
             BatchTables& tables) {
  std::vector<int64_t> indptr{0};
  std::vector<int64_t> indices;
  std::vector<int64_t> last;
  for (const int64_t b : sequences) {
    const std::vector<int64_t>& pages = layout.pages[b];
    indices.insert(indices.end(), pages.begin(), pages.end());
    indptr.push_back(static_cast<int64_t>(indices.size()));
    last.push_back(pages.empty() ? 0 : spec.contexts[b] - (std::ssize(pages) - 1) * spec.page_size);
  }
  IndexTensor a = MakeIndex(indptr, spec.index64, {std::ssize(indptr)});
  IndexTensor b = MakeIndex(indices, spec.index64, {std::ssize(indices)});
  IndexTensor c = MakeIndex(last, spec.index64, {std::ssize(last)});
  tables.table = PageTable::Csr(a.view, b.view, c.view);
  tables.first = std::move(a.data);
  tables.second = std::move(b.data);
  tables.third = std::move(c.data);
}

void MakePadded(const judge::CaseSpec& spec, const PageLayout& layout, std::span<const int64_t> sequences,
                BatchTables& tables) {
  int64_t width = 0;
  for (const int64_t b : sequences) width = std::max<int64_t>(width, std::ssize(layout.pages[b]));
  width += 2;
  const int64_t garbage[] = {-1, layout.num_pages, std::numeric_limits<int64_t>::max()};
  std::vector<int64_t> entries;
  std::vector<int64_t> lens;
  for (const int64_t b : sequences) {
    const std::vector<int64_t>& pages = layout.pages[b];
    entries.insert(entries.end(), pages.begin(), pages.end());
    for (int64_t i = std::ssize(pages); i < width; ++i) entries.push_back(garbage[i % std::ssize(garbage)]);
    lens.push_back(spec.contexts[b]);
  }
  IndexTensor a = MakeIndex(entries, spec.index64, {std::ssize(sequences), width});
  IndexTensor b = MakeIndex(lens, spec.index64, {std::ssize(lens)});
  tables.table = PageTable::Padded(a.view, b.view);
  tables.first = std::move(a.data);
  tables.second = std::move(b.data);
}

// The pages of each sequence, numbered from 0 on as they come; a page of a block that came before has the
// number from there.
std::vector<std::vector<int64_t>> NumberPages(const judge::CaseSpec& spec) {
  const int64_t block_pages = judge::CaseSpec::kBlockKeys / spec.page_size;
  std::map<std::pair<int64_t, int64_t>, int64_t> known;  // block id and page within the block
  std::vector<std::vector<int64_t>> numbers(spec.contexts.size());
  int64_t next = 0;
  for (size_t b = 0; b < numbers.size(); ++b) {
    const int64_t pages = PagesFor(spec.contexts[b], spec.page_size);
    for (int64_t i = 0; i < pages; ++i) {
      int64_t number = next;
      if (!spec.blocks.empty()) {
        number = known.try_emplace({spec.blocks[b][i / block_pages], i % block_pages}, next).first->second;
      }
      if (number == next) ++next;
      numbers[b].push_back(number);
    }
  }
  return numbers;
}

}  // namespace

IndexTensor MakeIndex(std::span<const int64_t> values, bool index64, std::initializer_list<int64_t> shape) {
  const DType dtype = index64 ? DType::kI64 : DType::kI32;
  IndexTensor t{Buffer(values.size() * SizeOf(dtype)), {}};
  for (size_t i = 0; i < values.size(); ++i) {
    if (index64) {
      t.data.as<int64_t>()[i] = values[i];
    } else {
      t.data.as<int32_t>()[i] =
          static_cast<int32_t>(std::min<int64_t>(values[i], std::numeric_limits<int32_t>::max()));
    }
  }
  t.view = TensorView::Dense(t.data.data(), dtype, shape);
  return t;
}

PageLayout LayPages(const judge::CaseSpec& spec, Random& random, bool repeat) {
  PageLayout layout;
  layout.pages = NumberPages(spec);
  int64_t owned = 0;
  for (const std::vector<int64_t>& pages : layout.pages) {
    for (const int64_t page : pages) owned = std::max(owned, page + 1);
  }
  layout.num_pages = owned + kUnownedPages;
  std::vector<int64_t> ids(layout.num_pages);
  std::iota(ids.begin(), ids.end(), 0);
  random.Shuffle(std::span(ids));
  for (std::vector<int64_t>& pages : layout.pages) {
    for (int64_t& page : pages) page = ids[page];
  }
  if (!repeat || layout.pages.empty() || spec.contexts[0] < spec.page_size) return layout;
  const int64_t shared = layout.pages[0][0];
  for (size_t b = 1; b < layout.pages.size(); ++b) {
    if (spec.contexts[b] >= spec.page_size) layout.pages[b][0] = shared;
  }
  if (layout.pages.size() == 1 && spec.contexts[0] >= 2 * spec.page_size) layout.pages[0][1] = shared;
  return layout;
}

BatchTables MakeTables(const judge::CaseSpec& spec, const PageLayout& layout,
                       std::span<const int64_t> sequences) {
  BatchTables tables;
  std::vector<int64_t> q_begin{0};
  for (const int64_t b : sequences) q_begin.push_back(q_begin.back() + spec.queries[b]);
  IndexTensor q = MakeIndex(q_begin, spec.index64, {std::ssize(q_begin)});
  tables.q_indptr = q.view;
  tables.q_indptr_data = std::move(q.data);
  if (spec.padded) {
    MakePadded(spec, layout, sequences, tables);
  } else {
    MakeCsr(spec, layout, sequences, tables);
  }
  return tables;
}

PagedKvView CacheView(const judge::CaseSpec& spec, int64_t num_pages, void* pool) {
  const int64_t slots = spec.page_size;
  const int64_t heads = spec.kv_heads;
  const int64_t rows = spec.hnd ? heads : slots;
  const int64_t columns = spec.hnd ? slots : heads;
  const KvLayout layout = spec.hnd ? KvLayout::kHND : KvLayout::kNHD;
  if (spec.combined) {
    return PagedKvView::Combined(
        TensorView::Dense(pool, spec.dtype, {num_pages, 2, rows, columns, spec.head_dim}), layout);
  }
  const int64_t k_bytes = num_pages * slots * heads * spec.head_dim * SizeOf(spec.dtype);
  // V starts on a cache line of its own.
  void* v = static_cast<std::byte*>(pool) + (k_bytes + 63) / 64 * 64;
  return PagedKvView::Split(TensorView::Dense(pool, spec.dtype, {num_pages, rows, columns, spec.head_dim}),
                            TensorView::Dense(v, spec.dtype, {num_pages, rows, columns, spec.head_dim_v}),
                            layout);
}

int64_t PoolBytes(const judge::CaseSpec& spec, int64_t num_pages) {
  const int64_t slots = num_pages * spec.page_size * spec.kv_heads;
  const int64_t k_bytes = slots * spec.head_dim * SizeOf(spec.dtype);
  return (k_bytes + 63) / 64 * 64 + slots * spec.head_dim_v * SizeOf(spec.dtype);
}

const void* KeyIn(const PagedKvView& kv, const std::vector<int64_t>& pages, int64_t key, int64_t kv_head) {
  const int64_t at = pages[key / kv.page_size] * kv.k_page_stride + key % kv.page_size * kv.k_slot_stride +
                     kv_head * kv.k_head_stride;
  return static_cast<const std::byte*>(kv.k) + at * SizeOf(kv.dtype);
}

SoftmaxParams ParamsOf(const judge::CaseSpec& spec) {
  SoftmaxParams params;
  params.causal = spec.causal;
  params.window_left = spec.window_left;
  params.window_right = spec.window_right;
  params.softcap = static_cast<float>(spec.softcap);
  return params;
}

}  // namespace pagoda::app

#include "engine/kv/page_table.h"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "base/checked_math.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

[[noreturn]] void Refuse(std::string_view field, const std::string& complaint) {
  throw Error(ErrorCode::kInvalidArgument, field, complaint);
}

// What a view says of itself is all there is to check: a length below 0, or entries at no address.
void CheckData(const TensorView& view, int64_t entries, std::string_view field) {
  if (entries < 0) Refuse(field, fmt::format("has {} entries", entries));
  if (entries > 0 && view.data == nullptr) Refuse(field, fmt::format("has {} entries, but no data", entries));
}

void CheckPageId(int64_t id, int64_t num_pages, const std::string& field, int64_t sequence) {
  if (id >= 0 && id < num_pages) return;
  if (num_pages == 0)
    Refuse(field, fmt::format("= {}, but the cache has no pages (sequence {})", id, sequence));
  Refuse(field, fmt::format("= {} is outside 0..{} (sequence {})", id, num_pages - 1, sequence));
}

ResolvedTable ResolveCsr(const PageTable& table, int64_t batch, int64_t page_size, int64_t num_pages) {
  const IndexReader indptr(table.indptr, "kv_indptr", batch + 1);
  const IndexReader indices(table.indices, "kv_indices", -1);
  const IndexReader last(table.last_page_len, "kv_last_page_len", batch);
  if (indptr[0] != 0) Refuse("kv_indptr[0]", fmt::format("= {} must be 0", indptr[0]));

  ResolvedTable out;
  out.kv_len.reserve(batch);
  out.page_begin.assign(1, 0);
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t begin = indptr[b];
    const int64_t end = indptr[b + 1];
    if (end < begin) {
      Refuse(fmt::format("kv_indptr[{}]", b + 1),
             fmt::format("= {} is below kv_indptr[{}] = {}; offsets must not decrease (sequence {})", end, b,
                         begin, b));
    }
    if (end > indices.size()) {
      Refuse(
          fmt::format("kv_indptr[{}]", b + 1),
          fmt::format("= {} goes past the {} entries of kv_indices (sequence {})", end, indices.size(), b));
    }
    const int64_t pages = end - begin;
    const int64_t tail = last[b];
    const std::string tail_field = fmt::format("kv_last_page_len[{}]", b);
    if (pages == 0 && tail != 0 && tail != page_size) {
      Refuse(tail_field, fmt::format("= {}, but sequence {} has no pages: it must be 0 or the page size {}",
                                     tail, b, page_size));
    }
    if (pages > 0 && (tail < 1 || tail > page_size)) {
      Refuse(tail_field,
             fmt::format("= {} is outside 1..{} (sequence {} has {} pages)", tail, page_size, b, pages));
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t id = indices[i];
      if (id < 0 || id >= num_pages) CheckPageId(id, num_pages, fmt::format("kv_indices[{}]", i), b);
      out.page_ids.push_back(id);
    }
    out.kv_len.push_back(pages == 0 ? 0 : MulOrThrow(pages - 1, page_size, "page_size") + tail);
    out.page_begin.push_back(static_cast<int64_t>(out.page_ids.size()));
  }
  if (indptr[batch] != indices.size()) {
    Refuse(fmt::format("kv_indptr[{}]", batch),
           fmt::format("= {}, but kv_indices has {} entries; the last offset must be their number",
                       indptr[batch], indices.size()));
  }
  return out;
}

ResolvedTable ResolvePadded(const PageTable& table, int64_t batch, int64_t page_size, int64_t num_pages) {
  const TensorView& view = table.block_table;
  if (!IsIndex(view.dtype) || view.rank != 2) {
    Refuse("block_table", fmt::format("must be [batch, max_pages] of i32 or i64, not rank {} of {}",
                                      view.rank, NameOf(view.dtype)));
  }
  if (view.shape[0] != batch) {
    Refuse("block_table", fmt::format("has {} rows for {} sequences", view.shape[0], batch));
  }
  if (batch > 0) CheckData(view, view.shape[1], "block_table");
  const IndexReader lens(table.context_lens, "context_lens", batch);
  ResolvedTable out;
  out.kv_len.reserve(batch);
  out.page_begin.assign(1, 0);
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t len = lens[b];
    if (len < 0)
      Refuse(fmt::format("context_lens[{}]", b),
             fmt::format("= {} must not be negative (sequence {})", len, b));
    const int64_t pages = len / page_size + (len % page_size != 0);
    if (pages > view.shape[1]) {
      Refuse(fmt::format("context_lens[{}]", b),
             fmt::format("= {} needs {} pages of {}, but block_table has room for {} (sequence {})", len,
                         pages, page_size, view.shape[1], b));
    }
    TensorView row = TensorView::Dense(view.data, view.dtype, {view.shape[1]});
    row.data = static_cast<std::byte*>(view.data) + b * view.strides[0] * SizeOf(view.dtype);
    row.strides[0] = view.strides[1];
    const IndexReader ids(row, "block_table", -1);
    for (int64_t p = 0; p < pages; ++p) {
      const int64_t id = ids[p];
      if (id < 0 || id >= num_pages) CheckPageId(id, num_pages, fmt::format("block_table[{}][{}]", b, p), b);
      out.page_ids.push_back(id);
    }
    out.kv_len.push_back(len);
    out.page_begin.push_back(static_cast<int64_t>(out.page_ids.size()));
  }
  return out;
}

}  // namespace

IndexReader::IndexReader(const TensorView& view, std::string_view field, int64_t length) : view_(view) {
  if (view.empty()) Refuse(field, "is missing");
  if (!IsIndex(view.dtype)) Refuse(field, fmt::format("must be i32 or i64, not {}", NameOf(view.dtype)));
  if (view.rank != 1) Refuse(field, fmt::format("must have one dimension, not {}", view.rank));
  if (length >= 0 && view.shape[0] != length) {
    Refuse(field, fmt::format("has {} entries, expected {}", view.shape[0], length));
  }
  CheckData(view, view.shape[0], field);
}

int64_t IndexReader::operator[](int64_t i) const {
  const int64_t at = i * view_.strides[0];
  return view_.dtype == DType::kI32 ? static_cast<const int32_t*>(view_.data)[at]
                                    : static_cast<const int64_t*>(view_.data)[at];
}

ResolvedTable ResolveTable(const PageTable& table, int64_t batch, int64_t page_size, int64_t num_pages) {
  if (table.is_csr() && !table.block_table.empty()) {
    Refuse("block_table", "and kv_indptr are both given; a table has one form");
  }
  if (!table.is_csr() && table.block_table.empty())
    Refuse("page_table", "has neither kv_indptr nor block_table");
  const auto only_of = [](const TensorView& given, std::string_view field, std::string_view form) {
    if (!given.empty()) Refuse(field, fmt::format("belongs to the form of {}, which isn't given", form));
  };
  if (table.is_csr()) {
    only_of(table.context_lens, "context_lens", "block_table");
  } else {
    only_of(table.indices, "kv_indices", "kv_indptr");
    only_of(table.last_page_len, "kv_last_page_len", "kv_indptr");
  }
  return table.is_csr() ? ResolveCsr(table, batch, page_size, num_pages)
                        : ResolvePadded(table, batch, page_size, num_pages);
}

std::vector<int64_t> ResolveOffsets(const TensorView& offsets, std::string_view field) {
  const IndexReader reader(offsets, field, -1);
  if (reader.size() < 1) Refuse(field, "is empty; it needs batch + 1 entries");
  std::vector<int64_t> out(reader.size());
  for (int64_t i = 0; i < reader.size(); ++i) {
    out[i] = reader[i];
    const int64_t before = i == 0 ? 0 : out[i - 1];
    if (i == 0 ? out[i] != 0 : out[i] < before) {
      Refuse(fmt::format("{}[{}]", field, i),
             i == 0 ? fmt::format("= {} must be 0", out[i])
                    : fmt::format("= {} is below {}[{}] = {}; offsets must not decrease (sequence {})",
                                  out[i], field, i - 1, before, i - 1));
    }
  }
  return out;
}

}  // namespace pagoda

// Reading a page table: everything that a caller can get wrong in it is found here, once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pagoda/paged_kv.h"

namespace pagoda {

// A one-dimensional i32 or i64 tensor read as int64. Bounds are the caller's.
class IndexReader {
 public:
  // Throws Error(field) unless `view` is a one-dimensional index tensor of `length` entries (-1: any length).
  IndexReader(const TensorView& view, std::string_view field, int64_t length);
  int64_t size() const { return view_.shape[0]; }
  int64_t operator[](int64_t i) const;

 private:
  TensorView view_;
};

// A page table in plain arrays, every entry within bounds.
struct ResolvedTable {
  std::vector<int64_t> kv_len;      // [B]
  std::vector<int64_t> page_begin;  // [B+1] into page_ids
  std::vector<int64_t> page_ids;    // only the pages that kv_len reaches
};

// Throws Error naming kv_indptr, kv_indices, kv_last_page_len, block_table or context_lens with the entry,
// its value, the sequence and what would be legal.
ResolvedTable ResolveTable(const PageTable& table, int64_t batch, int64_t page_size, int64_t num_pages);

// [B+1] offsets into rows: starts at 0, never decreases, ends at or before the caller's total.
std::vector<int64_t> ResolveOffsets(const TensorView& offsets, std::string_view field);

}  // namespace pagoda

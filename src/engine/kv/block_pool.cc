#include "pagoda/block_pool.h"

#include <fmt/format.h>

#include <cstring>

#include "pagoda/status.h"

namespace pagoda {
namespace {

// One page of K or V, row by row: strides may leave gaps that belong to somebody else.
void CopyPage(void* base, int64_t from, int64_t to, int64_t page_stride, int64_t slot_stride,
              int64_t head_stride, int64_t dim, const PagedKvView& cache) {
  const int64_t size = SizeOf(cache.dtype);
  auto* bytes = static_cast<std::byte*>(base);
  for (int64_t s = 0; s < cache.page_size; ++s) {
    for (int64_t h = 0; h < cache.kv_heads; ++h) {
      const int64_t row = s * slot_stride + h * head_stride;
      std::memcpy(bytes + (to * page_stride + row) * size, bytes + (from * page_stride + row) * size,
                  dim * size);
    }
  }
}

}  // namespace

BlockPool::BlockPool(int64_t num_pages) {
  if (num_pages < 0) {
    throw Error(ErrorCode::kInvalidArgument, "num_pages",
                fmt::format("= {} must not be negative", num_pages));
  }
  refs_.assign(num_pages, 0);
  free_.reserve(num_pages);
  // Taken from the back: the lowest page goes first.
  for (int64_t p = num_pages - 1; p >= 0; --p) free_.push_back(p);
}

int64_t BlockPool::references(int64_t page) const {
  if (page < 0 || page >= num_pages()) {
    throw Error(ErrorCode::kInvalidArgument, "page",
                fmt::format("= {} is outside 0..{}", page, num_pages() - 1));
  }
  return refs_[page];
}

void BlockPool::CheckInUse(int64_t page) const {
  if (references(page) == 0)
    throw Error(ErrorCode::kInvalidArgument, "page", fmt::format("= {} is free", page));
}

std::vector<int64_t> BlockPool::Allocate(int64_t count) {
  if (count < 0 || count > free_pages()) {
    throw Error(ErrorCode::kInvalidArgument, "count",
                fmt::format("= {} pages asked for, {} of {} are free", count, free_pages(), num_pages()));
  }
  std::vector<int64_t> pages(count);
  for (int64_t& p : pages) {
    p = free_.back();
    free_.pop_back();
    refs_[p] = 1;
  }
  return pages;
}

void BlockPool::Share(int64_t page) {
  CheckInUse(page);
  ++refs_[page];
}

void BlockPool::Free(int64_t page) {
  CheckInUse(page);
  if (--refs_[page] == 0) free_.push_back(page);
}

std::vector<int64_t> BlockPool::Fork(std::span<const int64_t> pages) {
  for (const int64_t p : pages) CheckInUse(p);
  for (const int64_t p : pages) ++refs_[p];
  return {pages.begin(), pages.end()};
}

bool BlockPool::MakeWritable(std::span<int64_t> pages, int64_t i, const PagedKvView& cache) {
  if (i < 0 || i >= static_cast<int64_t>(pages.size())) {
    throw Error(ErrorCode::kInvalidArgument, "i",
                fmt::format("= {} is outside 0..{}", i, static_cast<int64_t>(pages.size()) - 1));
  }
  if (cache.num_pages != num_pages()) {
    throw Error(ErrorCode::kInvalidArgument, "cache",
                fmt::format("has {} pages, the pool {}", cache.num_pages, num_pages()));
  }
  CheckInUse(pages[i]);
  if (refs_[pages[i]] == 1) return false;
  const int64_t fresh = Allocate(1)[0];
  CopyPage(cache.k, pages[i], fresh, cache.k_page_stride, cache.k_slot_stride, cache.k_head_stride,
           cache.head_dim, cache);
  CopyPage(cache.v, pages[i], fresh, cache.v_page_stride, cache.v_slot_stride, cache.v_head_stride,
           cache.head_dim_v, cache);
  Free(pages[i]);
  pages[i] = fresh;
  return true;
}

}  // namespace pagoda

// Pages handed out, shared and copied on write.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pagoda/paged_kv.h"

namespace pagoda {

// Reference counts of the pages of one cache. Not thread-safe: one owner (a scheduler) calls it.
class BlockPool {
 public:
  // num_pages >= 0. All pages start free.
  explicit BlockPool(int64_t num_pages);

  int64_t num_pages() const { return static_cast<int64_t>(refs_.size()); }
  int64_t free_pages() const { return static_cast<int64_t>(free_.size()); }
  int64_t references(int64_t page) const;  // 0: free. Throws Error(page).

  // `count` pages, each with one reference: all or, with an Error naming what is left, none.
  std::vector<int64_t> Allocate(int64_t count);
  // One more owner of a page that is in use.
  void Share(int64_t page);
  // One owner less; the page is free when the last has gone. Throws Error when it is free already.
  void Free(int64_t page);
  // A second sequence that starts as this one: shares every page.
  std::vector<int64_t> Fork(std::span<const int64_t> pages);
  // Before writing into pages[i]: if others own it too, takes a new page, copies K and V, and puts it in
  // place. Returns whether it copied.
  bool MakeWritable(std::span<int64_t> pages, int64_t i, const PagedKvView& cache);

 private:
  void CheckInUse(int64_t page) const;
  std::vector<int32_t> refs_;
  std::vector<int64_t> free_;
};

}  // namespace pagoda

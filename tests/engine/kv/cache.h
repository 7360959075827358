// Caches for tests in every layout, with gaps between their rows that belong to nobody.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pagoda/paged_kv.h"

namespace pagoda::testing {

struct CacheShape {
  int64_t pages = 5, page_size = 3, heads = 2, dim = 4, dim_v = 6;
  bool hnd = false;
  bool combined = false;  // dim_v is dim
  DType dtype = DType::kF32;
  int64_t gap = 0;  // elements between rows, slots and pages

  std::string Describe() const;
};

// Every layout with and without gaps, in a 4-byte and a 2-byte type.
std::vector<CacheShape> EveryCacheShape();

// Each element starts with a value of its own, gaps too.
class Cache {
 public:
  explicit Cache(const CacheShape& shape);

  const CacheShape& shape() const { return shape_; }
  const PagedKvView& view() const { return view_; }
  // All elements and gaps as bits.
  const std::vector<uint32_t>& bits() const;
  // Element (page, slot, head, d) of K or V by the formula of PagedKvView: its index in bits().
  int64_t At(bool value, int64_t page, int64_t slot, int64_t head, int64_t d) const;
  void Set(int64_t at, uint32_t bits);

 private:
  CacheShape shape_;
  std::vector<std::byte> memory_;
  mutable std::vector<uint32_t> bits_;
  PagedKvView view_;
  int64_t v_begin_ = 0;
};

}  // namespace pagoda::testing

// Which keys a row sees. Whatever the mask, it is a few ranges.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/attention/hstu/variant.h"
#include "engine/attention/keys.h"

namespace pagoda {

// Ascending and apart from each other. Points into the batch where the mask is a list of intervals.
class RowSight {
 public:
  RowSight() = default;
  explicit RowSight(std::span<const KeyRange> listed)
      : listed_(listed.data()), count_(static_cast<int64_t>(listed.size())) {}
  // Of up to two ranges; empty ones are left out, and `second` lies behind `first`.
  RowSight(KeyRange first, KeyRange second);

  std::span<const KeyRange> ranges() const {
    return {listed_ != nullptr ? listed_ : own_.data(), static_cast<size_t>(count_)};
  }
  bool SeesAny(KeyRange keys) const;
  bool SeesAll(KeyRange keys) const;

 private:
  std::array<KeyRange, 2> own_{};
  const KeyRange* listed_ = nullptr;
  int64_t count_ = 0;
};

// Of query row `a` of a sequence.
RowSight SightOf(const NormalHstuBatch& batch, int64_t sequence, int64_t a);
// The keys that some query of [first, first + queries) sees, ascending and apart from each other.
std::vector<KeyRange> SeenKeys(const NormalHstuBatch& batch, int64_t sequence, int64_t first,
                               int64_t queries);

// Sorted, empty ones left out, those that touch made one.
std::vector<KeyRange> Merged(std::vector<KeyRange> ranges);

}  // namespace pagoda

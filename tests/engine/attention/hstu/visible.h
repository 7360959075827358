// Which keys a row sees, key by key, in the words of the definition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pagoda/hstu.h"

namespace pagoda::testing {

// One sequence: n = Lk keys, of which the last `targets` are targets.
struct Lengths {
  int64_t queries = 0, keys = 0, targets = 0, contextuals = 0;
  int64_t history() const { return keys - targets; }
};

// Meta's form of max_attn_len = A with min_full_attn_seq_len = F.
inline bool VisibleWithinAttnLen(const HstuParams& p, const Lengths& s, int64_t i, int64_t j) {
  const int64_t c = s.contextuals;
  int64_t m = c > 0 ? s.keys - c + 1 : s.keys;
  if (s.targets > 0) m -= s.targets;
  const auto id = [&](int64_t x) {
    const int64_t place = c > 0 ? std::max<int64_t>(x - c + 1, 0) : x;
    return s.targets > 0 ? std::min(place, m) : place;
  };
  bool valid = i == j || id(i) > id(j);
  const bool full = p.min_full_attn_seq_len > 0 && id(i) >= m - p.min_full_attn_seq_len;
  valid = valid && (id(i) - id(j) <= p.max_attn_len || full);
  return valid || (c > 0 && id(i) == 0 && id(j) < m);
}

// Whether the query at position r sees key j; `bounds` are f0, f1, ... of its row of the interval mask.
inline bool Visible(const HstuParams& p, const Lengths& s, int64_t r, int64_t j,
                    const std::vector<int64_t>& bounds) {
  const bool in_window =
      (p.window_left < 0 || r - j <= p.window_left) && (p.window_right < 0 || j - r <= p.window_right);
  switch (p.mask) {
    case HstuMask::kDense:
      return true;
    case HstuMask::kNone:
      return in_window;
    case HstuMask::kInterval: {
      bool listed = j < bounds[0];
      for (size_t f = 1; f + 1 < bounds.size(); f += 2)
        listed = listed || (j >= bounds[f] && j < bounds[f + 1]);
      return listed;
    }
    case HstuMask::kCausal:
      break;
  }
  if (p.max_attn_len > 0) return VisibleWithinAttnLen(p, s, r, j);
  const int64_t h = s.history();
  if (r < s.contextuals) return j < h;
  if (j > r || !in_window) return false;
  const bool other_group = r >= h && j >= h && j < h + (r - h) / p.target_group_size * p.target_group_size;
  return !other_group;
}

}  // namespace pagoda::testing

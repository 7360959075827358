// rapidcheck's draws of legal HSTU parameters and lengths.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/attention/hstu/visible.h"
#include "pagoda/hstu.h"

namespace pagoda::testing {

// A few, anything up to past `keys`, and the largest there is.
inline int64_t ArbitraryReach(int64_t low, int64_t keys) {
  return *rc::gen::weightedOneOf<int64_t>(
      {{4, rc::gen::inRange<int64_t>(low, low + 6)},
       {4, rc::gen::inRange<int64_t>(low, keys + 2)},
       {1, rc::gen::element(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max() - 1)}});
}

// A mask with what may go along with it, for sequences of up to about `keys`.
inline HstuParams ArbitraryParams(int64_t keys) {
  HstuParams p;
  p.max_seq_len = keys + 1;
  p.mask = *rc::gen::weightedElement<HstuMask>(
      {{2, HstuMask::kNone}, {8, HstuMask::kCausal}, {1, HstuMask::kDense}, {3, HstuMask::kInterval}});
  const auto window = [&] {
    p.window_left = ArbitraryReach(-1, keys);
    p.window_right = ArbitraryReach(-1, keys);
  };
  if (p.mask == HstuMask::kNone) window();
  if (p.mask != HstuMask::kCausal) return p;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      p.max_attn_len = ArbitraryReach(1, keys);
      p.min_full_attn_seq_len = ArbitraryReach(0, keys);
      break;
    case 1:
      window();
      break;
    case 2:
      window();
      p.target_group_size = ArbitraryReach(1, 8);
      break;
    default:
      p.target_group_size = ArbitraryReach(1, 8);
  }
  return p;
}

// Lq <= Lk, T <= Lk (`targets_are_queries`: and <= Lq), C <= h where the mask takes contextual rows.
inline Lengths ArbitraryLengths(const HstuParams& p, int64_t keys, bool targets_are_queries) {
  const auto up_to = [](int64_t most) { return *rc::gen::inRange<int64_t>(0, most + 1); };
  Lengths s;
  s.keys = up_to(keys);
  s.queries = up_to(s.keys);
  if (*rc::gen::element(true, true, false)) s.targets = up_to(targets_are_queries ? s.queries : s.keys);
  if (p.mask == HstuMask::kCausal && *rc::gen::element(true, false)) s.contextuals = up_to(s.history());
  return s;
}

// f0, f1, ...: in any order, before the first key, past the last.
inline std::vector<int64_t> ArbitraryBounds(int64_t count, int64_t keys) {
  return *rc::gen::container<std::vector<int64_t>>(static_cast<size_t>(count),
                                                   rc::gen::inRange<int64_t>(-4, keys + 5));
}

}  // namespace pagoda::testing

// Cutting a batch into work: pure functions of the batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/attention/hstu/rows.h"
#include "engine/attention/hstu/variant.h"

namespace pagoda {

// Calls body(tile, next tile) for the tiles of `seen` within `keys`, in order and cut where `step` divides a
// key's position; the last has an empty next.
template <class Body>
void ForEachTile(const std::vector<KeyRange>& seen, KeyRange keys, int64_t step, Body body) {
  KeyRange held;
  for (const KeyRange& range : seen) {
    const KeyRange part{std::max(range.begin, keys.begin), std::min(range.end, keys.end)};
    for (int64_t at = part.begin; at < part.end;) {
      const KeyRange tile{at, TileEnd(at, step, part.end)};
      if (!held.empty()) body(held, tile);
      held = tile;
      at = tile.end;
    }
  }
  if (!held.empty()) body(held, KeyRange{});
}

// Bytes of K and V of the keys of `seen` within `keys` for one kv head.
int64_t BytesOf(const NormalHstuBatch& batch, const std::vector<KeyRange>& seen, KeyRange keys);

}  // namespace pagoda

// Cutting a batch into work: pure functions of the batch.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/attention/hstu/rows.h"
#include "engine/attention/hstu/variant.h"

namespace pagoda {

// Queries of one block so that its rows per kv head stay near `rows`; at least 1.
int64_t QueriesPerBlock(const NormalHstuBatch& batch, int64_t rows);

// The first `step` keys or fewer of [at, range.end), cut where `step` divides a key's position.
KeyRange TileAt(int64_t at, KeyRange range, int64_t step);

// Calls body(tile, next tile) for the tiles of `seen` within `keys`, in order; the last has an empty next.
template <class Body>
void ForEachTile(const std::vector<KeyRange>& seen, KeyRange keys, int64_t step, Body body) {
  KeyRange held;
  for (const KeyRange& range : seen) {
    const KeyRange part{std::max(range.begin, keys.begin), std::min(range.end, keys.end)};
    for (int64_t at = part.begin; at < part.end;) {
      const KeyRange tile = TileAt(at, part, step);
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

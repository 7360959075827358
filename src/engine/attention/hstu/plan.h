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

// How many keys of `seen` lie within `keys`.
int64_t KeysWithin(const std::vector<KeyRange>& seen, KeyRange keys);
// Bytes of K and V of the keys of `seen` within `keys` for one kv head.
int64_t BytesOf(const NormalHstuBatch& batch, const std::vector<KeyRange>& seen, KeyRange keys);

// FLOPs of `pairs` (query row, key) pairs.
double FlopsOf(const NormalHstuBatch& batch, int64_t pairs);
// Bytes of K and V that some row sees, of all kv heads.
int64_t SeenBytes(const NormalHstuBatch& batch);
// Keys of one run, of up to `tile`.
int64_t PieceKeys(const NormalHstuBatch& batch, int64_t tile);
// As RunBytes of cost.h, for pages and for rows of k.
int64_t RunBytesOf(const NormalHstuBatch& batch, int64_t heads);

}  // namespace pagoda

// Cutting a batch into work: pure functions of the batch (and, where they say so, the thread count).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/attention/range_sum.h"
#include "engine/attention/softmax/rows.h"
#include "engine/attention/variant.h"

namespace pagoda {

// The blocks of all sequences: `queries` queries by `heads` kv heads each, in order. Blocks with no visible
// key are there too: their output is zero.
std::vector<RowBlock> CutRows(const NormalBatch& batch, int64_t queries, int64_t heads);

// Bytes of K and V of `keys` keys for the block's kv heads.
int64_t BytesOf(const NormalBatch& batch, const RowBlock& block, int64_t keys);
// The same for all keys that the block sees.
int64_t VisibleBytes(const NormalBatch& batch, const RowBlock& block);

// What the blocks of a plan do whatever the variant: their FLOPs, the K and V that they read first, and, by
// `items` of FLOPs taken in order, how evenly threads are busy. `heads` kv heads are walked together.
Work WorkOfBlocks(const NormalBatch& batch, std::span<const double> items, int64_t heads, int threads);
// FLOPs of a block over `keys` keys.
double FlopsOf(const NormalBatch& batch, const RowBlock& block, int64_t keys);
// FLOPs of AttendKeys over `keys`, whose many rows are multiplied kScoreRows at a time, each part with the
// keys that it sees.
double AttendedFlops(const NormalBatch& batch, const RowBlock& block, KeyRange keys);

// Online softmax over `keys`, tile by tile, cut where `step` divides a key's position and where a range ends
// (see range_sum.h); with `ask_ahead` each tile asks memory for what follows it. `sum` has
// RangeSum<RowWork>::Bytes.
void AttendKeys(RowWork& work, std::byte* sum, KeyRange keys, int64_t step, bool ask_ahead);

}  // namespace pagoda

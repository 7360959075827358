#include "engine/attention/softmax/plan.h"

#include <algorithm>

#include "engine/attention/cost.h"

namespace pagoda {

std::vector<RowBlock> CutRows(const NormalBatch& batch, int64_t queries, int64_t heads) {
  std::vector<RowBlock> blocks;
  for (int64_t b = 0; b < batch.batch; ++b) {
    for (int64_t a = 0; a < batch.q_len(b); a += queries) {
      for (int64_t h = 0; h < batch.kv_heads; h += heads) {
        blocks.push_back(
            {b, a, std::min(queries, batch.q_len(b) - a), h, std::min(heads, batch.kv_heads - h)});
      }
    }
  }
  return blocks;
}

int64_t BytesOf(const NormalBatch& batch, const RowBlock& block, int64_t keys) {
  return keys * block.heads * (batch.head_dim + batch.head_dim_v) * SizeOf(batch.kv.dtype);
}

int64_t VisibleBytes(const NormalBatch& batch, const RowBlock& block) {
  const KeyRange keys = VisibleKeys(batch, block.sequence, block.first_query, block.queries);
  return BytesOf(batch, block, keys.end - keys.begin);
}

double FlopsOf(const NormalBatch& batch, const RowBlock& block, int64_t keys) {
  return 2.0 * static_cast<double>(block.queries * batch.group * block.heads * keys) *
         static_cast<double>(batch.head_dim + batch.head_dim_v);
}

double AttendedFlops(const NormalBatch& batch, const RowBlock& block, KeyRange keys) {
  const int64_t step =
      block.queries * batch.group <= kFewRows ? block.queries : QueriesPerBlock(batch.group, kScoreRows);
  double flops = 0;
  for (int64_t a = 0; a < block.queries; a += step) {
    RowBlock part = block;
    part.first_query += a;
    part.queries = std::min(step, block.queries - a);
    const KeyRange sees = VisibleKeys(batch, block.sequence, part.first_query, part.queries);
    const KeyRange both{std::max(keys.begin, sees.begin), std::min(keys.end, sees.end)};
    if (!both.empty()) flops += FlopsOf(batch, part, both.end - both.begin);
  }
  return flops;
}

Work WorkOfBlocks(const NormalBatch& batch, std::span<const double> items, int64_t heads, int threads) {
  Work work;
  for (int64_t b = 0; b < batch.batch; ++b) {
    work.memory_bytes += VisibleBytes(batch, {b, 0, batch.q_len(b), 0, batch.kv_heads});
  }
  work.run_bytes = RunBytes(batch.kv, heads);
  for (const double flops : items) work.flops += flops;
  work.busiest_share = BusiestShare(items, threads);
  return work;
}

void AttendKeys(RowWork& work, std::byte* sum, KeyRange keys, int64_t step, bool ask_ahead) {
  RangeSum ranges(work, sum);
  const auto end_of = [&](int64_t at) { return TileEnd(at, step, TileEnd(at, kRangeKeys, keys.end)); };
  for (int64_t at = keys.begin; at < keys.end;) {
    const int64_t end = end_of(at);
    ranges.Enter(at);
    work.Attend({at, end}, {end, end_of(end)}, ask_ahead);
    at = end;
  }
  ranges.Finish();
}

}  // namespace pagoda

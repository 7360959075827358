#include "engine/attention/hstu/plan.h"

#include <algorithm>

#include "engine/attention/cost.h"

namespace pagoda {

int64_t KeysWithin(const std::vector<KeyRange>& seen, KeyRange keys) {
  int64_t count = 0;
  for (const KeyRange& range : seen) {
    count += std::max<int64_t>(0, std::min(range.end, keys.end) - std::max(range.begin, keys.begin));
  }
  return count;
}

int64_t BytesOf(const NormalHstuBatch& batch, const std::vector<KeyRange>& seen, KeyRange keys) {
  return KeysWithin(seen, keys) * (batch.head_dim + batch.head_dim_v) * SizeOf(batch.dtype);
}

double FlopsOf(const NormalHstuBatch& batch, int64_t pairs) {
  return 2.0 * static_cast<double>(pairs) * static_cast<double>(batch.head_dim + batch.head_dim_v);
}

int64_t SeenBytes(const NormalHstuBatch& batch) {
  int64_t bytes = 0;
  for (int64_t b = 0; b < batch.batch; ++b) {
    const std::vector<KeyRange> seen = SeenKeys(batch, b, 0, batch.q_len(b));
    bytes += batch.kv_heads * BytesOf(batch, seen, {0, batch.kv_len[b]});
  }
  return bytes;
}

int64_t PieceKeys(const NormalHstuBatch& batch, int64_t tile) {
  return batch.paged ? std::min(batch.kv.page_size, tile) : tile;
}

int64_t RunBytesOf(const NormalHstuBatch& batch, int64_t heads) {
  return batch.paged ? RunBytes(batch.kv, heads) : heads * batch.head_dim * SizeOf(batch.dtype);
}

}  // namespace pagoda

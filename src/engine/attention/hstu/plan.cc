#include "engine/attention/hstu/plan.h"

#include <algorithm>

namespace pagoda {

int64_t BytesOf(const NormalHstuBatch& batch, const std::vector<KeyRange>& seen, KeyRange keys) {
  int64_t count = 0;
  for (const KeyRange& range : seen) {
    count += std::max<int64_t>(0, std::min(range.end, keys.end) - std::max(range.begin, keys.begin));
  }
  return count * (batch.head_dim + batch.head_dim_v) * SizeOf(batch.dtype);
}

}  // namespace pagoda

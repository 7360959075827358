#include "app/subjects/case_facts.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <map>
#include <numeric>

#include "app/subjects/hstu_inputs.h"
#include "app/subjects/page_layout.h"
#include "app/subjects/softmax_inputs.h"
#include "base/sys/cpu.h"
#include "engine/attention/hstu/mask.h"
#include "engine/attention/keys.h"
#include "engine/attention/oracle.h"

namespace pagoda::app {
namespace {

constexpr int64_t kLeastColdBytes = int64_t{256} << 20;

// Keys of sequence b that any of its rows sees: the rows' ranges overlap or touch, so their union is one.
KeyRange SeenKeys(const judge::CaseSpec& spec, size_t b) {
  const int64_t keys = spec.contexts[b];
  if (spec.queries[b] == 0) return {};
  const int64_t first_row = keys - spec.queries[b];
  const int64_t last_row = keys - 1;
  int64_t first = 0;
  int64_t end = keys;
  if (spec.window_left >= 0) first = std::max<int64_t>(0, first_row - std::min(spec.window_left, keys));
  if (spec.causal) end = std::min(end, last_row + 1);
  if (spec.window_right >= 0) end = std::min(end, last_row + std::min(spec.window_right, keys) + 1);
  return {first, std::max(first, end)};
}

// Keys of the cache that any row of any sequence sees.
int64_t SeenKeys(const judge::CaseSpec& spec) {
  int64_t apart = 0;
  std::map<int64_t, std::bitset<judge::CaseSpec::kBlockKeys>> seen_of_block;
  for (size_t b = 0; b < spec.contexts.size(); ++b) {
    const KeyRange range = SeenKeys(spec, b);
    if (spec.blocks.empty()) {
      apart += range.end - range.begin;
      continue;
    }
    for (int64_t j = range.begin; j < range.end; ++j) {
      seen_of_block[spec.blocks[b][j / judge::CaseSpec::kBlockKeys]].set(j % judge::CaseSpec::kBlockKeys);
    }
  }
  int64_t shared = 0;
  for (const auto& [id, seen] : seen_of_block) shared += static_cast<int64_t>(seen.count());
  return apart + shared;
}

// Keys that any row sees, and (row, key) pairs, of an HSTU case.
struct Seen {
  double keys = 0, pairs = 0;
};

Seen SeenOf(const HstuBatch& shape) {
  const NormalHstuBatch batch = Normalise(shape);
  Seen seen;
  const auto keys_in = [](std::span<const KeyRange> ranges) {
    int64_t keys = 0;
    for (const KeyRange& range : ranges) keys += range.end - range.begin;
    return static_cast<double>(keys);
  };
  for (int64_t b = 0; b < batch.batch; ++b) {
    seen.keys += keys_in(pagoda::SeenKeys(batch, b, 0, batch.q_len(b)));
    for (int64_t a = 0; a < batch.q_len(b); ++a) seen.pairs += keys_in(SightOf(batch, b, a).ranges());
  }
  return seen;
}

// Pages, with all their slots, are real memory, whoever owns them; cold caches take copies of the whole
// cache.
double MemoryOf(const judge::CaseSpec& spec, int64_t num_pages) {
  const auto pool = static_cast<double>(PoolBytes(spec, num_pages));
  const double pools = spec.cold ? std::ceil(static_cast<double>(ColdBytes()) / pool) : 1;
  const auto rows = std::accumulate(spec.queries.begin(), spec.queries.end(), int64_t{0});
  const int64_t row = spec.q_heads * (spec.head_dim + spec.head_dim_v) * SizeOf(spec.dtype);
  return pools * pool + static_cast<double>(rows * row);
}

}  // namespace

int64_t ColdBytes() { return std::max(kLeastColdBytes, 4 * sys::ReadMachineInfo().LastLevelCacheBytes()); }

judge::CaseFacts FactsOf(const judge::CaseSpec& spec) {
  const auto size = static_cast<double>(SizeOf(spec.dtype));
  const auto k_dim = static_cast<double>(spec.kv_heads * spec.head_dim);
  const auto v_dim = static_cast<double>(spec.kv_heads * spec.head_dim_v);
  judge::CaseFacts facts;
  double keys = 0;
  int64_t pages = 0;
  if (spec.op == judge::CaseOp::kHstuPaged) {
    const HstuShape shape(spec);
    const Seen seen = SeenOf(shape.batch);
    keys = seen.keys;
    pages = shape.batch.kv.num_pages;
    facts.flops = 2.0 * static_cast<double>(spec.q_heads * (spec.head_dim + spec.head_dim_v)) * seen.pairs;
  } else {
    keys = static_cast<double>(SeenKeys(spec));
    const ShapeOnly shape(spec);
    facts.flops = SoftmaxFlops(shape.batch);
    pages = shape.batch.kv.num_pages;
  }
  facts.bytes = keys * (k_dim + v_dim) * size;
  facts.memory_bytes = MemoryOf(spec, pages);
  facts.run_bytes = static_cast<double>(spec.page_size) * (spec.combined ? k_dim + v_dim : k_dim) * size;
  return facts;
}

}  // namespace pagoda::app

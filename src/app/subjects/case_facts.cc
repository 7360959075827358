#include "app/subjects/case_facts.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include "app/subjects/cache_pools.h"
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

// Keys that any row sees, those that sequences share once, and (row, query head, key) triples, of an HSTU
// case.
struct Seen {
  double keys = 0, triples = 0;
};

bool SharesPages(const NormalHstuBatch& batch) {
  std::vector<bool> owned(static_cast<size_t>(batch.kv.num_pages));
  return std::any_of(batch.page_ids.begin(), batch.page_ids.end(), [&](int64_t page) {
    const bool again = owned[page];
    owned[page] = true;
    return again;
  });
}

// Keys of the ranges of all sequences, each slot of the cache once.
double KeysApart(const NormalHstuBatch& batch, const std::vector<std::vector<KeyRange>>& seen) {
  std::vector<bool> slots;
  if (batch.paged && SharesPages(batch))
    slots.resize(static_cast<size_t>(batch.kv.num_pages * batch.kv.page_size));
  double keys = 0;
  for (int64_t b = 0; b < batch.batch; ++b) {
    for (const KeyRange& range : seen[b]) {
      if (slots.empty()) {
        keys += static_cast<double>(range.end - range.begin);
        continue;
      }
      for (int64_t j = range.begin; j < range.end; ++j) {
        if (j >= batch.cached[b]) {
          ++keys;
          continue;
        }
        const int64_t page = batch.page_ids[batch.page_begin[b] + j / batch.kv.page_size];
        const int64_t slot = page * batch.kv.page_size + j % batch.kv.page_size;
        keys += slots[slot] ? 0 : 1;
        slots[slot] = true;
      }
    }
  }
  return keys;
}

// By a dense mask, f32 [B or 1, Hq or 1, Lq or more, Lk or more]: a row sees the keys whose factor isn't 0.
Seen SeenBy(const TensorView& mask, const NormalHstuBatch& batch) {
  Seen seen;
  std::vector<std::vector<KeyRange>> keys(static_cast<size_t>(batch.batch));
  const auto* const factors = static_cast<const float*>(mask.data);
  for (int64_t b = 0; b < batch.batch; ++b) {
    std::vector<bool> any(static_cast<size_t>(batch.kv_len[b]));
    for (int64_t head = 0; head < mask.shape[1]; ++head) {
      for (int64_t a = 0; a < batch.q_len(b); ++a) {
        const float* const row = factors + (mask.shape[0] > 1 ? b * mask.strides[0] : 0) +
                                 head * mask.strides[1] + a * mask.strides[2];
        for (int64_t j = 0; j < batch.kv_len[b]; ++j) {
          if (row[j * mask.strides[3]] == 0) continue;
          any[j] = true;
          seen.triples += static_cast<double>(mask.shape[1] > 1 ? 1 : batch.q_heads);
        }
      }
    }
    for (int64_t j = 0; j < batch.kv_len[b]; ++j) {
      if (any[j]) keys[b].push_back({j, j + 1});
    }
  }
  seen.keys = KeysApart(batch, keys);
  return seen;
}

Seen SeenBy(const NormalHstuBatch& batch) {
  Seen seen;
  std::vector<std::vector<KeyRange>> keys;
  for (int64_t b = 0; b < batch.batch; ++b) {
    keys.push_back(pagoda::SeenKeys(batch, b, 0, batch.q_len(b)));
    for (int64_t a = 0; a < batch.q_len(b); ++a) {
      const RowSight sight = SightOf(batch, b, a);
      for (const KeyRange& range : sight.ranges())
        seen.triples += static_cast<double>((range.end - range.begin) * batch.q_heads);
    }
  }
  seen.keys = KeysApart(batch, keys);
  return seen;
}

// Cold caches take copies of all keys; `key_bytes` are those of one.
double MemoryOf(const judge::CaseSpec& spec, int64_t key_bytes) {
  const auto keys = static_cast<double>(key_bytes);
  const double copies = spec.cold ? std::ceil(static_cast<double>(ColdBytes()) / keys) : 1;
  const int64_t rows = TotalQueries(spec);
  const int64_t row = spec.q_heads * (spec.head_dim + spec.head_dim_v) * SizeOf(spec.dtype);
  return copies * keys + static_cast<double>(rows * row);
}

// Of K and V of all keys: pages with all their slots, since they are real memory, whoever owns them.
int64_t KeyBytesOf(const judge::CaseSpec& spec, const HstuBatch& batch) {
  if (batch.paged()) return PoolBytes(spec, batch.kv.num_pages);
  const int64_t keys = std::accumulate(spec.contexts.begin(), spec.contexts.end(), int64_t{0});
  return keys * spec.kv_heads * (spec.head_dim + spec.head_dim_v) * SizeOf(spec.dtype);
}

}  // namespace

int64_t ColdBytes() { return std::max(kLeastColdBytes, 4 * sys::ReadMachineInfo().LastLevelCacheBytes()); }

judge::CaseFacts FactsOf(const judge::CaseSpec& spec) {
  const auto size = static_cast<double>(SizeOf(spec.dtype));
  const auto k_dim = static_cast<double>(spec.kv_heads * spec.head_dim);
  const auto v_dim = static_cast<double>(spec.kv_heads * spec.head_dim_v);
  judge::CaseFacts facts;
  double keys = 0;
  bool paged = true;
  if (IsHstu(spec.op)) {
    const HstuShape shape(spec);
    const NormalHstuBatch batch = Normalise(shape.batch);
    const Seen seen = batch.mask == HstuMask::kDense ? SeenBy(shape.call.mask, batch) : SeenBy(batch);
    keys = seen.keys;
    paged = batch.paged;
    facts.flops = 2.0 * static_cast<double>(spec.head_dim + spec.head_dim_v) * seen.triples;
    facts.memory_bytes = MemoryOf(spec, KeyBytesOf(spec, shape.batch));
  } else {
    keys = static_cast<double>(SeenKeys(spec));
    const ShapeOnly shape(spec);
    facts.flops = SoftmaxFlops(shape.batch);
    facts.memory_bytes = MemoryOf(spec, PoolBytes(spec, shape.batch.kv.num_pages));
  }
  facts.bytes = keys * (k_dim + v_dim) * size;
  if (paged)
    facts.run_bytes = static_cast<double>(spec.page_size) * (spec.combined ? k_dim + v_dim : k_dim) * size;
  return facts;
}

}  // namespace pagoda::app

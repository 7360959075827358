#include "engine/attention/hstu/mask.h"

#include <algorithm>

namespace pagoda {
namespace {

// Keys of the window around position r. Windows may be as large as an int64 holds.
KeyRange Window(const NormalHstuBatch& batch, int64_t keys, int64_t r) {
  KeyRange window{0, keys};
  if (batch.window_left >= 0) window.begin = std::max<int64_t>(0, r - std::min(batch.window_left, keys));
  if (batch.window_right >= 0) window.end = std::min(keys, r + std::min(batch.window_right, keys) + 1);
  return window;
}

KeyRange Meet(KeyRange a, KeyRange b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

// With max_attn_len every key has a place: contextual keys all stand before the history's others, targets all
// behind it. A row sees the places of up to so many before its own, and itself.
RowSight WithinAttnLen(const NormalHstuBatch& batch, int64_t sequence, int64_t r) {
  const int64_t history = batch.history[sequence];
  const int64_t contextual = batch.contextual[sequence];
  const int64_t offset = contextual > 0 ? contextual - 1 : 0;  // of a key behind its place
  const int64_t last_place = history - offset;                 // that of the targets
  const int64_t place = std::min(std::max<int64_t>(r - offset, 0), last_place);
  const int64_t full = batch.min_full_attn_seq_len;
  const bool sees_all = full > 0 && place >= last_place - std::min(full, last_place);
  int64_t first = 0;
  if (!sees_all && place > batch.max_attn_len) first = place - batch.max_attn_len + offset;
  if (r >= history) return {{first, history}, {r, r + 1}};
  return {{first, r + 1}, {}};
}

RowSight Causal(const NormalHstuBatch& batch, int64_t sequence, int64_t r) {
  const int64_t history = batch.history[sequence];
  if (r < batch.contextual[sequence]) return {{0, history}, {}};
  if (batch.max_attn_len > 0) return WithinAttnLen(batch, sequence, r);
  const KeyRange window = Window(batch, batch.kv_len[sequence], r);
  if (r < history) return {Meet(window, {0, r + 1}), {}};
  const int64_t group = history + (r - history) / batch.group_size * batch.group_size;
  return {Meet(window, {0, history}), Meet(window, {group, r + 1})};
}

}  // namespace

RowSight::RowSight(KeyRange first, KeyRange second) {
  if (!first.empty()) own_[count_++] = first;
  if (second.empty()) return;
  if (count_ > 0 && own_[0].end == second.begin) {
    own_[0].end = second.end;
  } else {
    own_[count_++] = second;
  }
}

bool RowSight::SeesAny(KeyRange keys) const {
  return std::any_of(ranges().begin(), ranges().end(),
                     [&](const KeyRange& range) { return range.begin < keys.end && range.end > keys.begin; });
}

bool RowSight::SeesAll(KeyRange keys) const {
  return std::any_of(ranges().begin(), ranges().end(), [&](const KeyRange& range) {
    return range.begin <= keys.begin && range.end >= keys.end;
  });
}

RowSight SightOf(const NormalHstuBatch& batch, int64_t sequence, int64_t a) {
  const int64_t r = batch.first_position(sequence) + a;
  switch (batch.mask) {
    case HstuMask::kCausal:
      return Causal(batch, sequence, r);
    case HstuMask::kInterval: {
      const int64_t row = batch.q_begin[sequence] + a;
      const int64_t first = batch.interval_begin[row];
      return RowSight(std::span(batch.intervals.data() + first,
                                static_cast<size_t>(batch.interval_begin[row + 1] - first)));
    }
    case HstuMask::kNone:
    case HstuMask::kDense:
      break;
  }
  return {Window(batch, batch.kv_len[sequence], r), {}};
}

std::vector<KeyRange> Merged(std::vector<KeyRange> ranges) {
  std::erase_if(ranges, [](const KeyRange& range) { return range.empty(); });
  std::sort(ranges.begin(), ranges.end(),
            [](const KeyRange& a, const KeyRange& b) { return a.begin < b.begin; });
  std::vector<KeyRange> merged;
  for (const KeyRange& range : ranges) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

std::vector<KeyRange> SeenKeys(const NormalHstuBatch& batch, int64_t sequence, int64_t first,
                               int64_t queries) {
  std::vector<KeyRange> seen;
  for (int64_t a = first; a < first + queries; ++a) {
    const RowSight sight = SightOf(batch, sequence, a);
    seen.insert(seen.end(), sight.ranges().begin(), sight.ranges().end());
  }
  return Merged(std::move(seen));
}

}  // namespace pagoda

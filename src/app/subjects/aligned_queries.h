// Queries that look at chosen keys, so that a lost one shows in a long context.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "app/subjects/page_layout.h"
#include "base/random.h"
#include "judge/bench/suite.h"
#include "pagoda/softmax.h"

namespace pagoda::app {

inline constexpr int64_t kAlignedKeys = 4;

// What an operator says about alignment. Rows are counted back from a sequence's last one.
struct AlignmentRule {
  // Keys at which a page could get lost, all seen by the row; or nothing.
  std::function<std::optional<std::array<int64_t, kAlignedKeys>>(size_t b, int64_t back)> keys;
  // K of a key.
  std::function<const void*(size_t b, int64_t key, int64_t kv_head)> key_at;
  // The multiple of the key, `length` its squared length, that makes it count among the others in the row,
  // beside `together` keys in one query.
  std::function<double(size_t b, int64_t back, int64_t head, int64_t key, double length, int64_t together)>
      factor;
};

// Overwrites, in the last query row of each sequence that sees a key, the queries of up to four heads, spread
// over the kv heads, one for each of the rule's keys. With fewer than four heads, earlier rows help, then one
// query is aligned with several keys. Returns the rows.
std::vector<int64_t> AlignQueries(const judge::CaseSpec& spec, const TensorView& q,
                                  const AlignmentRule& rule);

// The first of `keys`, one in its middle page, one in its last full page and the last, pages of the cache.
std::array<int64_t, kAlignedKeys> KeysAcrossPages(int64_t first, int64_t end, int64_t page_size,
                                                  Random& random);

// The rule of softmax: each of the keys takes a good part of its row's weight.
std::vector<int64_t> AlignSoftmaxQueries(const judge::CaseSpec& spec, const PageLayout& layout,
                                         const SoftmaxCall& call, Random random);

}  // namespace pagoda::app

#include "engine/attention/hstu/mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <span>
#include <vector>

#include "engine/attention/hstu/arbitrary.h"
#include "engine/attention/hstu/visible.h"
#include "engine/index_tensor.h"

namespace pagoda::testing {
namespace {

using ::testing::ElementsAre;

// A contiguous batch; `bounds` of each query row for interval masks.
NormalHstuBatch NormalOf(const HstuParams& params, const std::vector<Lengths>& sequences,
                         const std::vector<std::vector<int64_t>>& bounds = {}) {
  std::vector<int64_t> q_begin = {0};
  std::vector<int64_t> k_begin = {0};
  std::vector<int64_t> targets;
  std::vector<int64_t> contextuals;
  for (const Lengths& s : sequences) {
    q_begin.push_back(q_begin.back() + s.queries);
    k_begin.push_back(k_begin.back() + s.keys);
    targets.push_back(s.targets);
    contextuals.push_back(s.contextuals);
  }
  std::vector<int64_t> flat;
  for (const auto& row : bounds) flat.insert(flat.end(), row.begin(), row.end());
  const auto width = bounds.empty() ? 1 : std::ssize(bounds[0]);
  const IndexTensor q(q_begin);
  const IndexTensor k(k_begin);
  const IndexTensor t(targets, DType::kI64, -2);
  const IndexTensor c(contextuals);
  const IndexTensor intervals(flat, std::ssize(bounds), width, DType::kI64, width + 1, 1);
  HstuBatch batch;
  batch.q_heads = batch.kv_heads = batch.head_dim = batch.head_dim_v = 1;
  batch.seq_offsets = q.view();
  batch.seq_offsets_k = k.view();
  batch.num_targets = t.view();
  batch.num_contextuals = c.view();
  if (params.mask == HstuMask::kInterval) batch.interval_mask = intervals.view();
  batch.params = params;
  return Normalise(batch);
}

// What every list of ranges has to be: not empty, ascending, apart, within the keys.
void CheckShape(std::span<const KeyRange> ranges, int64_t keys) {
  int64_t after = -1;
  for (const KeyRange& range : ranges) {
    RC_ASSERT(range.begin > after);
    RC_ASSERT(range.end > range.begin);
    RC_ASSERT(range.end <= keys);
    after = range.end;
  }
}

std::vector<bool> AsBits(std::span<const KeyRange> ranges, int64_t keys) {
  std::vector<bool> bits(static_cast<size_t>(keys), false);
  for (const KeyRange& range : ranges) {
    for (int64_t j = range.begin; j < range.end; ++j) bits[j] = true;
  }
  return bits;
}

RC_GTEST_PROP(HstuMaskProperty, RangesAreTheKeysThatTheDefinitionShows, ()) {
  constexpr int64_t kKeys = 24;
  const HstuParams params = ArbitraryParams(kKeys);
  std::vector<Lengths> sequences(24);
  std::vector<std::vector<int64_t>> bounds;
  const int64_t width = 2 * *rc::gen::inRange<int64_t>(0, 4) + 1;
  for (Lengths& s : sequences) {
    s = ArbitraryLengths(params, kKeys, false);
    for (int64_t a = 0; a < s.queries; ++a) bounds.push_back(ArbitraryBounds(width, s.keys));
  }
  const NormalHstuBatch batch = NormalOf(params, sequences, bounds);
  int64_t row = 0;
  for (size_t b = 0; b < sequences.size(); ++b) {
    const Lengths& s = sequences[b];
    const auto sequence = static_cast<int64_t>(b);
    std::vector<std::vector<bool>> seen;
    for (int64_t a = 0; a < s.queries; ++a, ++row) {
      std::vector<bool> want;
      for (int64_t j = 0; j < s.keys; ++j)
        want.push_back(Visible(params, s, s.keys - s.queries + a, j, bounds[row]));
      const RowSight sight = SightOf(batch, sequence, a);
      CheckShape(sight.ranges(), s.keys);
      RC_ASSERT(AsBits(sight.ranges(), s.keys) == want);
      for (int64_t begin = 0; begin < s.keys; ++begin) {
        bool any = false;
        bool all = true;
        for (int64_t end = begin + 1; end <= s.keys; ++end) {
          any = any || want[end - 1];
          all = all && want[end - 1];
          RC_ASSERT(sight.SeesAny({begin, end}) == any);
          RC_ASSERT(sight.SeesAll({begin, end}) == all);
        }
      }
      seen.push_back(want);
    }
    const int64_t first = *rc::gen::inRange<int64_t>(0, s.queries + 1);
    const int64_t count = *rc::gen::inRange<int64_t>(0, s.queries - first + 1);
    std::vector<bool> some(static_cast<size_t>(s.keys), false);
    for (int64_t a = first; a < first + count; ++a) {
      for (int64_t j = 0; j < s.keys; ++j) some[j] = some[j] || seen[a][j];
    }
    const std::vector<KeyRange> together = SeenKeys(batch, sequence, first, count);
    CheckShape(together, s.keys);
    RC_ASSERT(AsBits(together, s.keys) == some);
  }
}

// Beside the property, a few that can be followed on paper.
TEST(HstuMask, ATargetSeesTheHistoryAndItsOwnGroup) {
  HstuParams p;
  p.max_seq_len = 1;
  p.target_group_size = 2;
  const NormalHstuBatch batch = NormalOf(p, {{.queries = 5, .keys = 8, .targets = 5}});
  EXPECT_THAT(SightOf(batch, 0, 0).ranges(), ElementsAre(KeyRange{0, 4}));
  EXPECT_THAT(SightOf(batch, 0, 1).ranges(), ElementsAre(KeyRange{0, 5}));
  EXPECT_THAT(SightOf(batch, 0, 2).ranges(), ElementsAre(KeyRange{0, 3}, KeyRange{5, 6}));
  EXPECT_THAT(SightOf(batch, 0, 4).ranges(), ElementsAre(KeyRange{0, 3}, KeyRange{7, 8}));
  EXPECT_THAT(SeenKeys(batch, 0, 2, 2), ElementsAre(KeyRange{0, 3}, KeyRange{5, 7}));
}

TEST(HstuMask, AContextualRowSeesTheWholeHistoryWhateverTheWindow) {
  HstuParams p;
  p.max_seq_len = 1;
  p.window_left = 1;
  const NormalHstuBatch batch = NormalOf(p, {{.queries = 6, .keys = 6, .targets = 1, .contextuals = 2}});
  EXPECT_THAT(SightOf(batch, 0, 1).ranges(), ElementsAre(KeyRange{0, 5}));
  EXPECT_THAT(SightOf(batch, 0, 2).ranges(), ElementsAre(KeyRange{1, 3}));
}

TEST(HstuMask, MaxAttnLenPutsAllTargetsWhereTheHistoryEnds) {
  HstuParams p;
  p.max_seq_len = 1;
  p.max_attn_len = 2;
  const NormalHstuBatch batch = NormalOf(p, {{.queries = 7, .keys = 7, .targets = 2}});
  EXPECT_THAT(SightOf(batch, 0, 4).ranges(), ElementsAre(KeyRange{2, 5}));
  EXPECT_THAT(SightOf(batch, 0, 6).ranges(), ElementsAre(KeyRange{3, 5}, KeyRange{6, 7}));
}

TEST(HstuMask, ListedIntervalsMayBeEmptyOverlapOrReachPastTheKeys) {
  HstuParams p;
  p.max_seq_len = 1;
  p.mask = HstuMask::kInterval;
  const NormalHstuBatch batch =
      NormalOf(p, {{.queries = 4, .keys = 6}},
               {{2, 4, 4, 5, 99}, {-3, 1, 3, 2, 4}, {0, 3, 1, 9, 12}, {6, 0, 6, 0, 6}});
  EXPECT_THAT(SightOf(batch, 0, 0).ranges(), ElementsAre(KeyRange{0, 2}, KeyRange{5, 6}));
  EXPECT_THAT(SightOf(batch, 0, 1).ranges(), ElementsAre(KeyRange{1, 4}));
  EXPECT_THAT(SightOf(batch, 0, 2).ranges(), ElementsAre());
  EXPECT_THAT(SightOf(batch, 0, 3).ranges(), ElementsAre(KeyRange{0, 6}));
}

}  // namespace
}  // namespace pagoda::testing

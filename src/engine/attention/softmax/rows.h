// The unit of work that all variants share: a block of query rows over one or more kv heads, fed with tiles
// of keys.
//
// A block's rows are the (query, head of the group) pairs that read the same K and V: row i of a kv head is
// query first_query + i / group, query head head * group + i % group. With few rows K and V are read in
// place, with many they are loaded once and multiplied (see kernels.h); a block's result depends on its rows
// and tiles alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/attention/kernels/kernels.h"
#include "engine/attention/keys.h"
#include "engine/attention/variant.h"

namespace pagoda {

// Rows of a score matrix that the online softmax has at a time: with a tile's keys they fit in L1.
inline constexpr int64_t kScoreRows = 64;

struct RowBlock {
  int64_t sequence = 0;
  int64_t first_query = 0;  // within the sequence
  int64_t queries = 0;
  int64_t first_head = 0;  // kv heads
  int64_t heads = 0;
  bool widen = false;  // takes the many-row loops however few rows it has
};

// The keys that some query of [first_query, first_query + queries) sees.
KeyRange VisibleKeys(const NormalBatch& batch, int64_t sequence, int64_t first_query, int64_t queries);

// A score matrix. Few rows: element (head, row, key) at head * head_stride + row * ld + key. Many rows: at
// head * head_stride + key * ld + row.
struct ScoreMatrix {
  float* data = nullptr;
  int64_t ld = 0;
  int64_t head_stride = 0;
};

// Sizes of a block's scratch, for blocks of up to `queries` queries over `heads` heads and tiles of
// `tile_keys`.
class RowLayout {
 public:
  RowLayout() = default;
  RowLayout(const NormalBatch& batch, const AttentionKernels& kernels, int64_t queries, int64_t heads,
            int64_t tile_keys);

  size_t bytes() const { return bytes_; }  // of one scratch, a multiple of 64
  // Floats of one row of a stored partial state: the accumulator, then max and sum.
  int64_t partial_ld() const { return acc_ld_ + lanes_; }
  // Floats of a score matrix of `keys` keys for a block of `rows` rows and `heads` heads; its data is the
  // caller's.
  int64_t ScoreFloats(int64_t rows, int64_t heads, int64_t keys) const;
  ScoreMatrix Scores(float* data, int64_t rows, int64_t keys) const;

 private:
  friend class RowWork;
  int64_t lanes_ = 0, q_ld_ = 0, acc_ld_ = 0, tile_keys_ = 0;
  size_t q_ = 0, scores_ = 0, acc_ = 0, states_ = 0, sights_ = 0, windows_ = 0, factors_ = 0, k_tile_ = 0,
         v_tile_ = 0;
  size_t bytes_ = 0;
};

// One call's tensors beside the plan's batch: what every task of a run needs.
struct RowContext {
  const AttentionKernels& kernels;
  const NormalBatch& batch;
  const SoftmaxCall& call;
  PagedKvView kv;  // the call's pointers with the plan's geometry
};

RowContext MakeRowContext(const AttentionKernels& kernels, const NormalBatch& batch, const SoftmaxCall& call);

// Copies K and V of a sequence's keys from one cache to another.
void CopyKeys(const RowContext& from, const RowContext& to, int64_t sequence, KeyRange keys);

// A block in progress. The object is a handful of pointers; what it knows lies in its scratch, so that the
// steps of one block may run in different tasks.
class RowWork {
 public:
  // Packs the block's rows of q into `scratch` (layout.bytes(), 64-byte aligned) and empties its state.
  static RowWork Start(const RowContext& context, const RowLayout& layout, const RowBlock& block,
                       std::byte* scratch);
  // The same without q: for a block that only merges and stores.
  static RowWork StartEmpty(const RowContext& context, const RowLayout& layout, const RowBlock& block,
                            std::byte* scratch);
  // Goes on with what an earlier object left in `scratch`.
  static RowWork Resume(const RowContext& context, const RowLayout& layout, const RowBlock& block,
                        std::byte* scratch) {
    return {context, layout, block, scratch};
  }

  // Online softmax over `keys` (at most the layout's tile). With `ask_ahead` it asks memory for what it reads
  // next while it computes: with few rows for V, then for K of `next`; with many for K and V of `next`.
  void Attend(KeyRange keys, KeyRange next, bool ask_ahead);

  // Its three steps, over a score matrix of the caller's: q.k, exp(score - max) in place, accumulator +=
  // weights.v.
  void Scores(KeyRange keys, const ScoreMatrix& scores);
  void Weights(KeyRange keys, const ScoreMatrix& scores);
  void Values(KeyRange keys, const ScoreMatrix& weights);

  // out and lse of the block's rows, sinks counted.
  void StoreOutput() const;
  // The unnormalised state: row i of head h at partial + (h * rows() + i) * partial_ld.
  void StorePartial(float* partial) const;
  // Merges `count` stored states, `stride` floats apart, into this one, in that order.
  void MergePartials(const float* partials, int64_t count, int64_t stride);
  // Empties the state.
  void Clear();

  int64_t rows() const { return rows_; }
  bool few() const { return rows_ <= kFewRows && !block_.widen; }

 private:
  friend class RowLayout;
  // What a row sees, for the whole call.
  struct Sight {
    int64_t begin, end;  // keys
    int64_t position;    // r
    float slope;
  };
  // Rows of one head. `begin` is a multiple of the table's lanes.
  struct RowRange {
    int64_t begin, end;
  };
  RowWork(const RowContext& context, const RowLayout& layout, const RowBlock& block, std::byte* scratch);

  int64_t state_rows() const { return block_.heads * rows_; }
  void PackQ(int64_t head, int64_t row, const void* from);
  KeyRun RunOf(int64_t key, int64_t end, int64_t head, int64_t heads, bool value) const;
  bool SetWindows(KeyRange keys);  // whether some row's window is not the whole range
  float* Acc(int64_t head, int64_t row) const;

  // --- few rows, all heads
  void ScoresOfFew(KeyRange keys, const ScoreMatrix& scores, bool ask_ahead) const;
  void WeightsOfFew(KeyRange keys, const ScoreMatrix& scores);
  void ValuesOfFew(KeyRange keys, const ScoreMatrix& weights, KeyRange ask_for);

  // --- many rows, one head. A tile is loaded, then multiplied with some rows: its first `keys` keys, whose
  // scores begin at `scores` with those of its first key and the first of `rows`.
  void AttendMany(KeyRange tile, KeyRange next, bool ask_ahead);
  RowRange SeeingRows(KeyRange keys) const;
  void LoadKeys(KeyRange tile, int64_t head) const;
  void LoadValues(KeyRange tile, int64_t head) const;
  void ScoresOfRows(int64_t keys, int64_t head, RowRange rows, float* scores, int64_t ld,
                    const PrefetchRuns& ahead = {}) const;
  void WeightsOfRows(int64_t keys, int64_t head, RowRange rows, bool edge, float* scores, int64_t ld);
  void ValuesOfRows(KeyRange tile, int64_t keys, int64_t head, RowRange rows, const float* weights,
                    int64_t ld, const PrefetchRuns& ahead = {});
  Prefetch Ahead(KeyRange keys, int64_t head, int64_t heads, bool value) const;
  PrefetchRuns AheadOf(KeyRange keys, int64_t head, bool value) const;

  const RowContext* context_;
  const RowLayout* layout_;
  RowBlock block_;
  int64_t rows_;
  float* q_;
  float* scores_;
  float* acc_;
  RowState* states_;
  Sight* sights_;
  RowWindow* windows_;
  float* factors_;
  float* k_tile_;
  float* v_tile_;
};

}  // namespace pagoda

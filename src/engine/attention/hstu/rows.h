// The unit of work that the HSTU variants share: a block of query rows over one or more kv heads, fed with
// tiles of keys. Partial results add up: there is no maximum and no sum to keep.
//
// As in softmax/rows.h, a block's rows are the (query, head of the group) pairs that read the same K and V,
// few rows take the loops that read K and V in place, and many those that load a tile once and multiply.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/attention/hstu/mask.h"
#include "engine/attention/hstu/variant.h"
#include "engine/attention/kernels/kernels.h"
#include "engine/attention/keys.h"

namespace pagoda {

struct HstuBlock {
  int64_t sequence = 0;
  int64_t first_query = 0;  // within the sequence
  int64_t queries = 0;
  int64_t first_head = 0;  // kv heads
  int64_t heads = 0;
};

// One call's tensors beside the plan's batch.
struct HstuContext {
  const AttentionKernels& kernels;
  const NormalHstuBatch& batch;
  const HstuCall& call;
  PagedKvView kv;  // the call's pointers with the plan's geometry
};

HstuContext MakeHstuContext(const NormalHstuBatch& batch, const HstuCall& call);

// K and V of a range of keys that were copied out of the cache, [key][dim] of one kv head.
struct CopiedKeys {
  KeyRange keys;
  void* k = nullptr;
  void* v = nullptr;
};

// Where K or V of keys lie: the longest run from the first of `keys` on, for `heads` kv heads from `head` on.
KeyRun RunOfKeys(const HstuContext& context, int64_t sequence, KeyRange keys, int64_t head, int64_t heads,
                 bool value);

// Sizes of a block's scratch, for blocks of up to `rows` rows per kv head, up to `all_rows` over all their
// heads, and tiles of `tile_keys`.
class HstuLayout {
 public:
  HstuLayout() = default;
  HstuLayout(const NormalHstuBatch& batch, const AttentionKernels& kernels, int64_t rows, int64_t all_rows,
             int64_t tile_keys);

  size_t bytes() const { return bytes_; }         // of one scratch, a multiple of 64
  int64_t partial_ld() const { return acc_ld_; }  // floats of one row of a stored partial result

 private:
  friend class HstuRows;
  int64_t lanes_ = 0, q_ld_ = 0, acc_ld_ = 0;
  size_t q_ = 0, scores_ = 0, acc_ = 0, sights_ = 0, k_tile_ = 0, v_tile_ = 0;
  size_t bytes_ = 0;
};

// A block in progress: a handful of pointers into its scratch.
class HstuRows {
 public:
  // Packs the block's rows of q into `scratch` (layout.bytes(), 64-byte aligned) and starts from 0.
  static HstuRows Start(const HstuContext& context, const HstuLayout& layout, const HstuBlock& block,
                        std::byte* scratch);
  // The same without q: for a block that only adds and stores.
  static HstuRows StartEmpty(const HstuContext& context, const HstuLayout& layout, const HstuBlock& block,
                             std::byte* scratch);

  // Adds what `keys` (at most the layout's tile) contribute, nothing where no row sees any. Where `copied` is
  // given, K and V of them are read there, for a block of one head. Asks memory for what is read next
  // meanwhile: K and V of `next`, or only K where rows are few and keys not copied.
  void Attend(KeyRange keys, KeyRange next = {}, const CopiedKeys* copied = nullptr);

  void StoreOutput() const;
  // Row i of head h at partial + (h * rows() + i) * partial_ld.
  void StorePartial(float* partial) const;
  // Adds `count` stored results, `stride` floats apart, in that order.
  void MergePartials(const float* partials, int64_t count, int64_t stride);
  // Begins again at 0.
  void Clear();

  int64_t rows() const { return rows_; }
  bool few() const { return rows_ <= kFewRows; }

 private:
  struct RowRange {
    int64_t begin, end;
  };
  HstuRows(const HstuContext& context, const HstuLayout& layout, const HstuBlock& block, std::byte* scratch);

  void PackQ(int64_t head, int64_t row, const void* from);
  KeyRun RunOf(KeyRange keys, int64_t head, int64_t heads, bool value) const;
  Prefetch Ahead(KeyRange keys, int64_t head, int64_t heads, bool value) const;
  PrefetchRuns AheadOf(KeyRange keys, int64_t head, bool value) const;
  const RowSight& SightOfRow(int64_t row) const { return sights_[row / context_->batch.group]; }
  RowRange SeeingRows(KeyRange keys) const;
  int64_t QueryHead(int64_t head, int64_t row) const;
  int64_t QueryIndex(int64_t row) const { return block_.first_query + row / context_->batch.group; }

  void AttendFew(KeyRange keys, KeyRange next);
  void AttendMany(KeyRange keys, KeyRange next);
  void Load(KeyRange keys, int64_t head, bool value);  // into k_tile_ or v_tile_
  // Scores of one row become weights: element j at scores[j * step].
  void AddBias(KeyRange keys, int64_t head, int64_t row, float* scores, int64_t step) const;
  void Mask(KeyRange keys, int64_t head, int64_t row, float* weights, int64_t step) const;

  const HstuContext* context_;
  const HstuLayout* layout_;
  const CopiedKeys* copied_ = nullptr;
  HstuBlock block_;
  int64_t rows_;
  float* q_;
  float* scores_;
  float* acc_;
  RowSight* sights_;  // of each query
  float* k_tile_;
  float* v_tile_;
};

}  // namespace pagoda

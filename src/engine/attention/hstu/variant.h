// What an implementation of HSTU attention is, inside the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/attention/keys.h"
#include "engine/attention/variant.h"
#include "pagoda/hstu.h"

namespace pagoda {

// The batch after validation. Keys of a sequence are numbered from 0: `cached` of them lie in pages, the
// others in rows of k and v.
struct NormalHstuBatch {
  int64_t batch = 0;
  int64_t total_q = 0;
  int64_t total_k = 0;  // rows that k and v must have
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  int64_t group = 1;  // q_heads / kv_heads
  int64_t head_dim = 0;
  int64_t head_dim_v = 0;
  DType dtype = DType::kF32;
  bool paged = false;
  PagedKvView kv;                   // geometry, where paged; the pointers of a call may differ
  std::vector<int64_t> q_begin;     // [B+1] first row of q of each sequence
  std::vector<int64_t> kv_len;      // [B] Lk
  std::vector<int64_t> history;     // [B] h = Lk - targets
  std::vector<int64_t> contextual;  // [B]
  std::vector<int64_t> cached;      // [B] keys in pages
  int64_t longest_q = 0;            // of all sequences
  int64_t longest_k = 0;
  bool any_target = false;
  std::vector<int64_t> k_begin;     // [B] the row of k and v that holds key `cached`
  std::vector<int64_t> page_begin;  // [B+1] first entry of page_ids of each sequence
  std::vector<int64_t> page_ids;    // every id is in [0, kv.num_pages)
  // Interval masks: what row i sees is intervals[interval_begin[i], interval_begin[i + 1]), ascending, apart
  // from each other and within Lk.
  std::vector<int64_t> interval_begin;
  std::vector<KeyRange> intervals;
  HstuMask mask = HstuMask::kCausal;
  float alpha = 1;
  float scale = 1;  // s
  int64_t group_size = 1;
  int64_t window_left = -1;
  int64_t window_right = -1;
  int64_t max_attn_len = 0;
  int64_t min_full_attn_seq_len = 0;

  int64_t q_len(int64_t b) const { return q_begin[b + 1] - q_begin[b]; }
  // r of the sequence's first row.
  int64_t first_position(int64_t b) const { return kv_len[b] - q_len(b); }
};

// A plan's base; the numbers here are what RunHstu checks in O(1).
class HstuPlanImpl {
 public:
  virtual ~HstuPlanImpl() = default;
  const HstuVariant* variant = nullptr;
  int threads = 1;
  size_t workspace_bytes = 0;
  NormalHstuBatch batch;
  Traffic traffic;
  Work work;
};

class HstuVariant {
 public:
  std::string_view name;
  std::string_view summary;  // one line for `pagoda list variants`
  uint32_t promises = 0;     // of Promise
  // Name of a variant whose output has the same bits, or empty.
  std::string_view same_bits_as;
  // The batch is validated. Sets `workspace_bytes`, `traffic` and what is its own. May carry what it was made
  // from: an external program. `run` finds that in its plan.
  std::function<std::unique_ptr<HstuPlanImpl>(const NormalHstuBatch&, int threads, const HstuPlanOptions&)>
      plan;
  void (*run)(const HstuPlanImpl&, const HstuCall&, std::span<std::byte> workspace, ThreadPool&) = nullptr;
};

// Validates every field of the batch. Throws Error naming it ("num_targets[3] = 9 is more than the 7 rows of
// sequence 3").
NormalHstuBatch Normalise(const HstuBatch& batch);
// rab and the dense mask of a call: their shapes, and that the mask is there where it is needed. Throws
// Error(rab) or Error(mask).
void CheckPairTensors(const NormalHstuBatch& batch, const HstuCall& call);

extern const HstuVariant kHstuGatherSerial;
extern const HstuVariant kHstuGatherPipelined;
extern const HstuVariant kHstuFused;
extern const HstuVariant kHstuAuto;

}  // namespace pagoda

// HSTU attention: SiLU in place of softmax, over a paged KV cache or contiguous keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "pagoda/paged_kv.h"
#include "pagoda/tensor.h"
#include "pagoda/thread_pool.h"

namespace pagoda {

// Which rule says what a row sees. Targets, contextual rows, windows and max_attn_len refine kCausal; a
// window refines kNone too; kDense and kInterval decide alone.
enum class HstuMask : uint8_t {
  kNone,      // every key
  kCausal,    // keys up to the row itself
  kDense,     // HstuCall::mask multiplies the weights
  kInterval,  // HstuBatch::interval_mask lists the keys
};

// out_i = sum over j of m_ij * s * SiLU(alpha * (q_i.k_j + rab_ij)) * v_j, with SiLU(x) = x / (1 + e^-x).
// Query row a of a sequence stands at position r = Lk - Lq + a; its last num_targets keys are targets and the
// h = Lk - num_targets before them its history.
struct HstuParams {
  HstuMask mask = HstuMask::kCausal;
  float alpha = 1;
  float silu_scale = 0;     // s; 0: 1 / max_seq_len
  int64_t max_seq_len = 0;  // of the model, so that a batch doesn't change a result; unused when s is given
  // A target sees the history and, causally, the targets of its own group of so many.
  int64_t target_group_size = 1;
  int64_t window_left = -1;   // keys before r that a row sees; -1: unbounded
  int64_t window_right = -1;  // keys after r that it sees, where the mask lets it; -1: unbounded
  // A row sees so many keys before it, 0: all. All targets stand where the history ends, all contextual keys
  // just before the first key behind them.
  int64_t max_attn_len = 0;
  // The last so many rows of the history, and the targets, see all of it nevertheless. Nothing without
  // max_attn_len.
  int64_t min_full_attn_seq_len = 0;
};

// The shape of a batch: what a plan is made from.
struct HstuBatch {
  DType dtype = DType::kF32;  // of q, k, v and the cache: f32, f16 or bf16
  int64_t q_heads = 0;        // a multiple of kv_heads
  int64_t kv_heads = 0;
  int64_t head_dim = 0;    // of q and k
  int64_t head_dim_v = 0;  // of v and the output
  TensorView seq_offsets;  // [B+1], i32 or i64: the rows of q that belong to each sequence
  // Contiguous keys: the rows of k and v of each sequence; empty: the same as of q. Not with pages.
  TensorView seq_offsets_k;
  // Paged keys: the pages hold the whole history, and Lk = kv_len + num_targets. Without a table keys are
  // contiguous. The pointers of `kv` may differ in a later call.
  PagedKvView kv;
  PageTable table;
  TensorView num_targets;      // [B], i32 or i64; empty: none
  TensorView num_contextuals;  // [B], i32 or i64: rows that see the whole history and no target; empty: none
  // [total_q, F], i32 or i64, F odd: row sees [0, f0), [f1, f2), ... A key counts once, past Lk is cut off.
  TensorView interval_mask;
  HstuParams params;

  bool paged() const { return table.is_csr() || !table.block_table.empty(); }
};

// One call. q, k, v and out are dense in their last dimension.
struct HstuCall {
  TensorView q;  // [total_q, Hq, D]
  // [rows, Hk, D] and [rows, Hk, Dv]. Paged: rows as those of q, of which only each sequence's last
  // num_targets are read; may be empty where there are no targets.
  TensorView k, v;
  PagedKvView kv;  // paged: same geometry as in the plan
  TensorView out;  // [total_q, Hq, Dv] f32, f16 or bf16
  // f32 [B or 1, Hq or 1, Lq or more, Lk or more], by any strides: element (b, h, a, j) for query row a of
  // its sequence and key j. What lies past a sequence's own Lq and Lk may be anything.
  TensorView rab;   // added to q.k; or empty
  TensorView mask;  // kDense: factors
};

struct HstuPlanOptions {
  int64_t staging_bytes = 16 << 10;  // through which variants that copy pages do so
};

class HstuVariant;  // an implementation; see src/engine/attention/hstu/variant.h

// All variants, in the order in which `pagoda list variants` shows them.
std::span<const HstuVariant* const> HstuVariants();
// Null when there is none of that name.
const HstuVariant* FindHstuVariant(std::string_view name);
std::string_view NameOf(const HstuVariant& variant);

class HstuPlanImpl;

// How a variant splits the work of a batch. Holds its own copy of all index tensors. Movable, immutable,
// usable from any thread.
class HstuPlan {
 public:
  explicit HstuPlan(std::unique_ptr<const HstuPlanImpl> impl);
  HstuPlan(HstuPlan&&) noexcept;
  HstuPlan& operator=(HstuPlan&&) noexcept;
  ~HstuPlan();

  size_t workspace_bytes() const;  // what RunHstu needs, 64-byte aligned
  const HstuPlanImpl& impl() const { return *impl_; }

 private:
  std::unique_ptr<const HstuPlanImpl> impl_;
};

// Validates the batch once and splits its work for a pool of `threads`. Throws Error naming the field: a
// value that can't be right, a combination that has no meaning, or kUnsupported when the variant does not do
// this.
HstuPlan PlanHstu(const HstuVariant& variant, const HstuBatch& batch, int threads,
                  const HstuPlanOptions& options = {});

// Computes `call`. O(1) check that it fits the plan; throws Error naming the field. Allocates nothing.
void RunHstu(const HstuPlan& plan, const HstuCall& call, std::span<std::byte> workspace, ThreadPool& pool);

}  // namespace pagoda

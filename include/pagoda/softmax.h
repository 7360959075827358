// Softmax attention over a paged KV cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pagoda/paged_kv.h"
#include "pagoda/thread_pool.h"

namespace pagoda {

// Which keys a query row sees and how a score is shaped. Query row a of a sequence stands at position
// r = kv_len - Lq + a, and score(j) = scale * q.k_j, then softcap, then ALiBi.
struct SoftmaxParams {
  std::optional<float> scale;  // unset: 1/sqrt(head_dim)
  bool causal = true;          // row r sees key j when j <= r
  int64_t window_left = -1;    // keys before r that it sees; -1: unbounded
  int64_t window_right = -1;   // keys after r that it sees; -1: unbounded
  float softcap = 0;           // c > 0: c * tanh(score / c)
};

// The shape of a batch: what a plan is made from. Layers that share it share the plan.
struct SoftmaxBatch {
  int64_t q_heads = 0;  // a multiple of the cache's kv_heads
  TensorView q_indptr;  // [B+1], i32 or i64: the rows of q that belong to each sequence
  PagedKvView kv;       // geometry; the pointers may differ in a later call
  PageTable table;
  SoftmaxParams params;
};

// One call. Every tensor is dense in its last dimension; q has the dtype of the cache.
struct SoftmaxCall {
  TensorView q;             // [total_q, Hq, D]
  PagedKvView kv;           // same geometry as in the plan
  TensorView out;           // [total_q, Hq, Dv] f32, f16 or bf16
  TensorView lse;           // [total_q, Hq] f32, natural log, counts the sink; or empty
  TensorView alibi_slopes;  // [Hq] f32, or empty: adds slope * (j - r)
  TensorView sinks;         // [Hq] f32, or empty: one more logit in the denominator
};

class SoftmaxVariant;  // an implementation; see src/engine/attention/variant.h

// All variants, in the order in which `pagoda list variants` shows them.
std::span<const SoftmaxVariant* const> SoftmaxVariants();
// Null when there is none of that name.
const SoftmaxVariant* FindSoftmaxVariant(std::string_view name);
std::string_view NameOf(const SoftmaxVariant& variant);

class SoftmaxPlanImpl;

// How a variant splits the work of a batch. Holds its own copy of the page table, so the tensors that it was
// made from may go. Movable, immutable, usable from any thread.
class SoftmaxPlan {
 public:
  explicit SoftmaxPlan(std::unique_ptr<const SoftmaxPlanImpl> impl);
  SoftmaxPlan(SoftmaxPlan&&) noexcept;
  SoftmaxPlan& operator=(SoftmaxPlan&&) noexcept;
  ~SoftmaxPlan();

  size_t workspace_bytes() const;  // what RunSoftmax needs, 64-byte aligned
  const SoftmaxPlanImpl& impl() const { return *impl_; }

 private:
  std::unique_ptr<const SoftmaxPlanImpl> impl_;
};

// Validates the batch once and splits its work. `threads` is the size of the pool that will run it; results
// of variants that promise it do not depend on it. Throws Error naming the field, or kUnsupported when the
// variant does not do this.
SoftmaxPlan PlanSoftmax(const SoftmaxVariant& variant, const SoftmaxBatch& batch, int threads);

// Computes `call`. O(1) check that it fits the plan; throws Error naming the field. Allocates nothing.
void RunSoftmax(const SoftmaxPlan& plan, const SoftmaxCall& call, std::span<std::byte> workspace,
                ThreadPool& pool);

// Merges two partial results of the same rows over disjoint keys, in place in (out_a, lse_a): all f32,
// out [rows, dim], lse [rows] natural log. Exact when either state is empty (lse = -inf). FlashInfer's
// "state".
void MergeSoftmaxStates(std::span<float> out_a, std::span<float> lse_a, std::span<const float> out_b,
                        std::span<const float> lse_b, int64_t dim);

// A natural-log LSE in base 2.
inline float LseToBase2(float lse) { return lse * 1.4426950408889634f; }

}  // namespace pagoda

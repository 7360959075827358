// What an implementation of softmax attention is, inside the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/softmax.h"

namespace pagoda {

// What a variant promises about its results; a test finds the bearers and holds them to it.
enum Promise : uint32_t {
  kRepeatable = 1,       // the same call again gives the same bits
  kThreadInvariant = 2,  // the same bits with any number of threads
  kBatchInvariant = 4,   // a sequence's bits do not depend on the other sequences of the batch
};

// The batch after validation: lengths and page ids as plain arrays, parameters resolved. Every variant plans
// from this and nothing else.
struct NormalBatch {
  int64_t batch = 0;
  int64_t total_q = 0;
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  int64_t group = 1;  // q_heads / kv_heads
  int64_t head_dim = 0;
  int64_t head_dim_v = 0;
  PagedKvView kv;                   // geometry; the pointers of a call may differ
  std::vector<int64_t> q_begin;     // [B+1] first row of q of each sequence
  std::vector<int64_t> kv_len;      // [B] keys of each sequence
  std::vector<int64_t> page_begin;  // [B+1] first entry of page_ids of each sequence
  std::vector<int64_t> page_ids;    // every id is in [0, kv.num_pages)
  float scale = 1;
  bool causal = true;
  int64_t window_left = -1;
  int64_t window_right = -1;
  float softcap = 0;

  int64_t q_len(int64_t b) const { return q_begin[b + 1] - q_begin[b]; }
};

// Yes, or the reason why not.
struct Support {
  bool ok = true;
  std::string field;
  std::string reason;
  static Support Yes() { return {}; }
  static Support Everything(const NormalBatch& /*batch*/) { return {}; }
  static Support No(std::string field, std::string reason) {
    return {false, std::move(field), std::move(reason)};
  }
};

// What the formula in a variant's header comment gives for one call of a plan: exact, and compared by a test
// with what the kernels count while they run.
struct Traffic {
  int64_t kv_bytes_read = 0;     // K and V elements that kernels load, wherever they lie by then
  int64_t kv_bytes_written = 0;  // K and V elements copied to a workspace
  int64_t tasks = 0;
  int64_t launches = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

// What a call of a plan does, for the cost model (cost.h): estimates, where Traffic is exact.
struct Work {
  int64_t memory_bytes = 0;  // K and V read from the cache for the first time
  int64_t run_bytes = 0;     // of them that lie together in the order in which they are read
  int64_t moved_bytes = 0;   // copies, scores, partial results, and K and V read again; each way counts
  int64_t moved_within = 0;  // bytes of memory over which one thread does so: the cache that it hits
  int64_t pieces = 0;        // runs of keys that kernels are called for
  double flops = 0;
  int64_t rows = 0;          // per kv head that are multiplied together
  double busiest_share = 1;  // of all this, on the thread with most of it
  bool overlaps = false;     // memory is asked ahead while the rest goes on
};

// A plan's base. Variants derive; the numbers here are what RunSoftmax checks in O(1).
class SoftmaxPlanImpl {
 public:
  virtual ~SoftmaxPlanImpl() = default;
  const SoftmaxVariant* variant = nullptr;
  int threads = 1;
  size_t workspace_bytes = 0;
  NormalBatch batch;
  Traffic traffic;
  Work work;
};

class SoftmaxVariant {
 public:
  std::string_view name;
  std::string_view summary;  // one line for `pagoda list variants`
  uint32_t promises = 0;     // of Promise
  // These two may carry what they were made from: a plug-in's functions. `run` finds it in its plan.
  std::function<Support(const NormalBatch&)> supports;
  // The batch is validated and supported. Sets everything but `variant`, `threads` and `batch`. The batch's
  // arrays stay where they are for as long as the plan.
  std::function<std::unique_ptr<SoftmaxPlanImpl>(const NormalBatch&, int threads)> plan;
  void (*run)(const SoftmaxPlanImpl&, const SoftmaxCall&, std::span<std::byte> workspace,
              ThreadPool&) = nullptr;
};

// Validates every field of the batch. Throws Error naming it ("kv_indices[17] = 4096 is outside 0..1023
// (sequence 3)").
NormalBatch Normalise(const SoftmaxBatch& batch);

}  // namespace pagoda

// HSTU problems for tests: built from a few numbers, run by any variant, compared with the oracle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/attention/hstu/oracle.h"
#include "engine/attention/hstu/variant.h"
#include "engine/attention/hstu/visible.h"
#include "engine/attention/problem.h"
#include "engine/index_tensor.h"
#include "engine/memory.h"
#include "pagoda/hstu.h"

namespace pagoda::testing {

// A tensor with a value for each sequence or one for all, and so for heads.
struct PairForm {
  bool per_sequence = false, per_head = false;
};

struct HstuSpec {
  std::vector<Lengths> sequences;
  bool paged = true;
  int64_t q_heads = 4, kv_heads = 2;
  int64_t head_dim = 64, head_dim_v = 64;
  int64_t page_size = 16;
  DType dtype = DType::kF32;
  bool hnd = false, combined = false, padded = false, index64 = false;
  // Elements between heads and between rows of q, k, v, rab and the dense mask, and between keys of these
  // two.
  int64_t gap = 0;
  std::optional<PairForm> rab;
  PairForm mask;                // of the dense mask
  int64_t interval_bounds = 5;  // F, drawn anew for each row, unless
  std::vector<int64_t> bounds;  // these are those of every row
  HstuParams params;            // without silu_scale and max_seq_len, the longest Lk
  float spread = 1;             // standard deviation of q and k
  uint64_t seed = 2026;
  uint64_t layer = 0;  // other values in all float tensors at the same places

  int64_t longest_q() const;
  int64_t longest_k() const;
  bool any_target() const;
  std::string Describe() const;
};

// Floats, NaN until set, that end where memory ends; shape and strides in elements.
class FloatTensor {
 public:
  FloatTensor() = default;
  // Elements of the last dimension are `step` apart, rows of every dimension before it `gap` further.
  FloatTensor(DType dtype, std::initializer_list<int64_t> shape, int64_t step, int64_t gap);

  const TensorView& view() const { return view_; }
  void Set(int64_t at, float value);  // by offset in elements

 private:
  GuardedMemory memory_{0};
  TensorView view_;
};

// Owns the tensors of one problem. Whatever belongs to nobody holds NaN or garbage: slots, table padding,
// rows of k and v that are no targets, gaps, entries of rab and mask past a sequence's own Lq and Lk.
class HstuProblem {
 public:
  explicit HstuProblem(const HstuSpec& spec);

  const HstuSpec& spec() const { return spec_; }
  const HstuBatch& batch() const { return batch_; }
  const HstuCall& call() const { return call_; }  // without out

 private:
  TensorView MakeIntervals(Random& random);
  void MakePages(Random& random);
  void MakeKeys(Random& random);
  TensorView MakePairs(PairForm form, Random& random);
  TensorView Indices(const std::vector<int64_t>& values);

  HstuSpec spec_;
  std::vector<int64_t> q_begin_ = {0}, k_begin_ = {0}, page_begin_ = {0}, ids_;
  std::vector<std::unique_ptr<FloatTensor>> floats_;
  std::vector<std::unique_ptr<IndexTensor>> indices_;
  HstuBatch batch_;
  HstuCall call_;
};

// Runs a variant with guard bytes round its output and workspace; poisons both with NaN first. Fails the test
// when a guard byte changed. There is no lse.
Result RunHstuVariant(const HstuVariant& variant, const HstuBatch& batch, HstuCall call, int threads,
                      const HstuPlanOptions& options = {});
inline Result RunHstuVariant(const HstuVariant& variant, const HstuProblem& problem, int threads,
                             const HstuPlanOptions& options = {}) {
  return RunHstuVariant(variant, problem.batch(), problem.call(), threads, options);
}

}  // namespace pagoda::testing

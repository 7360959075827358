// Attention problems for tests: built from a few numbers, run by any variant, compared with the oracle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "engine/attention/oracle.h"
#include "engine/attention/variant.h"
#include "pagoda/softmax.h"

namespace pagoda::testing {

struct ProblemSpec {
  std::vector<int64_t> contexts = {33};
  std::vector<int64_t> queries = {1};
  int64_t q_heads = 4, kv_heads = 2;
  int64_t head_dim = 64, head_dim_v = 64;
  int64_t page_size = 16;
  DType dtype = DType::kF32;
  bool hnd = false, combined = false, padded = false, index64 = false;
  SoftmaxParams params;
  bool alibi = false, sinks = false;
  float spread = 1;  // standard deviation of q and k
  uint64_t seed = 2026;
  uint64_t layer = 0;  // other values in q, K and V at the same places

  std::string Describe() const;
};

// Owns the tensors of one problem. Slots that no sequence owns and table padding hold NaN and garbage ids.
class Problem {
 public:
  explicit Problem(const ProblemSpec& spec);

  const ProblemSpec& spec() const { return spec_; }
  const SoftmaxBatch& batch() const { return batch_; }
  SoftmaxCall Call(float* out, float* lse) const;
  void SetQ(int64_t row, int64_t head, int64_t d, float value);
  int64_t out_floats() const { return total_q_ * spec_.q_heads * spec_.head_dim_v; }
  int64_t lse_floats() const { return total_q_ * spec_.q_heads; }

 private:
  ProblemSpec spec_;
  int64_t total_q_ = 0;
  std::vector<std::byte> q_, k_, v_, q_indptr_, table_a_, table_b_, table_c_;
  std::vector<float> slopes_, sinks_;
  TensorView q_view_;
  SoftmaxBatch batch_;
};

struct Result {
  std::vector<float> out, lse;
  bool operator==(const Result&) const = default;
};

// Runs a variant with guard bytes round its output and workspace; poisons both with NaN first.
// Fails the test when a guard byte changed.
Result RunVariant(const SoftmaxVariant& variant, const Problem& problem, int threads);
// The same for any batch; out and lse of `call` are set here.
Result RunVariant(const SoftmaxVariant& variant, const SoftmaxBatch& batch, SoftmaxCall call, int threads);

// Empty when every element is within atol + rtol * |expected|, else the worst one in words.
std::string Mismatch(const Result& got, const OracleResult& want, double atol, double rtol);

// f32 1e-5, f16 1e-3, bf16 8e-3.
double ToleranceOf(DType dtype);

}  // namespace pagoda::testing

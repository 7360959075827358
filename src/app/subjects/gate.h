// Is a variant right? Asked before anything is timed.
#pragma once

#include <cstdint>

#include "app/subjects/compare.h"
#include "app/subjects/kernel_library.h"
#include "app/subjects/operator.h"
#include "engine/attention/oracle.h"
#include "judge/bench/subject.h"

namespace pagoda::app {

template <typename Batch>
using InputsOf = typename OperatorOf<Batch>::Inputs;

// The inputs of a case under one seed and what the oracle says about them. Odd seeds repeat pages.
template <typename Batch>
class GateCaseOf {
 public:
  using Call = typename OperatorOf<Batch>::Call;

  // The oracle's work is shared by `pool` if there is one.
  GateCaseOf(const judge::CaseSpec& spec, uint64_t seed, ThreadPool* pool);

  const judge::CaseSpec& spec() const { return spec_; }
  uint64_t seed() const { return seed_; }
  const InputsOf<Batch>& inputs() const { return inputs_; }
  const OracleResult& reference() const { return reference_; }
  const Tolerance& tolerance() const { return tolerance_; }
  // The same problem with the elements of q in reverse, and some rows of what the oracle says about it.
  const Call& other_call() const { return other_call_; }
  const OracleResult& other_reference() const { return other_reference_; }
  // Whether the inputs of both calls are as they were made.
  bool Intact() const { return Fingerprint() == fingerprint_; }

 private:
  uint64_t Fingerprint() const;

  judge::CaseSpec spec_;
  uint64_t seed_;
  InputsOf<Batch> inputs_;
  OracleResult reference_;
  Tolerance tolerance_;
  Buffer other_q_;
  Call other_call_;
  OracleResult other_reference_;
  uint64_t fingerprint_;
};

using GateCase = GateCaseOf<SoftmaxBatch>;

// The tolerance of a suite's case: its own if it has one, else that of its dtype; scaled by row.
Tolerance ToleranceOf(const judge::CaseSpec& spec);

// The rows of `inputs` that a comparison needs, by the oracle.
template <typename Inputs>
OracleResult Reference(const Inputs& inputs, double max_flops, ThreadPool* pool);

// Runs `variant` until it is found wrong or has passed:
//   - against the oracle, every row finite, with the output poisoned with NaN and guard bytes around output,
//   LSE and workspace;
//   - a call on other queries, which an output kept from the first doesn't answer;
//   - a dozen calls in all, each checked like the first; bitwise where it promises to be repeatable;
//   - a fresh plan against one that was used before;
//   - with 1, 2, 3 and `threads` threads, bitwise where it promises that;
//   - sequences alone, and twice in one batch, against the whole batch, bitwise where it promises that;
//   - bitwise against the variant whose bits it promises;
//   - the inputs are hashed at the start, after the first call, after two in a row, at the end, and when
//     anything else is found wrong; the plan's page table is looked at after each call.
// The result's fault says what is wrong, where, and in which of these. A variant that throws has failed.
// Without `with_lse` the LSE isn't asked for.
template <typename Batch>
judge::GateResult RunGate(const GateCaseOf<Batch>& gate_case, Kernels& kernels,
                          const typename OperatorOf<Batch>::Variant& variant, int threads,
                          bool with_lse = true);

}  // namespace pagoda::app

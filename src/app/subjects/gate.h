// Is a variant right? Asked before anything is timed.
#pragma once

#include <cstdint>

#include "app/subjects/compare.h"
#include "app/subjects/kernel_library.h"
#include "app/subjects/softmax_inputs.h"
#include "engine/attention/oracle.h"
#include "judge/bench/subject.h"

namespace pagoda::app {

// The inputs of a case under one seed and what the oracle says about them. Odd seeds repeat pages.
class GateCase {
 public:
  // The oracle's work is shared by `pool` if there is one.
  GateCase(const judge::CaseSpec& spec, uint64_t seed, ThreadPool* pool);

  const judge::CaseSpec& spec() const { return spec_; }
  uint64_t seed() const { return seed_; }
  const SoftmaxInputs& inputs() const { return inputs_; }
  const OracleResult& reference() const { return reference_; }
  const Tolerance& tolerance() const { return tolerance_; }
  // The same problem with the elements of q in reverse, and some rows of what the oracle says about it.
  const SoftmaxCall& other_call() const { return other_call_; }
  const OracleResult& other_reference() const { return other_reference_; }
  // Whether the inputs of both calls are as they were made.
  bool Intact() const { return Fingerprint() == fingerprint_; }

 private:
  uint64_t Fingerprint() const;

  judge::CaseSpec spec_;
  uint64_t seed_;
  SoftmaxInputs inputs_;
  OracleResult reference_;
  Tolerance tolerance_;
  Buffer other_q_;
  SoftmaxCall other_call_;
  OracleResult other_reference_;
  uint64_t fingerprint_;
};

// The tolerance of a suite's case: its own if it has one, else that of its dtype; scaled by row.
Tolerance ToleranceOf(const judge::CaseSpec& spec);

// The rows of `inputs` that a comparison needs, by the oracle.
OracleResult Reference(const SoftmaxInputs& inputs, double max_flops, ThreadPool* pool);

// Runs `variant` until it is found wrong or has passed:
//   - against the oracle, with the output poisoned with NaN and guard bytes around output, LSE and workspace;
//   - a call on other queries, which an output kept from the first doesn't answer;
//   - a dozen calls in all, each checked like the first; bitwise where it promises to be repeatable;
//   - a fresh plan against one that was used before;
//   - with 1, 2, 3 and `threads` threads, bitwise where it promises that;
//   - sequences alone, and twice in one batch, against the whole batch, bitwise where it promises that;
//   - the inputs are hashed at the start, after the first call, after two in a row, at the end, and when
//     anything else is found wrong; the plan's page table is looked at after each call.
// The result's fault says what is wrong, where, and in which of these. A variant that throws has failed.
// Without `with_lse` the LSE isn't asked for.
judge::GateResult RunGate(const GateCase& gate_case, Kernels& kernels, const SoftmaxVariant& variant,
                          int threads, bool with_lse = true);

}  // namespace pagoda::app

// The message `prepare` of docs/external-variants.md.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "app/subjects/call_inputs.h"
#include "base/buffer.h"

namespace pagoda::app {

// Where a program finds the tensors of a case.
struct ProgramTensors {
  // As CallInputs has them, those of rows dense. K and V have one place in each pool, all in one file;
  // without a place there is no such input.
  std::array<std::vector<FilePlace>, kCallInputs> inputs;
  FilePlace out;  // [total_q, Hq, Dv], dense, of the case's dtype
  std::optional<FilePlace> lse;
};

// Everything of a case but the contents of its tensors; of `call` its ALiBi slopes and sinks.
std::string PrepareMessage(const NormalBatch& batch, const SoftmaxCall& call, int threads,
                           const ProgramTensors& tensors);
// The same of HSTU; of `call` the strides of rab. Throws Error where the message can't say it: a dense or
// interval mask, keys that are not paged.
std::string PrepareMessage(const NormalHstuBatch& batch, const HstuCall& call, int threads,
                           const ProgramTensors& tensors);

}  // namespace pagoda::app

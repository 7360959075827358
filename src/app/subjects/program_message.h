// The message `prepare` of docs/external-variants.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "engine/attention/variant.h"

namespace pagoda::app {

// Where a program finds the tensors of a case.
struct ProgramTensors {
  FilePlace q;               // [total_q, Hq, D], dense
  std::vector<FilePlace> k;  // of each pool, all in one file
  std::vector<FilePlace> v;
  FilePlace out;  // [total_q, Hq, Dv], dense, of the case's dtype
  std::optional<FilePlace> lse;
};

// Everything of a case but the contents of its tensors; of `call` its ALiBi slopes and sinks.
std::string PrepareMessage(const NormalBatch& batch, const SoftmaxCall& call, int threads,
                           const ProgramTensors& tensors);

}  // namespace pagoda::app

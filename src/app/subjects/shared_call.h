// The tensors of one call, copied to where another process reads and writes them.
#pragma once

#include "app/subjects/program_message.h"
#include "base/buffer.h"
#include "engine/attention/variant.h"

namespace pagoda::app {

// Takes no memory until it is filled. K and V keep their strides.
class SharedCall {
 public:
  SharedCall(const NormalBatch& batch, bool with_lse);

  ProgramTensors tensors() const;

  // Copies q, K and V in, and fills output and LSE with NaN.
  void Fill(const SoftmaxCall& call);
  // Throws Fault when an input differs from the call's now, or something was written beside output or LSE.
  void RequireUndamaged(const SoftmaxCall& call) const;
  // Copies the output back and, where the call wants it, the LSE.
  void TakeOutput(const SoftmaxCall& call) const;

 private:
  bool with_lse_;
  Buffer q_, k_, v_, out_, lse_;
};

// Throws Fault when something was written beside the buffer's contents; `name` is what it holds.
void RequireWholeGuards(const Buffer& buffer, const char* name);

}  // namespace pagoda::app

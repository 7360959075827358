// The tensors of one call, copied to where another process reads and writes them.
#pragma once

#include <array>

#include "app/subjects/call_inputs.h"
#include "app/subjects/operator.h"
#include "app/subjects/program_message.h"
#include "base/buffer.h"

namespace pagoda::app {

class SharedCall {
 public:
  // Makes room for calls of the shapes of `inputs`, whose output has their dtype. The places stay as long as
  // the shapes, and take no memory until they are filled.
  void MakeRoom(const CallInputs& inputs, const OutputShape& out, bool with_lse);

  ProgramTensors tensors() const;

  // Copies the inputs in, and fills output and LSE with NaN.
  void Fill(const CallInputs& inputs);
  // Throws Fault when an input differs from the call's now, or something was written beside output or LSE.
  void RequireUndamaged(const CallInputs& inputs) const;
  // Copies the output [total_q, Hq, Dv] back and, where it is not empty, the LSE [total_q, Hq].
  void TakeOutput(const TensorView& out, const TensorView& lse) const;

 private:
  std::array<Buffer, kCallInputs> inputs_;
  Buffer out_, lse_;
};

// Throws Fault when something was written beside the buffer's contents; `name` is what it holds.
void RequireWholeGuards(const Buffer& buffer, const char* name);

}  // namespace pagoda::app

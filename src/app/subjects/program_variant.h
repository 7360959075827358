// An external program as a variant of each operator that it computes.
#pragma once

#include <optional>
#include <string>

#include "app/subjects/kernel_library.h"
#include "app/subjects/operator.h"
#include "app/subjects/program.h"
#include "engine/attention/hstu/variant.h"
#include "engine/attention/variant.h"
#include "judge/bench/suite.h"

namespace pagoda::app {

// A process of the program, and a library whose only variants, one for each operator, compute by asking it:
// every call is copied to shared memory, computed there and copied back, which is for proving it right and
// not for timing. Outlives its plans.
class ProgramVariant {
 public:
  // Starts the program. Throws Fault.
  explicit ProgramVariant(const ProgramCommand& command);
  ProgramVariant(const ProgramVariant&) = delete;
  ProgramVariant& operator=(const ProgramVariant&) = delete;

  Program& program() { return program_; }
  // Its variants have the program's name.
  Kernels& kernels() { return kernels_; }

  // Whether the program computes the case, which it is asked unless its hello says no already: nothing if so,
  // else the reason. Throws Fault.
  std::optional<std::string> WhyNot(const judge::CaseSpec& spec);

 private:
  template <typename Batch>
  typename OperatorOf<Batch>::Variant VariantOf();
  template <typename Batch>
  std::optional<std::string> WhyNotOf(const judge::CaseSpec& spec);
  // Of the variants of the operators that its hello lists.
  KernelLibrary Library() const;

  ProgramCommand command_;
  Program program_;
  SoftmaxVariant softmax_;
  HstuVariant hstu_;
  const SoftmaxVariant* only_softmax_ = &softmax_;
  const HstuVariant* only_hstu_ = &hstu_;
  KernelLibrary library_;
  Kernels kernels_;
};

}  // namespace pagoda::app

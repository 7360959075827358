// An external program as a variant of softmax attention.
#pragma once

#include <optional>
#include <string>

#include "app/subjects/kernel_library.h"
#include "app/subjects/program.h"
#include "engine/attention/variant.h"
#include "judge/bench/suite.h"

namespace pagoda::app {

// A process of the program, and a library whose only variant computes by asking it: every call is copied to
// shared memory, computed there and copied back, which is for proving it right and not for timing. Outlives
// its plans.
class ProgramVariant {
 public:
  // Starts the program. Throws Fault.
  explicit ProgramVariant(const ProgramCommand& command);
  ProgramVariant(const ProgramVariant&) = delete;
  ProgramVariant& operator=(const ProgramVariant&) = delete;

  Program& program() { return program_; }
  Kernels& kernels() { return kernels_; }
  const SoftmaxVariant& variant() const { return variant_; }

  // Asks the program whether it computes the case: nothing if so, else the reason. Throws Fault.
  std::optional<std::string> WhyNot(const judge::CaseSpec& spec);

 private:
  KernelLibrary LibraryOfOne() const;

  ProgramCommand command_;
  Program program_;
  SoftmaxVariant variant_;
  const SoftmaxVariant* only_ = &variant_;
  KernelLibrary library_;
  Kernels kernels_;
};

}  // namespace pagoda::app

// What the judge measures, seen from the judge: arms that can be run n times, and nothing of what they
// compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/bench/suite.h"

namespace pagoda::judge {

// One implementation in one link of its library. The null arm is the baseline's name with link 1.
struct ArmId {
  std::string variant;
  int link = 0;  // 0: the library, 1: the same objects linked in another order
  friend bool operator==(const ArmId&, const ArmId&) = default;
};

// Nanoseconds of one epoch (all its calls together).
struct EpochTime {
  double host_ns = 0;    // call to return: validation, plan, submit, run
  double device_ns = 0;  // first worker's start to last worker's end
};

struct CheckResult {
  bool passed = false;
  double max_abs_error = 0;
  std::string fault;  // what is wrong and where; empty when passed
};

// An arm bound to the inputs of one case.
class Arm {
 public:
  virtual ~Arm() = default;
  // Runs `calls` calls one after the other over the rotating inputs.
  virtual EpochTime Run(int64_t calls) = 0;
  // Checks the output that the last timed call left, on the very buffers that were timed.
  virtual CheckResult CheckTimedOutput() = 0;
};

struct PrepareOptions {
  std::vector<ArmId> arms;  // in slot order, already shuffled
  uint64_t seed = 0;        // of inputs, load order and buffer offsets
  int threads = 1;
  bool cold = true;  // rotate inputs over more than the last-level cache
  // Called before anything is done for an arm alone, so that one that hangs or crashes can be named. May be
  // empty.
  std::function<void(size_t slot)> about_to_prepare = {};
};

// What the formulas of the case give.
struct CaseFacts {
  double bytes = 0;         // least bytes from memory for one call
  double flops = 0;         // floating-point operations of one call
  double run_bytes = 0;     // contiguous bytes per page run, which bounds the bandwidth
  double memory_bytes = 0;  // least bytes of memory that timing it takes: inputs, cold copies, an output
};

// One gate run: one variant, one case, one seed.
struct GateResult {
  std::string case_name;
  std::string variant;
  uint64_t seed = 0;
  bool passed = false;
  bool bitwise_repeatable = false;  // with the same plan and with a fresh one
  double max_abs_error = 0;
  std::string fault;
  std::string same_bits_as = {};  // another variant whose very output it gave; empty: promises none
};

// The bridge implements this once per operator.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::vector<std::string> Variants() const = 0;
  // Those of one operator.
  virtual std::vector<std::string> VariantsOf(CaseOp /*op*/) const { return Variants(); }
  // Whether there is a variant of that name, which may be more than Variants() lists: a file's, say. May
  // throw Error naming what is wrong with it.
  virtual bool Has(std::string_view variant) const;
  // Whether the variant runs one of the others, by a choice of its own.
  virtual bool Chooses(std::string_view /*variant*/) const { return false; }
  // Nothing if the variant computes the case, else the reason.
  virtual std::optional<std::string> WhyNot(const CaseSpec& spec, std::string_view variant) const = 0;
  virtual CaseFacts Facts(const CaseSpec& spec) const = 0;
  virtual GateResult Gate(const CaseSpec& spec, std::string_view variant, uint64_t seed, int threads) = 0;
  // Arms in the order of options.arms, all on the same inputs.
  virtual std::vector<std::unique_ptr<Arm>> Prepare(const CaseSpec& spec, const PrepareOptions& options) = 0;
};

}  // namespace pagoda::judge

// A right variant with one thing wrong: what the gate has to catch.
#pragma once

#include <span>
#include <string>

#include "engine/attention/variant.h"
#include "judge/bench/suite.h"

namespace pagoda::faults {

enum class Fault {
  kStaleOutput,     // after the first call leaves the output as it was
  kReplayedOutput,  // repeats what the first call after Reset computed, whatever the inputs
  kZeros,
  kOneNaN,           // in the first row
  kOneWrongElement,  // in the last row, off by a twentieth
  kWindowWider,      // sees one key more on the left
  kWindowNarrower,   // sees one key less on the left
  kCausalOffByOne,   // sees one key more on the right
  kNoTailMask,       // sees the whole last page
  kWritesPastOutput,
  kWritesBeforeOutput,
  kWritesPastWorkspace,
  kMutatedInput,  // writes to a page that nobody owns
  kWrongAfterTenCalls,
  kLastKeyDropped,
  kMiddlePageDropped,
  kPageSwapped,  // one page of one sequence read where another should be
};

std::span<const Fault> AllFaults();
std::string NameOf(Fault fault);

// Nothing to find where the fault changes nothing: no window, full last pages, one page.
bool Applies(Fault fault, const judge::CaseSpec& spec);

// The variant; its state starts anew.
const SoftmaxVariant& Faulty(Fault fault);
// Forgets recorded outputs and call counts of all faulty variants.
void Reset();

}  // namespace pagoda::faults

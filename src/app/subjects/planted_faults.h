// A right variant with one thing wrong: what the gate has to catch, and what proves that it can.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/attention/hstu/variant.h"
#include "engine/attention/variant.h"
#include "judge/bench/suite.h"

namespace pagoda::app {

enum class PlantedFault : unsigned char {
  kStaleOutput,     // after the first call leaves the output as it was
  kReplayedOutput,  // repeats what the first call computed, whatever the inputs
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
  // Of HSTU alone.
  kTargetsShifted,     // K and V of targets read one row too early
  kGroupsIgnored,      // a target sees every target before it
  kContextualIgnored,  // contextual rows see no further than others
  kAttnLenOffByOne,    // sees one place more
  kFullRowsIgnored,    // min_full_attn_seq_len is not obeyed
  kRabIgnored,
};

std::span<const PlantedFault> PlantedFaults();
std::string NameOf(PlantedFault fault);  // "stale_output"

// Nothing to find where the fault changes nothing: no window, full last pages, one page, another operator.
bool Applies(PlantedFault fault, const judge::CaseSpec& spec);

// Small cases; every fault of softmax applies to one of them at least.
std::vector<judge::CaseSpec> PlantedFaultCases();
// The same of HSTU.
std::vector<judge::CaseSpec> HstuFaultCases();

// The variant of softmax. What it keeps from call to call, for all faults together, starts anew.
const SoftmaxVariant& VariantWith(PlantedFault fault);
// The same of HSTU.
const HstuVariant& HstuVariantWith(PlantedFault fault);

}  // namespace pagoda::app

// One launch of one case: which arm runs when, how often, and what was measured. Pure: arms and clock come
// in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "judge/bench/subject.h"

namespace pagoda::judge {

struct ProtocolOptions {
  uint64_t seed = 0;           // of the orders inside the blocks
  double epoch_ns = 2e6;       // least time of an epoch of the fastest arm
  double slow_call_ns = 20e6;  // a case is slow if one call of any arm takes longer
  int blocks = 24;             // wanted
  int least_blocks = 16;       // not cut below, whatever the cap
  int slow_blocks = 6;         // the same two for a slow case
  int least_slow_blocks = 3;
  double cap_ns = 0;             // wanted limit of the time in blocks; 0: none
  int warmup_rounds = 12;        // at most; a round is one epoch of every arm
  double warmup_ns = 2e9;        // no new round starts after this
  double settled_change = 0.02;  // the medians of two windows of rounds differ by at most this
  int least_warmups = 0;         // calls of each arm in the warm-up, whatever these limits say
  bool pilot = false;            // no blocks: only find out what a launch costs
};

struct ArmMeasurement {
  // One pass each, nanoseconds per call; pass 2b is the forward and 2b+1 the reversed run of block b.
  std::vector<EpochTime> passes;
  EpochTime warm;     // median per call of the last warm-up window
  CheckResult check;  // of the output that the last timed call left
};

struct LaunchMeasurement {
  int64_t calls = 0;  // per epoch, the same for all arms
  int blocks = 0;
  int warmup_rounds = 0;
  bool settled = false;
  double warmup_ns = 0;
  double blocks_ns = 0;
  double checks_ns = 0;
  std::vector<ArmMeasurement> arms;  // in the order of the arms
};

// The same with so many blocks at least that `launches` launches give `samples` times of an arm.
ProtocolOptions WithSamples(const ProtocolOptions& options, int samples, int launches);

// Blocks for arms whose calls and epochs take these times: options.blocks, or slow_blocks for a slow case,
// cut so that they fit cap_ns, never below the minimum.
int ChooseBlocks(std::span<const double> epoch_ns, int64_t calls, const ProtocolOptions& options);

// The order of one block: a random permutation of 0..arms-1, then the same reversed (ABBA for two arms).
std::vector<size_t> BlockOrder(size_t arms, uint64_t seed, int block);

struct ProtocolHooks {
  std::function<int64_t()> now_ns;  // a steady clock; it bounds the warm-up, the samples are the arms' own
  // Called before each epoch and each check, outside of what is timed, so that an arm that hangs or crashes
  // can be named. May be empty.
  std::function<void(size_t arm)> about_to_run;
};

// Calibrates the shared number of calls, warms up until the medians settle and each arm has had its least
// calls, runs the blocks, checks the outputs.
LaunchMeasurement RunProtocol(std::span<const std::unique_ptr<Arm>> arms, const ProtocolOptions& options,
                              const ProtocolHooks& hooks);

}  // namespace pagoda::judge

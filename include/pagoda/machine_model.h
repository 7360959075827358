// What a machine can do, in the terms in which variants are chosen.
#pragma once

#include <cstdint>
#include <vector>

#include "pagoda/tensor.h"

namespace pagoda {

// Rates of one machine, for the kernels of one instruction set. Bandwidths are in 1e9 bytes a second and
// count bytes read plus bytes written.
struct MachineModel {
  struct Read {
    int64_t run_bytes = 0;  // contiguous bytes, the runs in random order
    double one = 0;         // of one thread
    double all = 0;         // of `threads`
  };
  struct Arithmetic {
    DType dtype = DType::kF32;
    int64_t rows = 0;        // per kv head
    double gflop_per_s = 0;  // of one thread, data in its caches: the kernels' own rate at so many rows
  };

  int threads = 1;
  std::vector<Read> read;              // from memory; ascending, at least one
  double near_copy = 0;                // within the caches of one core, of one thread
  double far_copy = 0;                 // within the last-level cache, of one thread
  double memory_copy = 0;              // of `threads`
  int64_t near_bytes = 0;              // of the largest cache that one core has to itself
  int64_t far_bytes = 0;               // of the last-level cache
  std::vector<Arithmetic> arithmetic;  // per dtype by ascending rows, at least one for each
  double launch_ns = 0;                // of a launch on `threads` with nothing to do
  double task_ns = 0;                  // of one more task with nothing to do, on one thread
  double piece_ns = 0;                 // of one more call of a kernel, for a run of keys
};

// Figures of no machine in particular, for where none were measured. What the rule needs of them are their
// ratios, which vary less than speeds.
MachineModel TypicalMachine(int threads);

// Measures for some seconds with the active kernels; nothing else should run meanwhile. Throws
// Error(threads).
MachineModel MeasureMachine(int threads);

// The model by which `auto` and `hstu_auto` choose from now on, in this process and this library: a copy of
// what was set, and TypicalMachine until then. Not while a plan is being made.
void SetMachineModel(const MachineModel& model);
const MachineModel& CurrentMachineModel();

}  // namespace pagoda

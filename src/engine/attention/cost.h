// How long a plan will take, by an account that can be read: bytes, FLOPs, tasks and pieces over the rates of
// a machine. It knows no shape, no type and no processor, and is what `auto` chooses by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/attention/keys.h"
#include "engine/attention/variant.h"
#include "pagoda/machine_model.h"

namespace pagoda {

// The terms of a plan on a machine, nanoseconds.
struct Cost {
  double memory_ns = 0;      // reading K and V from memory
  double arithmetic_ns = 0;  // multiplying
  double moves_ns = 0;       // what is copied or read again, from whatever cache it lies in
  double overhead_ns = 0;    // launches, tasks and pieces
  double total_ns = 0;  // memory and the others together where the variant overlaps them, else one by one
};
Cost CostOf(const Work& work, const Traffic& traffic, DType dtype, int threads, const MachineModel& machine);

// The share of the whole that the busiest thread does when `threads` take items in order, each as soon as it
// is free; between 1 / threads and 1, and 1 / threads without any work.
double BusiestShare(std::span<const double> items, int threads);

// Contiguous bytes of K that a walk over `heads` kv heads of a cache reads at a time.
int64_t RunBytes(const PagedKvView& kv, int64_t heads);

}  // namespace pagoda

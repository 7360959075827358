// The loops that MeasureCeilings times, one set per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pagoda {

// A loop of floating-point operations on registers alone.
struct FlopLoop {
  const char* dtype = "";  // of the inputs
  const char* isa = "";    // "scalar", "avx2", "avx512", "avx512bf16", "neon"
  double flops_per_step = 0;
  void (*run)(int64_t steps) = nullptr;
};

struct MemoryLoops {
  // Loads `runs` runs of `run_bytes` (a multiple of 256), run i at base + order[i] * run_bytes, in this
  // order.
  void (*read_runs)(const std::byte* base, const uint32_t* order, int64_t runs, int64_t run_bytes) = nullptr;
  // The same, asking for the lines of the run that comes `ahead` later. order[runs + ahead - 1] must be
  // there.
  void (*read_runs_ahead)(const std::byte* base, const uint32_t* order, int64_t runs, int64_t run_bytes,
                          int64_t ahead) = nullptr;
  // Loads `bytes` (a multiple of 64 KiB) as eight streams side by side: where a core keeps only so many lines
  // of one stream under way, several are faster. Returns the sum of the 8-byte words.
  uint64_t (*read_side_by_side)(const std::byte* base, int64_t bytes) = nullptr;
  // Copies `bytes` (a multiple of 256) between 64-byte aligned buffers past the caches.
  void (*copy)(std::byte* to, const std::byte* from, int64_t bytes) = nullptr;
};

// Those that this machine runs, from scalar up.
std::span<const FlopLoop> UsableFlopLoops();
// The widest that this machine runs.
const MemoryLoops& WidestMemoryLoops();

}  // namespace pagoda

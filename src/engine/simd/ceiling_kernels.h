// The loops that MeasureCeilings times, one set per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pagoda {

// A loop of floating-point operations on registers alone.
struct FlopLoop {
  const char* dtype = "";  // of the inputs
  const char* isa = "";    // "scalar", "avx2", "avx512", "avx512bf16", "amx", "neon"
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
  // Copies `bytes` (a multiple of 256) between 64-byte aligned buffers past the caches.
  void (*copy)(std::byte* to, const std::byte* from, int64_t bytes) = nullptr;
};

// The runs of 256 bytes of 64 KiB in the order of eight streams side by side: where a core keeps only so many
// lines of one stream under way, several are faster.
inline constexpr int64_t kSideBySideBytes = 64 << 10;
inline constexpr int64_t kSideBySideRun = 256;
std::span<const uint32_t> SideBySideOrder();

// Those that this machine runs, from scalar up.
std::span<const FlopLoop> UsableFlopLoops();
// The widest that this machine runs.
const MemoryLoops& WidestMemoryLoops();

}  // namespace pagoda

// What the machine is made of, and which instruction sets it runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/sys/affinity.h"

namespace pagoda::sys {

// Each flag says that CPU and kernel support the whole group.
struct CpuFeatures {
  bool avx2 = false;         // AVX2, FMA and F16C
  bool avx512 = false;       // AVX-512 F, BW, CD, DQ and VL, and avx2
  bool avx512_bf16 = false;  // bf16 dot products, and avx512
  bool amx_bf16 = false;     // tile products of bf16, and avx512_bf16
  bool neon = false;
};
// Asks the kernel to let this process use tiles, which it must before any thread does.
CpuFeatures DetectCpuFeatures();

struct CacheInfo {
  int level = 0;
  std::string type;  // "Data", "Instruction", "Unified"
  int64_t bytes = 0;
  int sharing_cpus = 1;  // CPUs that share one of it
  friend bool operator==(const CacheInfo&, const CacheInfo&) = default;
};

// Strings are for people and empty when not known; numbers are 0 then.
struct MachineInfo {
  std::string cpu_model;
  std::string cpu_flags;          // those that matter to kernels: "avx2 fma f16c"
  std::vector<CacheInfo> caches;  // as CPU 0 sees them, by level
  int online_cpus = 0;
  int threads_per_core = 0;
  int64_t memory_bytes = 0;  // of the machine, or of the control group when that has less
  std::string kernel;        // "Linux 6.1.0"
  std::string governor;      // of CPU 0's frequency
  std::string huge_pages;    // "always", "madvise" or "never"
  bool virtual_machine = false;

  int64_t LastLevelCacheBytes() const;  // 0: not known
};

// `root` stands for "/" and lets a test show another machine.
MachineInfo ReadMachineInfo(const std::filesystem::path& root = "/");

// Bytes of memory that can still be had without swapping: the machine's, or what its control group has left
// when that is less. 0: not known.
int64_t AvailableMemory(const std::filesystem::path& root = "/");

}  // namespace pagoda::sys

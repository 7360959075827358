// Which instruction set the kernels run on.
#pragma once

#include <span>
#include <string_view>

namespace pagoda {

enum class Isa { kScalar, kAvx2, kAvx512, kAvx512Bf16, kAmx, kNeon };

// "scalar", "avx2", "avx512", "avx512bf16", "amx", "neon": the values of PAGODA_ISA.
std::string_view NameOf(Isa isa);

// What was compiled in and this machine runs, the fastest first; scalar is always last.
std::span<const Isa> UsableIsas();

// The fastest usable one, or the one that PAGODA_ISA names. Read once. Throws Error(PAGODA_ISA) when the name
// is unknown or the machine can't run it.
Isa ActiveIsa();

}  // namespace pagoda

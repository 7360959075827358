#include "engine/simd/isa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <vector>

#include "base/sys/cpu.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

#if defined(__x86_64__)
// Taken for all of Intel's from an Emerald Rapids, where `pagoda machine` shows 149 GFLOP/s with bf16 dots
// and 343 with FMA in f32. Asked of the vendor and not measured, so that a machine always gives the same bits
// (docs/decisions/0013).
bool HasSlowBf16Dots() { return __builtin_cpu_is("intel"); }
#endif

std::vector<Isa> Detect() {
  std::vector<Isa> usable;
#if defined(__x86_64__)
  const sys::CpuFeatures features = sys::DetectCpuFeatures();
  if (features.amx_bf16) usable.push_back(Isa::kAmx);
  if (features.avx512_bf16 && !HasSlowBf16Dots()) usable.push_back(Isa::kAvx512Bf16);
  if (features.avx512) usable.push_back(Isa::kAvx512);
  if (features.avx512_bf16 && HasSlowBf16Dots()) usable.push_back(Isa::kAvx512Bf16);
  if (features.avx2) usable.push_back(Isa::kAvx2);
#elif defined(__aarch64__)
  usable.push_back(Isa::kNeon);
#endif
  usable.push_back(Isa::kScalar);
  return usable;
}

Isa Choose() {
  const char* forced = std::getenv("PAGODA_ISA");
  if (forced == nullptr || *forced == '\0') return UsableIsas().front();
  std::vector<std::string_view> names;
  for (const Isa isa : UsableIsas()) {
    if (NameOf(isa) == forced) return isa;
    names.push_back(NameOf(isa));
  }
  throw Error(ErrorCode::kInvalidArgument, "PAGODA_ISA",
              fmt::format("= '{}' is not an instruction set that this machine runs; it runs {}", forced,
                          fmt::join(names, ", ")));
}

}  // namespace

std::string_view NameOf(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512bf16";
    case Isa::kAmx:
      return "amx";
    case Isa::kNeon:
      return "neon";
  }
  return "?";
}

std::span<const Isa> UsableIsas() {
  static const std::vector<Isa> usable = Detect();
  return usable;
}

Isa ActiveIsa() {
  static const Isa active = Choose();
  return active;
}

}  // namespace pagoda

// Absolute figures of one variant on one case, beside the machine's own ceilings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "judge/record/record.h"

namespace pagoda::judge {

struct CaseRecords;

// Absolute figures of one variant on one case. Times are medians over launches of each launch's median, in
// microseconds of one call; NaN without a usable launch, and then the rates are too.
struct Figures {
  std::string case_name;
  std::string variant;
  double device_us = 0;
  double device_floor_us = 0;  // of each launch's Q10
  double host_us = 0;
  int64_t samples = 0;  // times of each clock behind these, over all launches that count
  double gb_per_s = 0;  // least bytes / device time, 1e9 a second
  double gflop_per_s = 0;
  double bound_us = 0;  // roofline: the larger of bytes / bandwidth and FLOPs / peak; 0: no ceiling known
  double roofline_fraction = 0;  // bound / device time; 0: no ceiling known
  bool memory_bound = false;     // which of the two is the larger
  bool suspect = false;          // faster than the bound: measured wrong, or the bound is
  double max_abs_error = 0;      // over gate runs and timed outputs
  bool bitwise = false;          // there were gate runs, and every one was bitwise repeatable
  int gates_passed = 0, gates_total = 0;
};

// GB/s at this run length: between the two neighbouring ceilings by the logarithm of the run length, the
// nearest beyond either end. Ceilings of `threads` threads, else of the most threads below. 0 when none is
// known.
double BandwidthAt(const Ceilings& ceilings, double run_bytes, int threads);
// The most that some instruction set computes for inputs of this dtype: as they are, or widened to f32.
// Ceilings of one thread are scaled to `threads` where no others of the same are known. 0 and "" when none is
// known.
struct Peak {
  double gflop_per_s = 0;
  std::string_view isa;
};
Peak PeakOf(const Ceilings& ceilings, std::string_view dtype, int threads);

// Cases x variants, in the manifest's order. `sorted` is SortRecords of the same arguments.
std::vector<Figures> ComputeFigures(const Manifest& manifest, const Records& records,
                                    const std::vector<CaseRecords>& sorted);

}  // namespace pagoda::judge

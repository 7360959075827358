// What this machine can do at most: the figures that kernels are held against.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pagoda {

// The median of several repeats, and their lowest and highest.
struct CeilingFigure {
  double median = 0, lowest = 0, highest = 0;
};

struct ReadCeiling {
  int threads = 1;
  int64_t run_bytes = 0;   // contiguous bytes per run, the runs in random order; 0: streams
  CeilingFigure gb_per_s;  // 1e9 bytes
};
struct CopyCeiling {
  int threads = 1;
  CeilingFigure gb_per_s;  // bytes read plus bytes written
};
struct FlopCeiling {
  std::string isa;    // "scalar", "avx2", "avx512", "avx512bf16", "amx", "neon"
  std::string dtype;  // of the inputs: "f32", "bf16"
  int threads = 1;
  CeilingFigure gflop_per_s;  // of all threads; a multiply-add is two
};

struct MachineCeilings {
  std::vector<ReadCeiling> read;
  std::vector<CopyCeiling> copy;
  std::vector<FlopCeiling> flops;
  int64_t buffer_bytes = 0;
  bool huge_pages_asked = false;
  double timer_resolution_ns = 0;  // least step of the steady clock
  double timer_cost_ns = 0;        // one reading
};

struct CeilingOptions {
  std::vector<int> threads;        // each measured; at least one, each >= 1
  std::vector<int64_t> run_bytes;  // powers of two, 256 B to 1 MB
  std::vector<int> run_threads;    // of the random runs
  int repeats = 7;                 // odd, at least 3
  // Everything is measured so many times, and each figure's best median is kept: what another process takes
  // from one round it seldom takes from all.
  int rounds = 1;
  int64_t least_buffer_bytes = 0;  // the buffer is this or 8 times the last-level cache, the larger
  int64_t volume_bytes = 0;        // read per repeat; 0: the whole buffer
  double flop_seconds = 0.03;      // of one repeat
  bool copy = true;
  bool flops = true;
  bool streams = true;
  bool every_isa = true;  // false: the widest of each dtype
  // Told what is measured next and how many steps there are; false ends the measurement with what there is.
  std::function<bool(std::string_view step, int done, int steps)> on_step = {};
};

// Everything, on 1, 2, 4, ... and `threads` threads: a 1 GiB buffer or more, well under a minute for few
// threads.
CeilingOptions FullCeilings(int threads);
// What a bench puts beside its results: `threads` threads and one, some run lengths, the widest ISA; some
// seconds.
CeilingOptions QuickCeilings(int threads);

// Measures on threads of its own, pinned to the CPUs that the process may use; the caller waits. Uses at most
// a quarter of the machine's memory. Throws Error naming an option out of range, or buffer when there is no
// room.
MachineCeilings MeasureCeilings(const CeilingOptions& options);

}  // namespace pagoda

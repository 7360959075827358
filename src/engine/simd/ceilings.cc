// Every figure is a total over all threads: the work of a repeat is cut into many small tasks that the
// threads of a pinned pool take as they come, so that a thread that starts late or is held up costs its own
// time only.
#include "engine/simd/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/sys/affinity.h"
#include "base/sys/clock.h"
#include "base/sys/cpu.h"
#include "engine/simd/ceiling_kernels.h"
#include "pagoda/status.h"
#include "pagoda/thread_pool.h"

namespace pagoda {
namespace {

constexpr int64_t kLeastRun = 256;
constexpr int64_t kMostRun = int64_t{1} << 20;
// A task of the streams: long enough for the prefetchers to be at full speed nearly all of the time, short
// enough for threads to finish together.
constexpr int64_t kTaskBytes = int64_t{4} << 20;
// Bytes that a thread asks for ahead of the run that it reads: latency times bandwidth of one core (100 ns x
// 20 GB/s).
constexpr int64_t kAheadBytes = 2048;
constexpr int kFlopTasksPerThread = 32;
constexpr int64_t kLeastBufferBytes = 16 * kTaskBytes;

CeilingFigure Summary(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

// A fixed permutation of [0, n), n a power of two, without a pattern that a prefetcher could follow: a
// full-period linear congruential generator whose high bits are mixed into the low ones. The first `ahead`
// entries follow again at the end.
std::vector<uint32_t> RandomOrder(int64_t n, int64_t ahead) {
  const auto mask = static_cast<uint64_t>(n - 1);
  const int half = std::max(1, static_cast<int>(std::bit_width(mask)) / 2);
  std::vector<uint32_t> order(static_cast<size_t>(n + ahead));
  uint64_t state = 12345 & mask;
  for (int64_t i = 0; i < n; ++i) {
    state = (state * 2862933555777941757U + 3037000493U) & mask;
    order[static_cast<size_t>(i)] = static_cast<uint32_t>(state ^ (state >> half));
  }
  for (int64_t i = 0; i < ahead; ++i) order[static_cast<size_t>(n + i)] = order[static_cast<size_t>(i)];
  return order;
}

int64_t BufferBytes(const CeilingOptions& options) {
  const sys::MachineInfo machine = sys::ReadMachineInfo();
  const int64_t wanted =
      std::max({options.least_buffer_bytes, 8 * machine.LastLevelCacheBytes(), kLeastBufferBytes});
  int64_t bytes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(wanted)));
  // A power of two, so that runs of any length fill it evenly and RandomOrder reaches each once.
  const int64_t most = machine.memory_bytes > 0 ? machine.memory_bytes / 4 : bytes;
  while (bytes > most && bytes > kLeastBufferBytes) bytes /= 2;
  return bytes;
}

void CheckThreads(const std::vector<int>& threads, std::string_view field) {
  for (const int t : threads) {
    if (t < 1) throw Error(ErrorCode::kInvalidArgument, field, fmt::format("= {} is below 1", t));
  }
}

void CheckOptions(const CeilingOptions& options) {
  CheckThreads(options.threads, "threads");
  CheckThreads(options.run_threads, "run_threads");
  if (options.threads.empty()) throw Error(ErrorCode::kInvalidArgument, "threads", "is empty");
  if (options.repeats < 3) {
    throw Error(ErrorCode::kInvalidArgument, "repeats", fmt::format("= {} is below 3", options.repeats));
  }
  if (options.rounds < 1) {
    throw Error(ErrorCode::kInvalidArgument, "rounds", fmt::format("= {} is below 1", options.rounds));
  }
  for (const int64_t run : options.run_bytes) {
    if (run < kLeastRun || run > kMostRun || !std::has_single_bit(static_cast<uint64_t>(run))) {
      throw Error(ErrorCode::kInvalidArgument, "run_bytes",
                  fmt::format("= {} is no power of two in {}..{}", run, kLeastRun, kMostRun));
    }
  }
}

bool SameThing(const ReadCeiling& a, const ReadCeiling& b) {
  return a.threads == b.threads && a.run_bytes == b.run_bytes;
}
bool SameThing(const CopyCeiling& a, const CopyCeiling& b) { return a.threads == b.threads; }
bool SameThing(const FlopCeiling& a, const FlopCeiling& b) {
  return a.isa == b.isa && a.dtype == b.dtype && a.threads == b.threads;
}

// Adds a figure, or puts it in the place of an earlier round's if its median is higher.
template <typename T>
void Keep(std::vector<T>& figures, const std::type_identity_t<T>& figure, CeilingFigure T::* rate) {
  const auto earlier =
      std::find_if(figures.begin(), figures.end(), [&](const T& f) { return SameThing(f, figure); });
  if (earlier == figures.end()) {
    figures.push_back(figure);
  } else if ((figure.*rate).median > (*earlier.*rate).median) {
    *earlier = figure;
  }
}

class Measurement {
 public:
  explicit Measurement(const CeilingOptions& options)
      : options_(options),
        memory_(WidestMemoryLoops()),
        loops_(ChosenFlopLoops()),
        source_(BufferBytes(options)) {}

  MachineCeilings Measure() {
    result_.buffer_bytes = static_cast<int64_t>(source_.size());
    result_.huge_pages_asked = source_.huge_pages_asked();
    const sys::ClockQuality clock = sys::MeasureClock();
    result_.timer_resolution_ns = clock.resolution_ns;
    result_.timer_cost_ns = clock.read_cost_ns;
    for (int round = 0; round < options_.rounds; ++round) {
      const bool go_on =
          MeasureFlops() && (round > 0 || Fill()) && MeasureStreams() && MeasureRuns() && MeasureCopies();
      if (!go_on) break;
    }
    return std::move(result_);
  }

 private:
  std::vector<FlopLoop> ChosenFlopLoops() const {
    const std::span<const FlopLoop> usable = UsableFlopLoops();
    std::vector<FlopLoop> chosen;
    for (const FlopLoop& loop : usable) {
      const bool same_dtype = !chosen.empty() && std::strcmp(chosen.back().dtype, loop.dtype) == 0;
      if (!options_.every_isa && same_dtype) chosen.pop_back();
      chosen.push_back(loop);
    }
    return chosen;
  }

  int Steps() const {
    const size_t threads = options_.threads.size();
    const size_t figures = threads * ((options_.flops ? loops_.size() : 0) + (options_.streams ? 1 : 0) +
                                      (options_.copy ? 1 : 0)) +
                           options_.run_threads.size() * options_.run_bytes.size();
    return 1 + options_.rounds * static_cast<int>(figures);
  }

  // Whether to go on.
  bool Begin(const std::string& step) {
    return !options_.on_step || options_.on_step(step, done_++, Steps());
  }

  // `amount` per second of repeat(), which does that much.
  template <typename Repeat>
  CeilingFigure Time(double amount, const Repeat& repeat, int repeats) const {
    std::vector<double> rates;
    repeat();  // wakes the pool, and loads what it will meet again
    for (int i = 0; i < repeats; ++i) {
      const int64_t begin = sys::NowNs();
      repeat();
      rates.push_back(amount / static_cast<double>(sys::NowNs() - begin));
    }
    return Summary(std::move(rates));
  }

  // Of several ways to read as many bytes: the one that a short trial finds fastest.
  CeilingFigure TimeBest(int64_t bytes, const std::vector<std::function<void()>>& ways) const {
    constexpr int kTrials = 2;
    const auto amount = static_cast<double>(bytes);
    const std::function<void()>* best = nullptr;
    double most = 0;
    for (const auto& way : ways) {
      const double rate = Time(amount, way, kTrials).highest;
      if (rate > most) std::tie(best, most) = std::pair(&way, rate);
    }
    return Time(amount, *best, options_.repeats);
  }

  bool MeasureFlops() {
    if (!options_.flops) return true;
    for (const FlopLoop& loop : loops_) {
      const int64_t steps = StepsFor(loop);
      for (const int threads : options_.threads) {
        if (!Begin(fmt::format("{} {} on {} threads", loop.isa, loop.dtype, threads))) return false;
        ThreadPool pool(threads);
        const int64_t tasks = int64_t{threads} * kFlopTasksPerThread;
        const double flops = loop.flops_per_step * static_cast<double>(steps * tasks);
        const CeilingFigure rate =
            Time(flops, [&] { pool.Run(tasks, [&](int64_t, int) { loop.run(steps); }); }, options_.repeats);
        Keep(result_.flops, {loop.isa, loop.dtype, threads, rate}, &FlopCeiling::gflop_per_s);
      }
    }
    return true;
  }

  // Steps of one task, so that all tasks of a thread take about options.flop_seconds.
  int64_t StepsFor(const FlopLoop& loop) const {
    constexpr int64_t kTrial = 200000;
    loop.run(kTrial);
    const int64_t begin = sys::NowNs();
    loop.run(kTrial);
    const double ns_per_step = static_cast<double>(sys::NowNs() - begin) / kTrial;
    return std::max<int64_t>(
        1000, static_cast<int64_t>(options_.flop_seconds * 1e9 / kFlopTasksPerThread / ns_per_step));
  }

  // First written by the threads that will read, so that each page lies near one of them.
  bool Fill() {
    if (!Begin("filling memory")) return false;
    ThreadPool pool(*std::max_element(options_.threads.begin(), options_.threads.end()));
    pool.Run(result_.buffer_bytes / kTaskBytes, [&](int64_t task, int) {
      std::memset(source_.data() + task * kTaskBytes, static_cast<int>(task & 0x7f) + 1, kTaskBytes);
    });
    return true;
  }

  // Bytes of one repeat, and where it begins: each reads the next slice of the buffer, so that nothing is
  // read again before all of it was.
  int64_t Slice() const {
    const int64_t whole = result_.buffer_bytes;
    const int64_t wanted = options_.volume_bytes > 0 ? options_.volume_bytes : whole;
    return static_cast<int64_t>(
        std::bit_ceil(static_cast<uint64_t>(std::clamp(wanted, kLeastBufferBytes / 4, whole))));
  }
  int64_t NextSlice(int64_t& slices_done) const {
    return slices_done++ % (result_.buffer_bytes / Slice()) * Slice();
  }

  void ReadSideBySide(const std::byte* from, int64_t bytes) const {
    const std::span<const uint32_t> order = SideBySideOrder();
    for (int64_t at = 0; at < bytes; at += kSideBySideBytes)
      memory_.read_runs(from + at, order.data(), std::ssize(order), kSideBySideRun);
  }

  // The better of one stream per thread and of eight side by side.
  bool MeasureStreams() {
    if (!options_.streams) return true;
    constexpr uint32_t kFirst = 0;
    const int64_t tasks = Slice() / kTaskBytes;
    for (const int threads : options_.threads) {
      if (!Begin(fmt::format("reading streams on {} threads", threads))) return false;
      ThreadPool pool(threads);
      int64_t slices_done = 0;
      const auto read_slice = [&](auto read) {
        const std::byte* const slice = source_.data() + NextSlice(slices_done);
        pool.Run(tasks, [&](int64_t task, int) { read(slice + task * kTaskBytes); });
      };
      const auto one = [&] {
        read_slice([&](const std::byte* from) { memory_.read_runs(from, &kFirst, 1, kTaskBytes); });
      };
      const auto several = [&] {
        read_slice([&](const std::byte* from) { ReadSideBySide(from, kTaskBytes); });
      };
      Keep(result_.read, {threads, 0, TimeBest(Slice(), {one, several})}, &ReadCeiling::gb_per_s);
    }
    return true;
  }

  bool MeasureRuns() {
    for (const int64_t run_bytes : options_.run_bytes) {
      const int64_t ahead = std::max<int64_t>(1, kAheadBytes / run_bytes);
      const std::vector<uint32_t> order = RandomOrder(result_.buffer_bytes / run_bytes, ahead);
      for (const int threads : options_.run_threads) {
        if (!Begin(fmt::format("reading runs of {} bytes on {} threads", run_bytes, threads))) return false;
        Keep(result_.read, {threads, run_bytes, TimeRuns(run_bytes, ahead, order, threads)},
             &ReadCeiling::gb_per_s);
      }
    }
    return true;
  }

  // The best of plain loads, loads with the next run asked for early, and long runs read at eight places at
  // once: a kernel may do any.
  CeilingFigure TimeRuns(int64_t run_bytes, int64_t ahead, const std::vector<uint32_t>& order,
                         int threads) const {
    ThreadPool pool(threads);
    const int64_t per_task = std::max<int64_t>(1, kTaskBytes / 4 / run_bytes);
    const int64_t tasks = Slice() / run_bytes / per_task;
    int64_t slices_done = 0;
    const auto read_slice = [&](auto read) {
      const uint32_t* const first = order.data() + NextSlice(slices_done) / run_bytes;
      pool.Run(tasks, [&](int64_t task, int) { read(first + task * per_task); });
    };
    const auto plain = [&] {
      read_slice([&](const uint32_t* runs) { memory_.read_runs(source_.data(), runs, per_task, run_bytes); });
    };
    const auto early = [&] {
      read_slice([&](const uint32_t* runs) {
        memory_.read_runs_ahead(source_.data(), runs, per_task, run_bytes, ahead);
      });
    };
    std::vector<std::function<void()>> ways = {plain, early};
    if (run_bytes % kSideBySideBytes == 0) {
      ways.emplace_back([&] {
        read_slice([&](const uint32_t* runs) {
          for (int64_t r = 0; r < per_task; ++r)
            ReadSideBySide(source_.data() + runs[r] * run_bytes, run_bytes);
        });
      });
    }
    return TimeBest(Slice(), ways);
  }

  // Half of the buffer to the other half.
  bool MeasureCopies() {
    if (!options_.copy) return true;
    const int64_t half = result_.buffer_bytes / 2;
    for (const int threads : options_.threads) {
      if (!Begin(fmt::format("copying on {} threads", threads))) return false;
      ThreadPool pool(threads);
      const CeilingFigure rate = Time(
          2.0 * static_cast<double>(half),
          [&] {
            pool.Run(half / kTaskBytes, [&](int64_t task, int) {
              const std::byte* const from = source_.data() + task * kTaskBytes;
              memory_.copy(source_.data() + half + task * kTaskBytes, from, kTaskBytes);
            });
          },
          options_.repeats);
      Keep(result_.copy, {threads, rate}, &CopyCeiling::gb_per_s);
    }
    return true;
  }

  const CeilingOptions& options_;
  const MemoryLoops& memory_;
  const std::vector<FlopLoop> loops_;
  Buffer source_;
  int done_ = 0;
  MachineCeilings result_;
};

std::vector<int> PowersUpTo(int most) {
  std::vector<int> powers;
  for (int t = 1; t < most; t *= 2) powers.push_back(t);
  powers.push_back(most);
  return powers;
}

}  // namespace

CeilingOptions FullCeilings(int threads) {
  CeilingOptions options;
  options.threads = PowersUpTo(std::max(1, threads));
  options.run_threads = threads > 1 ? std::vector<int>{1, threads} : std::vector<int>{1};
  for (int64_t run = kLeastRun; run <= (int64_t{128} << 10); run *= 2) options.run_bytes.push_back(run);
  options.least_buffer_bytes = int64_t{1} << 30;
  options.volume_bytes = int64_t{256} << 20;
  return options;
}

CeilingOptions QuickCeilings(int threads) {
  CeilingOptions options;
  options.threads = threads > 1 ? std::vector<int>{1, threads} : std::vector<int>{1};
  options.run_threads = {std::max(1, threads)};
  options.run_bytes = {256, 1024, 4096, 16384, 65536};
  options.least_buffer_bytes = int64_t{256} << 20;
  options.volume_bytes = int64_t{64} << 20;
  options.flop_seconds = 0.01;
  options.copy = false;
  options.every_isa = false;
  options.rounds = 3;
  return options;
}

MachineCeilings MeasureCeilings(const CeilingOptions& options) {
  CheckOptions(options);
  MachineCeilings result;
  std::exception_ptr error;
  // Worker 0 of a pool is its caller: a thread of its own can be pinned without pinning the user's.
  std::thread([&] {
    try {
      sys::PinThisThread(sys::AllowedCpus().front());
      result = Measurement(options).Measure();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
  return result;
}

}  // namespace pagoda

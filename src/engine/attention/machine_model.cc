// Measures the rates of pagoda/machine_model.h: bandwidths as ceilings.h does, arithmetic and calls with the
// active kernels themselves, since a rule that compares variants needs what they reach and not what the
// machine could.
#include "pagoda/machine_model.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "base/buffer.h"
#include "base/sys/clock.h"
#include "base/sys/cpu.h"
#include "engine/attention/kernels/kernels.h"
#include "engine/attention/keys.h"
#include "engine/simd/ceilings.h"
#include "pagoda/thread_pool.h"

namespace pagoda {
namespace {

constexpr int64_t kDim = 128;
constexpr int64_t kKeys = 96;
constexpr int64_t kRows[] = {1, 2, 4, 8, 16, 64};

MachineModel& Model() {
  static MachineModel model = TypicalMachine(DefaultThreads());
  return model;
}

// Nanoseconds of one call, the least of several rounds: what disturbs a round only adds.
double LeastNs(const std::function<void()>& call) {
  constexpr int kRounds = 7;
  constexpr int64_t kRoundNs = 2'000'000;
  int64_t calls = 1;
  double least = 0;
  for (int round = 0; round < kRounds;) {
    const int64_t begin = sys::NowNs();
    for (int64_t i = 0; i < calls; ++i) call();
    const int64_t ns = sys::NowNs() - begin;
    if (ns < kRoundNs / 2) {
      calls *= 2;
      continue;
    }
    const double one = static_cast<double>(ns) / static_cast<double>(calls);
    least = round++ == 0 ? one : std::min(least, one);
  }
  return least;
}

// One tile of keys against `rows` rows of one kv head, as both operators do it.
double ArithmeticRate(DType dtype, int64_t rows) {
  const AttentionKernels& kernels = ActiveAttentionKernels();
  const int64_t ld = kernels.dim_pad(kDim);
  const int64_t floats = RoundUp(std::max(rows, kernels.lanes), kernels.lanes);
  Buffer k(static_cast<size_t>(kKeys * kDim * SizeOf(dtype)));
  Buffer v(k.size());
  Buffer row(static_cast<size_t>(kDim * SizeOf(dtype)));
  Buffer q(static_cast<size_t>(floats * ld) * sizeof(float));
  Buffer acc(q.size());
  Buffer k_tile(static_cast<size_t>(kKeys * ld) * sizeof(float));
  Buffer v_tile(k_tile.size());
  Buffer scores(static_cast<size_t>(floats * RoundUp(kKeys, kernels.lanes)) * sizeof(float));
  for (Buffer* zeroed : {&k, &v, &row, &q, &acc, &scores})
    std::fill_n(zeroed->data(), zeroed->size(), std::byte{0});
  const auto as_floats = [](Buffer& buffer) { return reinterpret_cast<float*>(buffer.data()); };
  const KeyRun keys = DenseRun(k.data(), kKeys, kDim);
  const KeyRun values = DenseRun(v.data(), kKeys, kDim);
  const double flops = 4.0 * static_cast<double>(rows * kKeys * kDim);
  if (rows <= kFewRows) {
    for (int64_t r = 0; r < rows; ++r) kernels.pack_row(row.data(), dtype, kDim, as_floats(q) + r * ld);
    const int64_t scores_ld = RoundUp(kKeys, kernels.lanes);
    return flops / LeastNs([&] {
             kernels.qk(dtype, keys, as_floats(q), rows, ld, 1.0F, as_floats(scores), scores_ld);
             kernels.silu(as_floats(scores), rows * scores_ld, 1.0F);
             kernels.pv(dtype, values, as_floats(scores), rows, scores_ld, as_floats(acc), ld);
           });
  }
  const int64_t scores_ld = RoundUp(rows, kernels.row_lanes);
  return flops / LeastNs([&] {
           kernels.load_k(dtype, keys, as_floats(k_tile), ld);
           kernels.qk_tile(dtype, as_floats(k_tile), ld, kKeys, as_floats(q), kernels.lanes * ld, rows, kDim,
                           1.0F, as_floats(scores), scores_ld, {});
           kernels.silu(as_floats(scores), kKeys * scores_ld, 1.0F);
           kernels.load_v(dtype, values, as_floats(v_tile), kKeys, 0);
           kernels.pv_tile(dtype, as_floats(scores), scores_ld, kKeys, as_floats(v_tile), kKeys, rows, kDim,
                           as_floats(acc), ld, {});
         });
}

// 1e9 bytes a second, read plus written, of rows copied back and forth within `bytes`.
double CopyRate(int64_t bytes) {
  const int64_t rows = bytes / 2 / (kDim * SizeOf(DType::kF32));
  Buffer from(static_cast<size_t>(rows * kDim) * sizeof(float));
  Buffer to(from.size());
  std::fill_n(from.data(), from.size(), std::byte{0});
  const KeyRun run = DenseRun(from.data(), rows, kDim);
  const double ns =
      LeastNs([&] { ActiveAttentionKernels().copy_rows(DType::kF32, run, to.data(), kDim, 0); });
  return 2.0 * static_cast<double>(from.size()) / ns;
}

double PieceNs() {
  Buffer row(64);
  Buffer to(64);
  std::fill_n(row.data(), row.size(), std::byte{0});
  const KeyRun run = DenseRun(row.data(), 1, 16);
  return LeastNs([&] { ActiveAttentionKernels().copy_rows(DType::kF32, run, to.data(), 16, 0); });
}

int64_t CacheOfOneCore(const sys::MachineInfo& machine) {
  int64_t bytes = 0;
  for (const sys::CacheInfo& cache : machine.caches) {
    if (cache.sharing_cpus <= std::max(1, machine.threads_per_core) && cache.type != "Instruction")
      bytes = std::max(bytes, cache.bytes);
  }
  return bytes;
}

}  // namespace

MachineModel TypicalMachine(int threads) {
  MachineModel model;
  model.threads = threads;
  // A core that computes 30 times as fast as it reads from memory, and reads short runs at a third of long
  // ones.
  for (const auto& [run, share] :
       {std::pair(int64_t{256}, 0.35), std::pair(int64_t{4096}, 0.6), std::pair(int64_t{65536}, 1.0)}) {
    model.read.push_back({run, 15 * share, 15 * share * std::min(threads, 4)});
  }
  model.near_copy = 80;
  model.far_copy = 30;
  model.memory_copy = 12 * std::min(threads, 4);
  model.near_bytes = int64_t{1} << 20;
  model.far_bytes = int64_t{32} << 20;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t rows : kRows)
      model.arithmetic.push_back({dtype, rows, 15.0 * static_cast<double>(std::min<int64_t>(rows, 4))});
  }
  model.launch_ns = threads > 1 ? 2000 : 50;
  model.task_ns = 50;
  model.piece_ns = 20;
  return model;
}

MachineModel MeasureMachine(int threads) {
  MachineModel model;
  model.threads = threads;
  CeilingOptions options = QuickCeilings(threads);
  options.run_threads = options.threads;
  options.flops = false;
  options.streams = false;
  options.rounds = 1;
  options.copy = true;
  const MachineCeilings ceilings = MeasureCeilings(options);
  for (const ReadCeiling& one : ceilings.read) {
    if (one.threads != 1 || one.run_bytes == 0) continue;
    for (const ReadCeiling& all : ceilings.read) {
      if (all.threads == threads && all.run_bytes == one.run_bytes)
        model.read.push_back({one.run_bytes, one.gb_per_s.median, all.gb_per_s.median});
    }
  }
  for (const CopyCeiling& copy : ceilings.copy) {
    if (copy.threads == threads) model.memory_copy = copy.gb_per_s.median;
  }
  const sys::MachineInfo machine = sys::ReadMachineInfo();
  model.near_bytes = CacheOfOneCore(machine);
  model.far_bytes = std::max(model.near_bytes, machine.LastLevelCacheBytes());
  constexpr int64_t kLeast = int64_t{64} << 10;
  constexpr int64_t kMost = int64_t{16} << 20;
  model.near_copy = CopyRate(std::clamp(model.near_bytes / 2, kLeast, kMost));
  model.far_copy = CopyRate(std::clamp(model.far_bytes / 2, kLeast, kMost));
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t rows : kRows) model.arithmetic.push_back({dtype, rows, ArithmeticRate(dtype, rows)});
  }
  ThreadPool pool(threads);
  constexpr int64_t kTasks = 1000;
  const auto nothing = [](int64_t, int) {};
  model.launch_ns = LeastNs([&] { pool.Run(threads, nothing); });
  const double many_ns = LeastNs([&] { pool.Run(threads * kTasks, nothing); });
  model.task_ns = std::max(0.0, (many_ns - model.launch_ns) / kTasks);
  model.piece_ns = PieceNs();
  return model;
}

void SetMachineModel(const MachineModel& model) { Model() = model; }
const MachineModel& CurrentMachineModel() { return Model(); }

}  // namespace pagoda

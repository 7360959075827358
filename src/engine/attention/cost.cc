#include "engine/attention/cost.h"

#include <algorithm>
#include <cmath>

namespace pagoda {
namespace {

// Of rates at rising points, by the logarithm of the point; outside of them the nearest.
template <class Entries, class Point, class Rate>
double RateAt(const Entries& entries, double at, Point point, Rate rate) {
  const auto above =
      std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return point(e) >= at; });
  if (above == entries.begin()) return rate(*above);
  if (above == entries.end()) return rate(entries.back());
  const auto below = std::prev(above);
  const double share = std::log(at / point(*below)) / std::log(point(*above) / point(*below));
  return std::lerp(rate(*below), rate(*above), share);
}

double ReadRate(const MachineModel& machine, int64_t run_bytes, bool all) {
  return RateAt(
      machine.read, static_cast<double>(run_bytes),
      [](const auto& e) { return static_cast<double>(e.run_bytes); },
      [all](const auto& e) { return all ? e.all : e.one; });
}

double ArithmeticRate(const MachineModel& machine, DType dtype, int64_t rows) {
  std::vector<MachineModel::Arithmetic> of_dtype;
  std::copy_if(machine.arithmetic.begin(), machine.arithmetic.end(), std::back_inserter(of_dtype),
               [dtype](const auto& e) { return e.dtype == dtype; });
  return RateAt(
      of_dtype, static_cast<double>(std::max<int64_t>(1, rows)),
      [](const auto& e) { return static_cast<double>(e.rows); }, [](const auto& e) { return e.gflop_per_s; });
}

// Of one thread, within so many bytes.
double MoveRate(const MachineModel& machine, int64_t bytes) {
  if (bytes <= machine.near_bytes) return machine.near_copy;
  if (bytes <= machine.far_bytes) return machine.far_copy;
  return machine.memory_copy / machine.threads;
}

}  // namespace

Cost CostOf(const Work& work, const Traffic& traffic, DType dtype, int threads, const MachineModel& machine) {
  const double share = work.busiest_share;
  Cost cost;
  // All threads share the memory; a thread that reads most of it alone is held to its own rate.
  const auto bytes = static_cast<double>(work.memory_bytes);
  const double one = ReadRate(machine, work.run_bytes, false);
  const double all = std::min(threads * one, std::max(one, ReadRate(machine, work.run_bytes, true)));
  cost.memory_ns = std::max(bytes / all, share * bytes / one);
  cost.arithmetic_ns = share * work.flops / ArithmeticRate(machine, dtype, work.rows);
  cost.moves_ns = share * static_cast<double>(work.moved_bytes) / MoveRate(machine, work.moved_within);
  cost.overhead_ns = static_cast<double>(traffic.launches) * (threads > 1 ? machine.launch_ns : 0) +
                     share * (static_cast<double>(traffic.tasks) * machine.task_ns +
                              static_cast<double>(work.pieces) * machine.piece_ns);
  const double busy = cost.arithmetic_ns + cost.moves_ns;
  cost.total_ns = (work.overlaps ? std::max(cost.memory_ns, busy) : cost.memory_ns + busy) + cost.overhead_ns;
  return cost;
}

double BusiestShare(std::span<const double> items, int threads) {
  std::vector<double> busy(static_cast<size_t>(threads), 0.0);
  double all = 0;
  for (const double item : items) {
    *std::min_element(busy.begin(), busy.end()) += item;
    all += item;
  }
  return all > 0 ? *std::max_element(busy.begin(), busy.end()) / all : 1.0 / threads;
}

int64_t RunBytes(const PagedKvView& kv, int64_t heads) {
  const int64_t row = kv.head_dim * SizeOf(kv.dtype);
  // Slots outside of heads: a walk over all heads reads on from slot to slot.
  if (kv.k_slot_stride >= kv.k_head_stride) return row * heads * (heads == kv.kv_heads ? kv.page_size : 1);
  return row * kv.page_size;
}

}  // namespace pagoda

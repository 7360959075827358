// The account that variants are chosen by.
#include "engine/attention/cost.h"

#include <gtest/gtest.h>

#include <vector>

namespace pagoda {
namespace {

// Rates in whole numbers, so that terms can be worked out by hand.
MachineModel Machine() {
  MachineModel machine;
  machine.threads = 2;
  machine.read = {{256, 2, 3}, {4096, 10, 15}, {65536, 20, 30}};
  machine.near_copy = 100;
  machine.far_copy = 50;
  machine.memory_copy = 20;
  machine.near_bytes = 1000;
  machine.far_bytes = 10000;
  machine.arithmetic = {
      {DType::kF32, 1, 10}, {DType::kF32, 16, 40}, {DType::kF16, 1, 5}, {DType::kBF16, 1, 20}};
  machine.launch_ns = 700;
  machine.task_ns = 20;
  machine.piece_ns = 3;
  return machine;
}

Work HalfEach() {
  Work work;
  work.run_bytes = 4096;
  work.rows = 1;
  work.busiest_share = 0.5;
  return work;
}

Cost CostOn(const Work& work, int threads, const Traffic& traffic = {}) {
  return CostOf(work, traffic, DType::kF32, threads, Machine());
}

TEST(Cost, MemoryIsSharedAndOneThreadIsHeldToItsOwnRate) {
  Work work = HalfEach();
  work.memory_bytes = 3000;
  EXPECT_DOUBLE_EQ(CostOn(work, 2).memory_ns, 200);  // 15 GB/s together
  work.busiest_share = 1;
  EXPECT_DOUBLE_EQ(CostOn(work, 2).memory_ns, 300);  // 10 GB/s alone
  EXPECT_DOUBLE_EQ(CostOn(work, 1).memory_ns, 300);
}

TEST(Cost, ShortRunsAreReadSlowerAndRatesBetweenPointsLieBetween) {
  Work work = HalfEach();
  work.memory_bytes = 30000;
  const auto at = [&](int64_t run) {
    work.run_bytes = run;
    return CostOn(work, 2).memory_ns;
  };
  EXPECT_DOUBLE_EQ(at(64), 10000);  // below the first point: its rate
  EXPECT_DOUBLE_EQ(at(256), 10000);
  EXPECT_DOUBLE_EQ(at(1024), 30000 / 9.0);  // half way on a log axis
  EXPECT_DOUBLE_EQ(at(65536), 1000);
  EXPECT_DOUBLE_EQ(at(1 << 20), 1000);
}

TEST(Cost, ArithmeticGoesByTypeAndRows) {
  Work work = HalfEach();
  work.flops = 8000;
  EXPECT_DOUBLE_EQ(CostOn(work, 2).arithmetic_ns, 400);
  work.rows = 16;
  EXPECT_DOUBLE_EQ(CostOn(work, 2).arithmetic_ns, 100);
  work.rows = 4;  // half way on a log axis
  EXPECT_DOUBLE_EQ(CostOn(work, 2).arithmetic_ns, 160);
  EXPECT_DOUBLE_EQ(CostOf(work, {}, DType::kBF16, 2, Machine()).arithmetic_ns, 200);
}

TEST(Cost, MovesCostWhatTheCacheCostsThatTheyHit) {
  Work work = HalfEach();
  work.moved_bytes = 20000;
  const auto within = [&](int64_t bytes) {
    work.moved_within = bytes;
    return CostOn(work, 2).moves_ns;
  };
  EXPECT_DOUBLE_EQ(within(1000), 100);
  EXPECT_DOUBLE_EQ(within(1001), 200);
  EXPECT_DOUBLE_EQ(within(10001), 1000);
}

TEST(Cost, LaunchesTasksAndPiecesAreCounted) {
  Work work = HalfEach();
  work.pieces = 100;
  EXPECT_DOUBLE_EQ(CostOn(work, 2, {.tasks = 10, .launches = 2}).overhead_ns, 1400 + 0.5 * (200 + 300));
  work.busiest_share = 1;
  EXPECT_DOUBLE_EQ(CostOn(work, 1, {.tasks = 10, .launches = 2}).overhead_ns, 500);  // nobody to wake
}

TEST(Cost, MemoryFallsTogetherWithTheRestOnlyWhereItIsAskedAhead) {
  Work work = HalfEach();
  work.memory_bytes = 3000;  // 200 ns
  work.flops = 2000;         // 100 ns
  work.moved_bytes = 6000;   // 30 ns
  EXPECT_DOUBLE_EQ(CostOn(work, 2).total_ns, 330);
  work.overlaps = true;
  EXPECT_DOUBLE_EQ(CostOn(work, 2).total_ns, 200);
  work.flops = 4000;  // 200 ns
  EXPECT_DOUBLE_EQ(CostOn(work, 2).total_ns, 230);
}

TEST(Cost, TheBusiestShareIsThatOfTasksTakenInOrder) {
  EXPECT_DOUBLE_EQ(BusiestShare(std::vector<double>{1, 1, 1, 1}, 2), 0.5);
  EXPECT_DOUBLE_EQ(BusiestShare(std::vector<double>{3, 1, 1, 1}, 2), 0.5);
  EXPECT_DOUBLE_EQ(BusiestShare(std::vector<double>{1, 1, 1, 3}, 2), 4.0 / 6);
  EXPECT_DOUBLE_EQ(BusiestShare(std::vector<double>{5}, 8), 1);
  EXPECT_DOUBLE_EQ(BusiestShare(std::vector<double>{}, 4), 0.25);
  EXPECT_DOUBLE_EQ(BusiestShare(std::vector<double>{0, 0}, 4), 0.25);
}

TEST(Cost, RunsAreWhatLiesTogetherInTheOrderOfTheWalk) {
  PagedKvView kv;
  kv.dtype = DType::kBF16;
  kv.page_size = 32;
  kv.kv_heads = 4;
  kv.head_dim = 64;
  kv.k_slot_stride = 256;  // [S, H, D]
  kv.k_head_stride = 64;
  EXPECT_EQ(RunBytes(kv, 1), 128);
  EXPECT_EQ(RunBytes(kv, 2), 256);
  EXPECT_EQ(RunBytes(kv, 4), 32 * 512);
  kv.k_slot_stride = 64;  // [H, S, D]
  kv.k_head_stride = 2048;
  EXPECT_EQ(RunBytes(kv, 1), 32 * 128);
  EXPECT_EQ(RunBytes(kv, 4), 32 * 128);
}

TEST(Cost, ATypicalMachineHasEveryRate) {
  for (const int threads : {1, 2, 64}) {
    const MachineModel machine = TypicalMachine(threads);
    Work work = HalfEach();
    work.memory_bytes = work.moved_bytes = 1 << 20;
    work.flops = 1e6;
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const Cost cost = CostOf(work, {.tasks = 3, .launches = 1}, dtype, threads, machine);
      EXPECT_GT(cost.memory_ns, 0);
      EXPECT_GT(cost.arithmetic_ns, 0);
      EXPECT_GT(cost.moves_ns, 0);
      EXPECT_GT(cost.overhead_ns, 0);
    }
  }
}

}  // namespace
}  // namespace pagoda

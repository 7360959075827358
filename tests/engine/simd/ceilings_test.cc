#include "engine/simd/ceilings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/sys/cpu.h"
#include "engine/simd/ceiling_kernels.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Milliseconds of work: figures of no worth, every path taken.
CeilingOptions Tiny() {
  CeilingOptions options;
  options.threads = {1, 3};
  options.run_threads = {2};
  options.run_bytes = {256, 4096};
  options.repeats = 3;
  options.least_buffer_bytes = 1;
  options.volume_bytes = 8 << 20;
  options.flop_seconds = 1e-4;
  return options;
}

template <typename Figures, typename Of>
void ExpectOrdered(const Figures& figures, Of of) {
  for (const auto& f : figures) {
    EXPECT_GT(of(f).lowest, 0);
    EXPECT_LE(of(f).lowest, of(f).median);
    EXPECT_LE(of(f).median, of(f).highest);
  }
}

TEST(Ceilings, MeasuresWhatIsAskedFor) {
  CeilingOptions options = Tiny();
  std::set<std::string> steps;
  int announced = 0;
  options.on_step = [&](std::string_view step, int done, int all) {
    EXPECT_EQ(done, static_cast<int>(steps.size()));
    steps.insert(std::string(step));
    announced = all;
    return true;
  };
  const MachineCeilings c = MeasureCeilings(options);
  EXPECT_EQ(static_cast<int>(steps.size()), announced);
  ASSERT_THAT(c.read, SizeIs(4));
  EXPECT_EQ(c.read[0].run_bytes, 0);
  EXPECT_EQ(c.read[0].threads, 1);
  EXPECT_EQ(c.read[1].threads, 3);
  EXPECT_EQ(c.read[2].run_bytes, 256);
  EXPECT_EQ(c.read[3].run_bytes, 4096);
  EXPECT_EQ(c.read[3].threads, 2);
  EXPECT_THAT(c.copy, SizeIs(2));
  EXPECT_THAT(c.flops, SizeIs(2 * UsableFlopLoops().size()));
  ExpectOrdered(c.read, [](const auto& f) { return f.gb_per_s; });
  ExpectOrdered(c.copy, [](const auto& f) { return f.gb_per_s; });
  ExpectOrdered(c.flops, [](const auto& f) { return f.gflop_per_s; });
  EXPECT_GE(c.buffer_bytes, 8 * sys::ReadMachineInfo().LastLevelCacheBytes());
  EXPECT_GE(c.timer_resolution_ns, 1);
  EXPECT_GT(c.timer_cost_ns, 0);
}

TEST(Ceilings, TheWidestOfEachDtypeWhenNotEveryIsaIsWanted) {
  CeilingOptions options = Tiny();
  options.threads = {1};
  options.run_bytes = {};
  options.copy = false;
  options.every_isa = false;
  const MachineCeilings c = MeasureCeilings(options);
  const sys::CpuFeatures features = sys::DetectCpuFeatures();
  EXPECT_THAT(c.flops, SizeIs(features.avx512_bf16 ? 2 : 1));
  EXPECT_EQ(c.flops[0].dtype, "f32");
#if defined(__x86_64__)
  EXPECT_EQ(c.flops[0].isa, features.avx512 ? "avx512" : features.avx2 ? "avx2" : "scalar");
#endif
}

// What options give, whose steps must be as many as were announced.
MachineCeilings MeasureAndCountSteps(CeilingOptions options) {
  int last = 0, announced = 0;
  options.on_step = [&](std::string_view, int done, int all) {
    last = done;
    announced = all;
    return true;
  };
  MachineCeilings ceilings = MeasureCeilings(options);
  EXPECT_EQ(last + 1, announced);
  return ceilings;
}

TEST(Ceilings, WhatIsNotWantedIsNotMeasured) {
  CeilingOptions options = Tiny();
  options.flops = options.streams = options.copy = false;
  const MachineCeilings c = MeasureAndCountSteps(options);
  EXPECT_THAT(c.flops, SizeIs(0));
  EXPECT_THAT(c.copy, SizeIs(0));
  for (const ReadCeiling& read : c.read) EXPECT_GT(read.run_bytes, 0);
}

TEST(Ceilings, RoundsKeepOneFigureOfEachThing) {
  CeilingOptions options = Tiny();
  const MachineCeilings once = MeasureCeilings(options);
  options.rounds = 3;
  const MachineCeilings c = MeasureAndCountSteps(options);
  EXPECT_THAT(c.read, SizeIs(once.read.size()));
  EXPECT_THAT(c.flops, SizeIs(once.flops.size()));
  EXPECT_THAT(c.copy, SizeIs(once.copy.size()));
}

TEST(Ceilings, StopsWhenTold) {
  CeilingOptions options = Tiny();
  int steps = 0;
  options.on_step = [&](std::string_view, int, int) { return ++steps < 3; };
  const MachineCeilings c = MeasureCeilings(options);
  EXPECT_EQ(steps, 3);
  EXPECT_THAT(c.flops, SizeIs(2));
  EXPECT_THAT(c.read, IsEmpty());
}

TEST(Ceilings, LeavesTheCallerUnpinned) {
  cpu_set_t before, after;
  CPU_ZERO(&before);
  CPU_ZERO(&after);
  sched_getaffinity(0, sizeof before, &before);
  CeilingOptions options = Tiny();
  options.on_step = [](std::string_view, int, int) { return false; };
  MeasureCeilings(options);
  sched_getaffinity(0, sizeof after, &after);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(Ceilings, RefusesOptionsOutOfRange) {
  const auto field = [](auto change) {
    CeilingOptions options = Tiny();
    change(options);
    try {
      MeasureCeilings(options);
    } catch (const Error& e) {
      return e.field();
    }
    return std::string("nothing thrown");
  };
  EXPECT_EQ(field([](auto& o) { o.threads = {}; }), "threads");
  EXPECT_EQ(field([](auto& o) { o.threads = {0}; }), "threads");
  EXPECT_EQ(field([](auto& o) { o.threads = {1 << 20}; }), "threads");
  EXPECT_EQ(field([](auto& o) { o.run_threads = {-1}; }), "run_threads");
  EXPECT_EQ(field([](auto& o) { o.repeats = 2; }), "repeats");
  EXPECT_EQ(field([](auto& o) { o.rounds = 0; }), "rounds");
  for (const int64_t run : {int64_t{0}, int64_t{128}, int64_t{300}, int64_t{2} << 20, int64_t{-256}}) {
    EXPECT_EQ(field([&](auto& o) { o.run_bytes = {run}; }), "run_bytes") << run;
  }
}

TEST(Ceilings, PresetsCoverOneThreadAndAllOfThem) {
  EXPECT_THAT(FullCeilings(1).threads, ElementsAre(1));
  EXPECT_THAT(FullCeilings(6).threads, ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(FullCeilings(6).run_threads, ElementsAre(1, 6));
  EXPECT_EQ(FullCeilings(2).run_bytes.front(), 256);
  EXPECT_EQ(FullCeilings(2).run_bytes.back(), 128 << 10);
  EXPECT_GE(FullCeilings(2).least_buffer_bytes, int64_t{1} << 30);
  EXPECT_THAT(QuickCeilings(8).threads, ElementsAre(1, 8));
  EXPECT_THAT(QuickCeilings(8).run_threads, ElementsAre(8));
}

TEST(CeilingKernels, TheCopyCopies) {
  constexpr int64_t kBytes = 4096 + 256;
  Buffer from(kBytes, Guards::kBoth), to(kBytes, Guards::kBoth);
  for (int64_t i = 0; i < kBytes; ++i) from.data()[i] = static_cast<std::byte>(i * 7);
  WidestMemoryLoops().copy(to.data(), from.data(), kBytes);
  EXPECT_EQ(std::memcmp(from.data(), to.data(), kBytes), 0);
  EXPECT_FALSE(to.FindDamage().has_value());
}

TEST(CeilingKernels, ReadsStayInTheirRuns) {
  // Runs at the very ends of a mapping whose neighbours a sanitizer guards.
  constexpr int64_t kRun = 256;
  const Buffer buffer(4 * kRun);
  const std::vector<uint32_t> order = {3, 0, 2, 1, 3};
  WidestMemoryLoops().read_runs(buffer.data(), order.data(), 4, kRun);
  WidestMemoryLoops().read_runs_ahead(buffer.data(), order.data(), 4, kRun, 1);
  WidestMemoryLoops().read_runs(buffer.data(), order.data() + 1, 1, 4 * kRun);
}

TEST(CeilingKernels, StreamsSideBySideReadEveryRunOnce) {
  const std::span<const uint32_t> order = SideBySideOrder();
  std::vector<uint32_t> sorted(order.begin(), order.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint32_t> every(kSideBySideBytes / kSideBySideRun);
  std::iota(every.begin(), every.end(), 0);
  EXPECT_EQ(sorted, every);
  const uint32_t apart = order[1] - order[0];
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i % 8 * apart + i / 8) << i;
}

TEST(CeilingKernels, EveryFlopLoopEndsAndIsDistinct) {
  std::set<std::string> names;
  for (const FlopLoop& loop : UsableFlopLoops()) {
    loop.run(100);
    EXPECT_GT(loop.flops_per_step, 0);
    EXPECT_TRUE(names.insert(loop.isa).second) << loop.isa;
  }
}

}  // namespace
}  // namespace pagoda

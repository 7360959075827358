#include "base/sys/cpu.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sys/machine_fixture.h"

namespace pagoda::sys {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Cpu, FeaturesAgreeWithWhatTheKernelLists) {
  const CpuFeatures features = DetectCpuFeatures();
  const std::string flags = fmt::format(" {} ", ReadMachineInfo().cpu_flags);
  const auto has = [&](const char* flag) { return flags.find(fmt::format(" {} ", flag)) != flags.npos; };
  EXPECT_EQ(features.avx2, has("avx2") && has("fma") && has("f16c"));
  EXPECT_EQ(features.avx512, has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl"));
  EXPECT_EQ(features.avx512_bf16, has("avx512_bf16"));
  // The kernel may refuse what it lists.
  EXPECT_LE(features.amx_bf16, has("amx_tile") && has("amx_bf16"));
}

TEST(Cpu, ThisMachineIsDescribed) {
  const MachineInfo info = ReadMachineInfo();
  EXPECT_GE(info.online_cpus, static_cast<int>(1));
  EXPECT_GT(info.memory_bytes, int64_t{64} << 20);
  EXPECT_THAT(info.kernel, HasSubstr("Linux"));
}

TEST(Cpu, ReadsAnotherMachine) {
  const FakeMachine machine;
  machine.Write("proc/cpuinfo",
                "processor\t: 0\nmodel name\t: Some CPU @ 2.0 GHz\nflags\t\t: fpu avx2 fma f16c hypervisor "
                "avx512f rtm\n");
  machine.Write("proc/meminfo", "MemTotal:       16000 kB\nMemFree: 1 kB\n");
  machine.Write("proc/sys/kernel/ostype", "Linux\n");
  machine.Write("proc/sys/kernel/osrelease", "6.1.0-1\n");
  machine.Write("sys/devices/system/cpu/online", "0-3,8\n");
  machine.Write("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,4\n");
  machine.Write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  machine.Write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  const std::string cache = "sys/devices/system/cpu/cpu0/cache/index";
  const auto add = [&](int i, const char* level, const char* type, const char* size, const char* sharing) {
    const std::string index = fmt::format("{}{}/", cache, i);
    machine.Write(index + "level", level);
    machine.Write(index + "type", type);
    machine.Write(index + "size", size);
    machine.Write(index + "shared_cpu_list", sharing);
  };
  add(0, "1", "Data", "48K", "0,4");
  add(1, "1", "Instruction", "32K", "0,4");
  add(2, "3", "Unified", "16M", "0-7");
  const MachineInfo info = ReadMachineInfo(machine.root());
  EXPECT_EQ(info.cpu_model, "Some CPU @ 2.0 GHz");
  EXPECT_EQ(info.cpu_flags, "avx2 fma f16c avx512f");
  EXPECT_THAT(info.caches,
              ElementsAre(CacheInfo{1, "Data", 48 << 10, 2}, CacheInfo{1, "Instruction", 32 << 10, 2},
                          CacheInfo{3, "Unified", 16 << 20, 8}));
  EXPECT_EQ(info.LastLevelCacheBytes(), 16 << 20);
  EXPECT_EQ(info.online_cpus, 5);
  EXPECT_EQ(info.threads_per_core, 2);
  EXPECT_EQ(info.memory_bytes, 16000 * 1024);
  EXPECT_EQ(info.kernel, "Linux 6.1.0-1");
  EXPECT_EQ(info.governor, "powersave");
  EXPECT_EQ(info.huge_pages, "madvise");
  EXPECT_TRUE(info.virtual_machine);

  machine.Write("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(ReadMachineInfo(machine.root()).memory_bytes, 16000 * 1024);
  machine.Write("sys/fs/cgroup/memory.max", "1048576\n");
  EXPECT_EQ(ReadMachineInfo(machine.root()).memory_bytes, 1048576);
}

TEST(Cpu, AvailableMemoryIsWhatMachineAndControlGroupHaveLeft) {
  EXPECT_GT(AvailableMemory(), 0);
  const FakeMachine machine;
  EXPECT_EQ(AvailableMemory(machine.root()), 0);
  machine.Write("proc/meminfo", "MemTotal:  16000 kB\nMemFree:  10 kB\nMemAvailable:  9000 kB\n");
  EXPECT_EQ(AvailableMemory(machine.root()), 9000 * 1024);
  machine.Write("sys/fs/cgroup/memory.max", "max\n");
  machine.Write("sys/fs/cgroup/memory.current", "3000000\n");
  EXPECT_EQ(AvailableMemory(machine.root()), 9000 * 1024);
  machine.Write("sys/fs/cgroup/memory.max", "5000000\n");
  EXPECT_EQ(AvailableMemory(machine.root()), 2000000);
  machine.Write("sys/fs/cgroup/memory.stat", "anon 1000000\nfile 500000\nkernel 7\n");
  EXPECT_EQ(AvailableMemory(machine.root()), 2500000);
  machine.Write("sys/fs/cgroup/memory.current", "6000000\n");
  EXPECT_EQ(AvailableMemory(machine.root()), 1) << "none is left, which is not: not known";
}

TEST(Cpu, AMachineThatTellsNothingIsNoError) {
  const FakeMachine machine;
  const MachineInfo info = ReadMachineInfo(machine.root());
  EXPECT_EQ(info.cpu_model, "");
  EXPECT_THAT(info.caches, IsEmpty());
  EXPECT_EQ(info.LastLevelCacheBytes(), 0);
  EXPECT_EQ(info.memory_bytes, 0);
}

TEST(Cpu, HostileFilesAreNoError) {
  const FakeMachine machine;
  machine.Write("proc/cpuinfo", ":\n::\nmodel name\nmodel name :\n\n");
  machine.Write("proc/meminfo", "MemTotal: lots\n");
  machine.Write("sys/devices/system/cpu/online", "x,-,9-3,\n");
  machine.Write("sys/kernel/mm/transparent_hugepage/enabled", "]always[");
  machine.Write("sys/devices/system/cpu/cpu0/cache/index0/level", "one");
  const MachineInfo info = ReadMachineInfo(machine.root());
  EXPECT_EQ(info.online_cpus, 0);
  EXPECT_EQ(info.huge_pages, "");
}

}  // namespace
}  // namespace pagoda::sys

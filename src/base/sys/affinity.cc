#include "base/sys/affinity.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace pagoda::sys {
namespace {

constexpr int kMaxCpus = 1 << 16;

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeCpuSet>;

bool Pin(pthread_t thread, int cpu) {
  if (cpu < 0 || cpu >= kMaxCpus) return false;
  const CpuSet set(CPU_ALLOC(cpu + 1));
  const size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(cpu, bytes, set.get());
  return pthread_setaffinity_np(thread, bytes, set.get()) == 0;
}

}  // namespace

std::vector<int> AllowedCpus() {
  // The kernel refuses a set smaller than its own with EINVAL, whatever is in it: grow until it fits.
  for (int cpus = CPU_SETSIZE; cpus <= kMaxCpus; cpus *= 2) {
    const CpuSet set(CPU_ALLOC(cpus));
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(getpid(), bytes, set.get()) != 0) continue;
    std::vector<int> allowed;
    for (int cpu = 0; cpu < cpus; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set.get())) allowed.push_back(cpu);
    }
    if (!allowed.empty()) return allowed;
  }
  std::vector<int> online(std::max(1U, std::thread::hardware_concurrency()));
  for (size_t i = 0; i < online.size(); ++i) online[i] = static_cast<int>(i);
  return online;
}

bool PinThisThread(int cpu) { return Pin(pthread_self(), cpu); }
bool PinThread(std::thread& thread, int cpu) { return Pin(thread.native_handle(), cpu); }

}  // namespace pagoda::sys

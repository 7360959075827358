#include "base/sys/affinity.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace pagoda::sys {
namespace {

TEST(Affinity, AllowedCpusAreDistinctAndAscending) {
  const auto cpus = AllowedCpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end(), std::less_equal<>()) || cpus.size() == 1);
  EXPECT_EQ(std::adjacent_find(cpus.begin(), cpus.end()), cpus.end());
}

TEST(Affinity, APinnedThreadRunsOnItsCpuAndTheMainThreadIsFree) {
  const auto cpus = AllowedCpus();
  std::thread([&] {
    for (const int cpu : cpus) {
      EXPECT_TRUE(PinThisThread(cpu));
      EXPECT_EQ(sched_getcpu(), cpu);
      EXPECT_EQ(AllowedCpus(), cpus) << "asked of the main thread";
    }
  }).join();
}

TEST(Affinity, ACpuThatIsNotThereIsRefused) {
  std::thread([] {
    for (const int cpu : {-1, 1 << 20, 60000}) EXPECT_FALSE(PinThisThread(cpu)) << cpu;
  }).join();
}

}  // namespace
}  // namespace pagoda::sys

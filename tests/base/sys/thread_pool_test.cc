#include "pagoda/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/sys/affinity.h"
#include "base/sys/clock.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

using testing::Each;
using testing::Eq;
using testing::HasSubstr;

// More threads than this machine has CPUs are among them on purpose.
class ThreadPoolOfN : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOfN, testing::Values(1, 2, 3, 8));

TEST_P(ThreadPoolOfN, RunsEachTaskOnceWhateverTheirNumber) {
  ThreadPool pool(GetParam());
  for (const int64_t tasks : {0, 1, 2, 3, 7, 64, 1000}) {
    std::vector<std::atomic<int>> runs(tasks);
    std::atomic<bool> bad_worker{false};
    pool.Run(tasks, [&](int64_t task, int worker) {
      ++runs[task];
      if (worker < 0 || worker >= pool.threads()) bad_worker = true;
    });
    for (int64_t i = 0; i < tasks; ++i) ASSERT_EQ(runs[i], 1) << "task " << i << " of " << tasks;
    EXPECT_FALSE(bad_worker);
  }
}

TEST_P(ThreadPoolOfN, LaunchesInARowSeeEachOthersPlainWrites) {
  ThreadPool pool(GetParam());
  // Not atomic: the pool alone orders a launch after the one before it.
  std::vector<int64_t> even(5, 0), odd(5, 0);
  for (int i = 0; i < 3000; ++i) {
    pool.Run(5, [&](int64_t task, int) { odd[task] = even[(task + 1) % 5] + 1; });
    pool.Run(5, [&](int64_t task, int) { even[task] = odd[(task + 3) % 5] + 1; });
  }
  EXPECT_THAT(even, Each(Eq(6000)));
}

TEST_P(ThreadPoolOfN, WorkersWakeAfterTheyHaveParked) {
  ThreadPool pool(GetParam());
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int64_t> sum{0};
    pool.Run(100, [&](int64_t task, int) { sum += task; });
    ASSERT_EQ(sum, 4950);
  }
}

TEST_P(ThreadPoolOfN, TheCallerWakesAfterItHasParked) {
  ThreadPool pool(GetParam());
  for (int i = 0; i < 3; ++i) {
    std::atomic<int> done{0};
    pool.Run(pool.threads(), [&](int64_t, int worker) {
      // Longer than the caller spins.
      if (worker != 0) std::this_thread::sleep_for(std::chrono::milliseconds(8));
      ++done;
    });
    ASSERT_EQ(done, pool.threads());
  }
}

TEST_P(ThreadPoolOfN, RethrowsTheFirstExceptionAfterEveryTaskRan) {
  ThreadPool pool(GetParam());
  std::atomic<int> ran{0};
  const auto body = [&](int64_t task, int) {
    ++ran;
    if (task == 3) throw std::out_of_range("task three");
  };
  try {
    pool.Run(50, body);
    FAIL() << "nothing was thrown";
  } catch (const std::out_of_range& e) {
    EXPECT_STREQ(e.what(), "task three");
  }
  EXPECT_EQ(ran, 50);
  // The pool lives on, and the exception is gone.
  ran = 0;
  pool.Run(3, body);
  EXPECT_EQ(ran, 3);
}

TEST_P(ThreadPoolOfN, KeepsOneOfManyExceptions) {
  ThreadPool pool(GetParam());
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(pool.Run(40, [](int64_t, int) { throw std::runtime_error("each"); }), std::runtime_error);
  }
}

TEST_P(ThreadPoolOfN, RefusesALaunchInsideALaunch) {
  ThreadPool pool(GetParam());
  try {
    pool.Run(2, [&](int64_t, int) { pool.Run(1, [](int64_t, int) {}); });
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("while a launch of the same pool runs"));
  }
  EXPECT_THROW(pool.Run(-1, [](int64_t, int) {}), Error);
  std::atomic<int> ran{0};
  pool.Run(9, [&](int64_t, int) { ++ran; });
  EXPECT_EQ(ran, 9);
}

TEST_P(ThreadPoolOfN, CountsLaunchesTasksAndTheTimeThatTheySpan) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.counters().first_start_ns, 0);
  const int64_t before = sys::NowNs();
  pool.Run(10, [](int64_t, int) {});
  const int64_t first_start = pool.counters().first_start_ns;
  pool.Run(20, [](int64_t, int) { std::this_thread::sleep_for(std::chrono::microseconds(300)); });
  pool.Run(0, [](int64_t, int) {});
  const int64_t after = sys::NowNs();
  const ThreadPool::Counters c = pool.counters();
  EXPECT_EQ(c.launches, 2);
  EXPECT_EQ(c.tasks, 30);
  EXPECT_EQ(c.first_start_ns, first_start);
  EXPECT_GE(c.first_start_ns, before);
  EXPECT_LE(c.last_end_ns, after);
  EXPECT_GE(c.last_end_ns - c.first_start_ns, 20 * 300'000 / GetParam());
  pool.ResetCounters();
  EXPECT_EQ(pool.counters().launches, 0);
  EXPECT_EQ(pool.counters().tasks, 0);
  EXPECT_EQ(pool.counters().first_start_ns, 0);
  EXPECT_EQ(pool.counters().last_end_ns, 0);
}

TEST_P(ThreadPoolOfN, PoolsMadeAndDroppedWithoutALaunch) {
  for (int i = 0; i < 20; ++i) {
    ThreadPool pool(GetParam());
    EXPECT_EQ(pool.threads(), GetParam());
  }
}

TEST(ThreadPool, SlowTasksGoToDifferentWorkers) {
  ThreadPool pool(4);
  std::mutex mutex;
  std::set<int> workers;
  pool.Run(8, [&](int64_t, int worker) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::lock_guard lock(mutex);
    workers.insert(worker);
  });
  EXPECT_EQ(workers.size(), 4U);
}

TEST(ThreadPool, TwoPoolsTakeTurns) {
  ThreadPool a(2), b(3);
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 500; ++i) {
    a.Run(4, [&](int64_t, int) { ++sum; });
    b.Run(4, [&](int64_t, int) { b.threads() == 3 ? ++sum : 0; });
  }
  EXPECT_EQ(sum, 4000);
}

int64_t ThreadsOfThisProcess() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

TEST(ThreadPool, OneThreadStartsNoThread) {
  const int64_t before = ThreadsOfThisProcess();
  ThreadPool one(1);
  EXPECT_EQ(ThreadsOfThisProcess(), before);
  ThreadPool three(3);
  EXPECT_EQ(ThreadsOfThisProcess(), before + 2);
}

std::set<int> CpusOfThisThread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::set<int> cpus;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cpus.insert(i);
  }
  return cpus;
}

TEST(ThreadPool, PinsWorkersRoundTheAllowedCpusAndLeavesTheCallerAlone) {
  const std::vector<int> allowed = sys::AllowedCpus();
  const std::set<int> caller = CpusOfThisThread();
  for (const bool pin : {true, false}) {
    ThreadPool pool(5, pin);
    std::vector<std::set<int>> seen(5);
    pool.Run(5, [&](int64_t, int worker) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      seen[worker] = CpusOfThisThread();
    });
    EXPECT_EQ(seen[0], caller);
    for (int i = 1; i < 5; ++i) {
      if (seen[i].empty()) continue;  // it came too late for a task
      EXPECT_EQ(seen[i], pin ? std::set<int>{allowed[i % allowed.size()]} : caller) << "worker " << i;
    }
  }
}

TEST(ThreadPool, RefusesAThreadCountOutOfRange) {
  for (const int threads : {0, -1, 1 << 20}) {
    try {
      ThreadPool pool(threads);
      FAIL() << threads;
    } catch (const Error& e) {
      EXPECT_EQ(e.field(), "threads");
      EXPECT_THAT(e.what(), HasSubstr(std::to_string(threads)));
    }
  }
}

class DefaultThreadsTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv("PAGODA_THREADS"); }
};

TEST_F(DefaultThreadsTest, IsTheNumberOfAllowedCpus) {
  unsetenv("PAGODA_THREADS");
  EXPECT_EQ(DefaultThreads(), static_cast<int>(sys::AllowedCpus().size()));
  setenv("PAGODA_THREADS", "", 1);
  EXPECT_EQ(DefaultThreads(), static_cast<int>(sys::AllowedCpus().size()));
}

TEST_F(DefaultThreadsTest, ObeysTheEnvironment) {
  setenv("PAGODA_THREADS", "7", 1);
  EXPECT_EQ(DefaultThreads(), 7);
}

TEST_F(DefaultThreadsTest, RefusesWhatIsNoCount) {
  for (const char* text : {"0", "-2", "two", "2x", " 2", "99999999999999999999", "1.5"}) {
    setenv("PAGODA_THREADS", text, 1);
    try {
      DefaultThreads();
      FAIL() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.field(), "PAGODA_THREADS");
      EXPECT_THAT(e.what(), HasSubstr(text));
    }
  }
}

}  // namespace
}  // namespace pagoda

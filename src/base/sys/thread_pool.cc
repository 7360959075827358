// Launch protocol. `gate` says whether a launch is open. A worker that sees an open launch enters (`inside` +
// 1), looks at the gate again, and only then touches the launch; the caller closes the gate and waits until
// nobody is inside. So a launch never waits for a worker that still sleeps: whoever is awake takes the tasks.
// Both sides write one of (gate, inside) and then read the other, so these four accesses are sequentially
// consistent.
#include "pagoda/thread_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/sys/affinity.h"
#include "base/sys/clock.h"
#include "base/sys/futex.h"
#include "base/sys/pause.h"
#include "base/sys/setting.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

// Two lines: the adjacent-line prefetcher of x86 pulls pairs.
constexpr size_t kApart = 128;
// Between two operators of a decoder pass a few microseconds; waking a parked thread costs 5-50.
constexpr int64_t kWorkerSpinNs = ThreadPool::kSpinNs;
// The caller waits for work in flight, which will end: parking it would add a wake-up to what is timed.
constexpr int64_t kCallerSpinNs = 1'000'000;

constexpr uint32_t kOpen = 1;
constexpr uint32_t kStop = 2;
constexpr uint32_t kNextLaunch = 4;

// Polls until done() or until `spin_ns` have passed. Returns done().
template <typename Done>
bool SpinUntil(Done done, int64_t spin_ns) {
  if (done()) return true;
  if (spin_ns == 0) return false;
  const int64_t give_up = sys::NowNs() + spin_ns;
  do {
    for (int i = 0; i < 16; ++i) {
      sys::CpuPause();
      if (done()) return true;
    }
  } while (sys::NowNs() < give_up);
  return done();
}

// Written by one worker while it is inside a launch, read by the caller between launches.
struct alignas(kApart) WorkerTimes {
  int64_t first_start_ns = 0;
  int64_t last_end_ns = 0;
};

}  // namespace

struct ThreadPool::Impl {
  explicit Impl(int n) : times(n) {}

  void Work(int worker);
  void WorkerLoop(int worker);
  uint32_t AwaitLaunch(uint32_t served);
  void Open(int64_t new_tasks, TaskFn new_fn, void* new_body);
  void Close();
  void Stop();

  // Constant while workers run.
  int64_t worker_spin_ns = 0;
  int64_t caller_spin_ns = 0;
  std::vector<std::thread> workers;
  std::vector<WorkerTimes> times;  // of each worker, the caller first

  // Written by the caller before it opens the gate.
  alignas(kApart) std::atomic<uint32_t> gate{0};  // launch * kNextLaunch + kOpen while it is open
  int64_t tasks = 0;
  TaskFn fn = nullptr;
  void* body = nullptr;

  alignas(kApart) std::atomic<int64_t> next{0};
  alignas(kApart) std::atomic<uint32_t> inside{0};
  alignas(kApart) std::atomic<int32_t> parked{0};  // workers that need a wake-up
  std::atomic<bool> caller_parked{false};
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // written by whoever set `failed`

  alignas(kApart) std::atomic<bool> running{false};
  Counters counters;
};

void ThreadPool::Impl::Work(int worker) {
  int64_t task = next.fetch_add(1, std::memory_order_relaxed);
  if (task >= tasks) return;
  WorkerTimes& mine = times[worker];
  if (mine.first_start_ns == 0) mine.first_start_ns = sys::NowNs();
  do {
    try {
      fn(body, task, worker);
    } catch (...) {
      if (!failed.exchange(true, std::memory_order_relaxed)) error = std::current_exception();
    }
    task = next.fetch_add(1, std::memory_order_relaxed);
  } while (task < tasks);
  mine.last_end_ns = sys::NowNs();
}

uint32_t ThreadPool::Impl::AwaitLaunch(uint32_t served) {
  uint32_t now = 0;
  const auto is_new = [&] {
    now = gate.load(std::memory_order_acquire);
    return (now & (kOpen | kStop)) != 0 && now != served;
  };
  if (SpinUntil(is_new, worker_spin_ns)) return now;
  parked.fetch_add(1, std::memory_order_seq_cst);
  while (true) {
    now = gate.load(std::memory_order_seq_cst);
    if ((now & (kOpen | kStop)) != 0 && now != served) break;
    sys::FutexWait(gate, now);
  }
  parked.fetch_sub(1, std::memory_order_relaxed);
  return now;
}

void ThreadPool::Impl::WorkerLoop(int worker) {
  uint32_t served = 0;
  while (true) {
    if ((AwaitLaunch(served) & kStop) != 0) return;
    inside.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t launch = gate.load(std::memory_order_seq_cst);
    if ((launch & kOpen) != 0) {
      served = launch;
      Work(worker);
    }
    if (inside.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
        caller_parked.load(std::memory_order_seq_cst)) {
      sys::FutexWake(inside, 1);
    }
  }
}

void ThreadPool::Impl::Open(int64_t new_tasks, TaskFn new_fn, void* new_body) {
  tasks = new_tasks;
  fn = new_fn;
  body = new_body;
  next.store(0, std::memory_order_relaxed);
  gate.store(gate.load(std::memory_order_relaxed) + kNextLaunch + kOpen, std::memory_order_seq_cst);
  const int64_t asleep = parked.load(std::memory_order_seq_cst);
  if (asleep == 0) return;
  sys::FutexWake(gate, static_cast<int>(std::min<int64_t>(asleep, new_tasks - 1)));
}

void ThreadPool::Impl::Close() {
  gate.store(gate.load(std::memory_order_relaxed) - kOpen, std::memory_order_seq_cst);
  if (SpinUntil([&] { return inside.load(std::memory_order_seq_cst) == 0; }, caller_spin_ns)) return;
  caller_parked.store(true, std::memory_order_seq_cst);
  uint32_t now = 0;
  while ((now = inside.load(std::memory_order_seq_cst)) != 0) sys::FutexWait(inside, now);
  caller_parked.store(false, std::memory_order_relaxed);
}

void ThreadPool::Impl::Stop() {
  gate.store(kStop, std::memory_order_seq_cst);
  sys::FutexWake(gate, std::numeric_limits<int>::max());
  for (std::thread& worker : workers) worker.join();
}

ThreadPool::ThreadPool(int threads, bool pin) {
  if (threads < 1 || threads > kMaxThreads) {
    throw Error(ErrorCode::kInvalidArgument, "threads",
                fmt::format("= {} is outside 1..{}; take the number of CPUs", threads, kMaxThreads));
  }
  impl_ = std::make_unique<Impl>(threads);
  const std::vector<int> cpus = sys::AllowedCpus();
  // With fewer CPUs than threads a spinning thread would hold the CPU that another needs to get on.
  if (threads <= static_cast<int>(cpus.size())) {
    impl_->worker_spin_ns = kWorkerSpinNs;
    impl_->caller_spin_ns = kCallerSpinNs;
  }
  impl_->workers.reserve(threads - 1);
  try {
    for (int i = 1; i < threads; ++i) {
      std::thread& worker = impl_->workers.emplace_back([impl = impl_.get(), i] { impl->WorkerLoop(i); });
      if (pin) sys::PinThread(worker, cpus[i % cpus.size()]);
    }
  } catch (const std::system_error& e) {
    const size_t started = impl_->workers.size();
    impl_->Stop();
    throw Error(ErrorCode::kInvalidArgument, "threads",
                fmt::format("= {}, but the system gave only {} ({}); ask for fewer or raise the limit of "
                            "processes (ulimit -u)",
                            threads, started + 1, e.what()));
  }
}

ThreadPool::~ThreadPool() {
  if (impl_ != nullptr) impl_->Stop();
}

int ThreadPool::threads() const { return static_cast<int>(impl_->times.size()); }

void ThreadPool::RunErased(int64_t tasks, TaskFn fn, void* body) {
  Impl& pool = *impl_;
  if (tasks < 0) {
    throw Error(ErrorCode::kInvalidArgument, "tasks", fmt::format("= {} is negative", tasks));
  }
  if (pool.running.load(std::memory_order_relaxed)) {
    throw Error(ErrorCode::kInvalidArgument, "ThreadPool::Run",
                "was called while a launch of the same pool runs; end that first, or take a pool of its own");
  }
  if (tasks == 0) return;
  pool.running.store(true, std::memory_order_relaxed);
  if (pool.workers.empty() || tasks == 1) {
    // No gate: nobody could help.
    pool.tasks = tasks;
    pool.fn = fn;
    pool.body = body;
    pool.next.store(0, std::memory_order_relaxed);
    pool.Work(0);
  } else {
    pool.Open(tasks, fn, body);
    pool.Work(0);
    pool.Close();
  }
  ++pool.counters.launches;
  pool.counters.tasks += tasks;
  pool.running.store(false, std::memory_order_relaxed);
  if (pool.failed.load(std::memory_order_relaxed)) {
    pool.failed.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(pool.error, nullptr));
  }
}

const ThreadPool::Counters& ThreadPool::counters() const {
  Counters& sum = impl_->counters;
  sum.first_start_ns = 0;
  sum.last_end_ns = 0;
  for (const WorkerTimes& t : impl_->times) {
    if (t.first_start_ns == 0) continue;
    sum.first_start_ns =
        sum.first_start_ns == 0 ? t.first_start_ns : std::min(sum.first_start_ns, t.first_start_ns);
    sum.last_end_ns = std::max(sum.last_end_ns, t.last_end_ns);
  }
  return sum;
}

void ThreadPool::ResetCounters() {
  impl_->counters = {};
  std::fill(impl_->times.begin(), impl_->times.end(), WorkerTimes{});
}

int DefaultThreads() {
  const std::optional<int64_t> threads =
      sys::WholeNumberSetting("PAGODA_THREADS", 1, ThreadPool::kMaxThreads,
                              fmt::format("is not a number of threads in 1..{}", ThreadPool::kMaxThreads));
  return threads ? static_cast<int>(*threads) : static_cast<int>(sys::AllowedCpus().size());
}

}  // namespace pagoda

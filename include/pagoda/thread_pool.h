// Pinned workers that run the tasks of one launch at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace pagoda {

// The caller of Run is worker 0 and works too. Workers spin for a bounded time after a launch, then park.
// One launch at a time; Run may be called from one thread at a time. A pool of one starts no thread.
class ThreadPool {
 public:
  // How long an idle worker spins before it parks, nanoseconds.
  static constexpr int64_t kSpinNs = 100'000;
  static constexpr int kMaxThreads = 4096;

  // What a launch cost, kept since the last ResetCounters.
  struct Counters {
    int64_t launches = 0;
    int64_t tasks = 0;
    // Nanoseconds of the steady clock: the first worker's start and the last worker's end over all launches.
    int64_t first_start_ns = 0;
    int64_t last_end_ns = 0;
  };

  // 1 <= threads <= kMaxThreads. Worker i is pinned to the i-th CPU that the process may use (wrapping
  // round), unless `pin` is false; the calling thread is never pinned by the pool. Throws Error(threads) when
  // out of range.
  explicit ThreadPool(int threads, bool pin = true);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls f(task, worker) once for each task in [0, tasks), in no particular order, and returns when all are
  // done. The first exception that a task throws is rethrown here, after the launch has drained.
  template <typename F>
  void Run(int64_t tasks, F&& f) {
    using Body = std::remove_reference_t<F>;
    RunErased(
        tasks, [](void* body, int64_t task, int worker) { (*static_cast<Body*>(body))(task, worker); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

  const Counters& counters() const;
  void ResetCounters();

 private:
  using TaskFn = void (*)(void* body, int64_t task, int worker);
  void RunErased(int64_t tasks, TaskFn fn, void* body);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// PAGODA_THREADS if set, else the number of CPUs that the process may use. Throws Error(PAGODA_THREADS).
int DefaultThreads();

}  // namespace pagoda

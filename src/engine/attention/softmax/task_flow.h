// A small private executor of a prebuilt task graph: tasks become ready when what they wait for has run, and
// any worker takes the oldest ready one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "pagoda/thread_pool.h"

namespace pagoda {

class TaskFlow {
 public:
  // A task that runs after each of `after` (ids of earlier tasks; -1 is skipped). Returns its id.
  int32_t Add(std::initializer_list<int32_t> after);
  // Call once after the last Add.
  void Seal();

  int64_t tasks() const { return static_cast<int64_t>(waits_for_.size()); }
  size_t state_bytes() const { return 2 * waits_for_.size() * sizeof(int32_t); }

  // Calls run(task, worker) for every task. `state` has state_bytes() bytes and is overwritten.
  template <typename F>
  void Run(ThreadPool& pool, std::byte* state, F&& run) const {
    Session session(*this, reinterpret_cast<int32_t*>(state));
    pool.Run(pool.threads(), [&](int64_t, int worker) {
      for (int32_t task = session.Take(); task >= 0; task = session.Take()) {
        run(task, worker);
        session.Finish(task);
      }
    });
  }

 private:
  class Session {
   public:
    Session(const TaskFlow& flow, int32_t* state);
    int32_t Take();  // -1 when every task has been taken
    void Finish(int32_t task);

   private:
    const TaskFlow& flow_;
    int32_t* missing_;  // [tasks] predecessors that have not run
    int32_t* ready_;    // [tasks] in the order in which they became ready
    std::mutex mutex_;
    int64_t taken_ = 0;
    // Read without the lock by workers that wait for the next ready task.
    std::atomic<int64_t> made_ready_ = 0;
  };

  std::vector<int32_t> waits_for_;  // number of predecessors
  std::vector<int32_t> edge_from_, edge_to_;
  std::vector<int32_t> first_successor_;  // [tasks + 1] into successors_
  std::vector<int32_t> successors_;
};

}  // namespace pagoda

// Tasks that may run, of one worker; others steal from it.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <thread>

#include "base/sys/pause.h"
#include "pagoda/graph.h"

namespace pagoda::graph {

// What a task needs in order to stand in a queue.
struct ReadyTask {
  ReadyTask* next_ready = nullptr;
  int32_t blocks = 1;
  int32_t next_block = 0;  // to be taken; touched under a queue's lock
  uint8_t priority = 0;
};

// One block of a task; no task: none.
struct Claim {
  ReadyTask* task = nullptr;
  int32_t block = 0;
  bool last = false;  // of the task's blocks to be taken
};

// Of the highest priority first, then in the order in which they came. Any thread may call anything.
class alignas(128) ReadyQueue {
 public:
  void Push(ReadyTask& task) {
    task.next_ready = nullptr;
    const Lock lock(*this);
    Level& level = levels_[task.priority];
    (level.first == nullptr ? level.first : level.last->next_ready) = &task;
    level.last = &task;
    // Whoever goes to sleep looks at this after saying so: see Graph.
    filled_.store(filled_.load(std::memory_order_relaxed) | 1U << task.priority, std::memory_order_seq_cst);
  }

  Claim Take() {
    if (filled_.load(std::memory_order_relaxed) == 0) return {};
    const Lock lock(*this);
    const uint32_t filled = filled_.load(std::memory_order_relaxed);
    if (filled == 0) return {};
    const int priority = std::bit_width(filled) - 1;
    Level& level = levels_[priority];
    Claim claim{level.first, level.first->next_block++, false};
    claim.last = claim.task->next_block == claim.task->blocks;
    if (claim.last) {
      level.first = claim.task->next_ready;
      if (level.first == nullptr) filled_.store(filled & ~(1U << priority), std::memory_order_relaxed);
    }
    return claim;
  }

  bool empty() const { return filled_.load(std::memory_order_seq_cst) == 0; }
  // Whether it holds a task of a higher priority.
  bool HasAbove(int priority) const { return filled_.load(std::memory_order_relaxed) >> priority > 1; }

 private:
  struct Level {
    ReadyTask* first = nullptr;
    ReadyTask* last = nullptr;
  };
  class Lock {
   public:
    explicit Lock(ReadyQueue& queue) : locked_(queue.locked_) {
      while (locked_.exchange(true, std::memory_order_acquire)) {
        // With more threads than cores the holder may wait for this one's.
        for (uint32_t spins = 0; locked_.load(std::memory_order_relaxed); ++spins)
          spins < 64 ? sys::CpuPause() : std::this_thread::yield();
      }
    }
    ~Lock() { locked_.store(false, std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    std::atomic<bool>& locked_;
  };

  std::atomic<bool> locked_{false};
  std::atomic<uint32_t> filled_{0};  // bit p: there is a task of priority p
  Level levels_[Graph::kPriorities];
};

}  // namespace pagoda::graph

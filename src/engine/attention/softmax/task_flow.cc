#include "engine/attention/softmax/task_flow.h"

#include <algorithm>
#include <thread>

#include "base/sys/pause.h"

namespace pagoda {

int32_t TaskFlow::Add(std::initializer_list<int32_t> after) {
  const auto id = static_cast<int32_t>(waits_for_.size());
  int32_t count = 0;
  for (const int32_t from : after) {
    if (from < 0) continue;
    edge_from_.push_back(from);
    edge_to_.push_back(id);
    ++count;
  }
  waits_for_.push_back(count);
  return id;
}

void TaskFlow::Seal() {
  first_successor_.assign(waits_for_.size() + 1, 0);
  for (const int32_t from : edge_from_) ++first_successor_[from + 1];
  for (size_t i = 1; i < first_successor_.size(); ++i) first_successor_[i] += first_successor_[i - 1];
  successors_.resize(edge_to_.size());
  std::vector<int32_t> next(first_successor_.begin(), first_successor_.end() - 1);
  for (size_t e = 0; e < edge_to_.size(); ++e) successors_[next[edge_from_[e]]++] = edge_to_[e];
  edge_from_ = {};
  edge_to_ = {};
}

TaskFlow::Session::Session(const TaskFlow& flow, int32_t* state)
    : flow_(flow), missing_(state), ready_(state + flow.waits_for_.size()) {
  std::copy(flow.waits_for_.begin(), flow.waits_for_.end(), missing_);
  int64_t ready = 0;
  for (int32_t task = 0; task < flow.tasks(); ++task) {
    if (missing_[task] == 0) ready_[ready++] = task;
  }
  made_ready_.store(ready, std::memory_order_relaxed);
}

int32_t TaskFlow::Session::Take() {
  for (int spins = 0;; ++spins) {
    {
      const std::lock_guard lock(mutex_);
      if (taken_ == flow_.tasks()) return -1;
      if (taken_ < made_ready_.load(std::memory_order_relaxed)) return ready_[taken_++];
    }
    // Nothing is ready: another worker is inside a task. With more threads than cores it needs this one's
    // core.
    const int64_t seen = made_ready_.load(std::memory_order_relaxed);
    for (int i = 0; i < 64 && made_ready_.load(std::memory_order_acquire) == seen; ++i) sys::CpuPause();
    if (spins > 64) std::this_thread::yield();
  }
}

void TaskFlow::Session::Finish(int32_t task) {
  const std::lock_guard lock(mutex_);
  int64_t ready = made_ready_.load(std::memory_order_relaxed);
  for (int32_t i = flow_.first_successor_[task]; i < flow_.first_successor_[task + 1]; ++i) {
    const int32_t next = flow_.successors_[i];
    if (--missing_[next] == 0) ready_[ready++] = next;
  }
  made_ready_.store(ready, std::memory_order_release);
}

}  // namespace pagoda

#include "engine/attention/softmax/task_flow.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sys/pause.h"

namespace pagoda::testing {
namespace {

// A graph as lists of predecessors, and the flow made of it.
class Graph {
 public:
  static constexpr size_t kMostPredecessors = 64;

  int32_t Add(const std::vector<int32_t>& after) {
    std::array<int32_t, kMostPredecessors> padded;
    padded.fill(-1);  // skipped
    std::copy(after.begin(), after.end(), padded.begin());
    after_.push_back(after);
    return AddPadded(padded, std::make_index_sequence<kMostPredecessors>());
  }
  void Seal() {
    flow_.Seal();
    // Whatever an earlier run left there.
    state_.assign(flow_.state_bytes() + sizeof(int32_t), std::byte{0xab});
  }
  const TaskFlow& flow() const { return flow_; }

  // Runs the flow and holds it to: each task once, after each of its predecessors.
  void RunAndCheck(ThreadPool& pool, Random& random) {
    const auto tasks = static_cast<size_t>(flow_.tasks());
    std::vector<int> pauses(tasks);
    for (int& n : pauses) n = static_cast<int>(random.Below(200));
    const auto runs = std::make_unique<std::atomic<int>[]>(tasks);
    const auto done = std::make_unique<std::atomic<bool>[]>(tasks);
    std::atomic<int> early = 0;
    std::atomic<int> strange_worker = 0;
    flow_.Run(pool, state_.data(), [&](int32_t task, int worker) {
      if (worker < 0 || worker >= pool.threads()) ++strange_worker;
      for (const int32_t from : after_[task]) {
        if (!done[from].load()) ++early;
      }
      for (int i = 0; i < pauses[task]; ++i) sys::CpuPause();
      ++runs[task];
      done[task].store(true);
    });
    EXPECT_EQ(early.load(), 0) << "a task ran before one that it waits for";
    EXPECT_EQ(strange_worker.load(), 0);
    for (size_t task = 0; task < tasks; ++task) ASSERT_EQ(runs[task].load(), 1) << "task " << task;
    for (size_t i = flow_.state_bytes(); i < state_.size(); ++i) {
      ASSERT_EQ(state_[i], std::byte{0xab}) << "wrote past the state";
    }
  }

 private:
  template <size_t... I>
  int32_t AddPadded(const std::array<int32_t, kMostPredecessors>& after, std::index_sequence<I...>) {
    return flow_.Add({after[I]...});
  }

  TaskFlow flow_;
  std::vector<std::vector<int32_t>> after_;
  std::vector<std::byte> state_;
};

Graph ArbitraryGraph(Random& random) {
  Graph graph;
  const int64_t tasks = random.Between(1, 120);
  const int64_t reach = random.Between(1, tasks);  // how far back a task may wait
  for (int64_t t = 0; t < tasks; ++t) {
    std::vector<int32_t> after;
    const int64_t count = t == 0 ? 0 : random.Between(0, 4);
    // Repeats are legal: a task may read two results of one task.
    for (int64_t i = 0; i < count; ++i) {
      after.push_back(static_cast<int32_t>(random.Between(std::max<int64_t>(0, t - reach), t - 1)));
    }
    graph.Add(after);
  }
  graph.Seal();
  return graph;
}

TEST(TaskFlowOnThreadPool, RandomGraphsOnOneToEightThreads) {
  for (int threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads);
    for (uint64_t seed = 1; seed <= 25; ++seed) {
      SCOPED_TRACE(fmt::format("{} threads, seed {}", threads, seed));
      Random random(seed);
      Graph graph = ArbitraryGraph(random);
      // Twice over the same state.
      ASSERT_NO_FATAL_FAILURE(graph.RunAndCheck(pool, random));
      ASSERT_NO_FATAL_FAILURE(graph.RunAndCheck(pool, random));
    }
  }
}

TEST(TaskFlowOnThreadPool, NoTasksAtAll) {
  Graph graph;
  graph.Seal();
  EXPECT_EQ(graph.flow().tasks(), 0);
  EXPECT_EQ(graph.flow().state_bytes(), 0U);
  ThreadPool pool(3);
  Random random(1);
  graph.RunAndCheck(pool, random);
}

TEST(TaskFlowOnThreadPool, AChainRunsInOrder) {
  Graph graph;
  int32_t last = -1;
  for (int i = 0; i < 200; ++i)
    last = graph.Add(last < 0 ? std::vector<int32_t>{} : std::vector<int32_t>{last});
  EXPECT_EQ(last, 199);
  graph.Seal();
  Random random(1);
  for (const int threads : {1, 2, 8}) {
    ThreadPool pool(threads);
    graph.RunAndCheck(pool, random);
  }
}

TEST(TaskFlowOnThreadPool, FanInAndOutOf64) {
  Graph graph;
  const int32_t root = graph.Add({});
  std::vector<int32_t> middle;
  for (int i = 0; i < 64; ++i) middle.push_back(graph.Add({root}));
  const int32_t join = graph.Add(middle);
  for (int i = 0; i < 64; ++i) graph.Add({join});
  graph.Seal();
  EXPECT_EQ(graph.flow().tasks(), 130);
  Random random(1);
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    graph.RunAndCheck(pool, random);
  }
}

TEST(TaskFlowOnThreadPool, AnyWorkerTakesTheOldestReadyTask) {
  // On one thread the order is that of becoming ready: roots first, then what they free.
  TaskFlow flow;
  const int32_t a = flow.Add({});
  const int32_t b = flow.Add({a});
  const int32_t c = flow.Add({});
  const int32_t d = flow.Add({b, c});
  flow.Seal();
  std::vector<std::byte> state(flow.state_bytes());
  ThreadPool pool(1);
  std::vector<int32_t> order;
  flow.Run(pool, state.data(), [&](int32_t task, int) { order.push_back(task); });
  EXPECT_EQ(order, (std::vector<int32_t>{a, c, b, d}));
}

TEST(TaskFlowOnThreadPool, TakesOneLaunchWithATaskPerThread) {
  TaskFlow flow;
  for (int i = 0; i < 10; ++i) flow.Add({});
  flow.Seal();
  std::vector<std::byte> state(flow.state_bytes());
  ThreadPool pool(3);
  flow.Run(pool, state.data(), [](int32_t, int) {});
  EXPECT_EQ(pool.counters().launches, 1);
  EXPECT_EQ(pool.counters().tasks, 3);
}

}  // namespace
}  // namespace pagoda::testing

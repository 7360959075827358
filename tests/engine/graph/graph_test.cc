// The runtime: what runs, in which order, and what happens when it can't.
#include "pagoda/graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pagoda/status.h"

namespace pagoda::graph::testing {
namespace {

// Floats of the test's own as one buffer.
struct Floats {
  explicit Floats(int64_t count, float value = 0) : values(static_cast<size_t>(count), value) {}
  Tensor tensor() {
    return Tensor(TensorView::Dense(values.data(), DType::kF32, {static_cast<int64_t>(values.size())}));
  }
  std::vector<float> values;
};

float* DataOf(const TensorView& t) { return static_cast<float*>(t.data); }

// out = 2 * out + 1: no two orders of such tasks and additions give the same.
void Double(const Context& c) {
  for (int64_t i = 0; i < c.tensors[0].shape[0]; ++i) {
    float& x = DataOf(c.tensors[0])[i * c.tensors[0].strides[0]];
    x = 2 * x + 1;
  }
}

void Nothing(const Context&) {}

void ExpectError(const std::function<void()>& run, const std::string& field, const std::string& part) {
  try {
    run();
    ADD_FAILURE() << "nothing was thrown; wanted " << field << " " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.field(), field) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

class GraphOfThreads : public ::testing::TestWithParam<int> {
 protected:
  ThreadPool pool_{GetParam()};
};

TEST_P(GraphOfThreads, RunsAChainInOrder) {
  Graph graph(pool_);
  Floats x(1);
  const Tensor t = x.tensor();
  for (int run = 0; run < 3; ++run) {
    x.values[0] = 0;
    graph.Run([&] {
      for (int i = 0; i < 20; ++i) graph.Submit("double", Double, {InOut(t)});
    });
    EXPECT_EQ(x.values[0], static_cast<float>((1 << 20) - 1));
  }
}

TEST_P(GraphOfThreads, GivesEachTaskItsTensorsAndOutputs) {
  Graph graph(pool_);
  Floats x(64, 3);
  Floats sum(1);
  const Tensor in = x.tensor();
  const Tensor out = sum.tensor();
  graph.Run([&] {
    const Graph::Scope scope(graph);
    Tensor squares;
    graph.Submit("square",
                 [](const Context& c) {
                   for (int64_t i = 0; i < 64; ++i)
                     DataOf(c.tensors[1])[i] = DataOf(c.tensors[0])[i] * DataOf(c.tensors[0])[i];
                 },
                 {In(in), Out(squares, DType::kF32, {64})});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(squares.view().data) % 64, 0U);
    graph.Submit("sum",
                 [](const Context& c) {
                   for (int64_t i = 0; i < 64; ++i) DataOf(c.tensors[1])[0] += DataOf(c.tensors[0])[i];
                 },
                 {In(squares), InOut(out)});
  });
  EXPECT_EQ(sum.values[0], 64 * 9);
}

// A random program: what its tasks do depends on their order wherever they touch.
struct Op {
  int64_t begin = 0, end = 0;  // written
  int64_t from = 0;            // read: as many from there
  int kind = 0;                // 0: inout, 1: in and existing, 2: in and inout
  int blocks = 1;
  int priority = 0;
  bool in_scope = false;
};

constexpr int64_t kCells = 40;

// Takes its time now and then, so that what may overtake it does.
void Dawdle(float number) {
  for (int i = static_cast<int>(number) % 5; i > 2; --i) std::this_thread::yield();
}

void Apply(float* written, const float* read, int64_t count, int kind, float number) {
  Dawdle(number);
  for (int64_t i = 0; i < count; ++i) {
    if (kind == 0) written[i] = 0.5F * written[i] + number;
    if (kind == 1) written[i] = read[i] + number;
    if (kind == 2) written[i] = 0.5F * written[i] + 0.25F * read[i] + number;
  }
}

TEST_P(GraphOfThreads, GivesTheBitsOfSequentialExecution) {
  Graph graph(pool_, {.window = 16, .heap_bytes = 4096, .dependencies = 64});
  EXPECT_TRUE(rc::check([&] {
    std::vector<Op> program(*rc::gen::inRange<size_t>(1, 60));
    for (Op& op : program) {
      const int64_t count = *rc::gen::inRange<int64_t>(1, 9);
      op.begin = *rc::gen::inRange<int64_t>(0, kCells - count + 1);
      op.end = op.begin + count;
      op.from = *rc::gen::inRange<int64_t>(0, kCells - count + 1);
      op.kind = *rc::gen::inRange(0, 3);
      op.blocks = *rc::gen::inRange(0, 4) == 0 ? 3 : 1;
      op.priority = *rc::gen::inRange(0, 4);
      op.in_scope = *rc::gen::arbitrary<bool>();
    }
    std::vector<float> want(kCells, 1);
    for (size_t i = 0; i < program.size(); ++i) {
      const Op& op = program[i];
      const std::vector<float> before = want;
      Apply(want.data() + op.begin, before.data() + op.from, op.end - op.begin, op.kind,
            static_cast<float>(i));
    }
    Floats got(kCells, 1);
    const Tensor all = got.tensor();
    graph.Run([&] {
      for (size_t i = 0; i < program.size(); ++i) {
        const Op& op = program[i];
        const auto submit = [&] {
          const Tensor written = all.Slice(0, op.begin, op.end);
          // Through a copy, since a task reads what it writes over.
          Tensor copy;
          graph.Submit("copy",
                       [](const Context& c) {
                         std::copy_n(DataOf(c.tensors[0]), c.tensors[0].shape[0], DataOf(c.tensors[1]));
                       },
                       {In(all.Slice(0, op.from, op.from + op.end - op.begin)),
                        Out(copy, DType::kF32, {op.end - op.begin})},
                       {.priority = op.priority});
          graph.Submit("apply",
                       [kind = op.kind, i](const Context& c) {
                         const int64_t n = c.tensors[1].shape[0];
                         const int64_t begin = n * c.block / c.blocks;
                         const int64_t end = n * (c.block + 1) / c.blocks;
                         Apply(DataOf(c.tensors[1]) + begin, DataOf(c.tensors[0]) + begin, end - begin, kind,
                               static_cast<float>(i));
                       },
                       {In(copy), op.kind == 1 ? Existing(written) : InOut(written)},
                       {.blocks = op.blocks, .priority = op.priority});
        };
        const Graph::Scope scope(graph);
        if (op.in_scope) {
          const Graph::Scope inner(graph);
          submit();
        } else {
          submit();
        }
      }
    });
    RC_ASSERT(got.values == want);
  }));
}

// Reads may run beside each other; the write behind them waits for all, and reads behind it for the write.
TEST_P(GraphOfThreads, FansOutAndIn) {
  Graph graph(pool_);
  Floats source(1, 1);
  Floats results(64);
  const Tensor in = source.tensor();
  const Tensor out = results.tensor();
  graph.Run([&] {
    for (int64_t round = 0; round < 64; ++round) {
      for (int64_t i = 0; i < 64; ++i) {
        graph.Submit("add", [](const Context& c) { *DataOf(c.tensors[1]) += *DataOf(c.tensors[0]); },
                     {In(in), InOut(out.Slice(0, i, i + 1))});
      }
      graph.Submit("next", [](const Context& c) { *DataOf(c.tensors[0]) += 1; }, {InOut(in)});
    }
  });
  for (const float result : results.values) EXPECT_EQ(result, 64 * 65 / 2);
}

TEST_P(GraphOfThreads, AWideFanOutReachesAll) {
  Graph graph(pool_);
  Floats source(1, 2);
  Floats results(5000);
  const Tensor in = source.tensor();
  const Tensor out = results.tensor();
  graph.Run([&] {
    graph.Submit("first", Double, {InOut(in)});
    for (int64_t i = 0; i < 5000; ++i) {
      graph.Submit("take", [](const Context& c) { *DataOf(c.tensors[1]) = *DataOf(c.tensors[0]); },
                   {In(in), Existing(out.Slice(0, i, i + 1))});
    }
  });
  EXPECT_EQ(std::count(results.values.begin(), results.values.end(), 5.0F), 5000);
}

TEST_P(GraphOfThreads, EveryBlockRunsOnce) {
  Graph graph(pool_);
  for (const int blocks : {1, 2, 3, 64}) {
    Floats counts(64);
    const Tensor t = counts.tensor();
    graph.Run([&] {
      for (int i = 0; i < 10; ++i) {
        graph.Submit("count", [](const Context& c) { DataOf(c.tensors[0])[c.block] += 1; }, {InOut(t)},
                     {.blocks = blocks});
      }
    });
    for (int i = 0; i < 64; ++i) EXPECT_EQ(counts.values[static_cast<size_t>(i)], i < blocks ? 10 : 0);
  }
}

// Blocks that wait for each other; other work is in the way, and gangs of several tasks at once.
TEST_P(GraphOfThreads, BlocksOfSyncStartRunAtTheSameTime) {
  Graph graph(pool_);
  std::array<std::atomic<int>, 20> arrived{};
  Floats x(1);
  const Tensor t = x.tensor();
  graph.Run([&] {
    for (int i = 0; i < 20; ++i) {
      graph.Submit("meet",
                   [count = &arrived[static_cast<size_t>(i)]](const Context& c) {
                     ++*count;
                     while (count->load() < c.blocks) std::this_thread::yield();
                   },
                   {}, {.blocks = GetParam(), .sync_start = true});
      graph.Submit("double", Double, {InOut(t)});
    }
  });
  for (const auto& count : arrived) EXPECT_EQ(count, GetParam());
}

TEST_P(GraphOfThreads, APredicateDecidesWhenItsTaskIsReady) {
  Graph graph(pool_);
  int32_t flag = 0;
  Floats x(2);
  const Tensor when(TensorView::Dense(&flag, DType::kI32, {1}));
  const Tensor t = x.tensor();
  graph.Run([&] {
    const auto run_when = [&](int64_t cell) {
      graph.Submit("double", Double, {InOut(t.Slice(0, cell, cell + 1))}, {.when = when});
    };
    run_when(0);
    graph.Submit("set", [](const Context& c) { *static_cast<int32_t*>(c.tensors[0].data) = 1; },
                 {InOut(when)});
    run_when(1);
    graph.Submit("double", Double, {InOut(t.Slice(0, 0, 1))});  // behind the one that did nothing
  });
  EXPECT_EQ(x.values, (std::vector<float>{1, 1}));
}

TEST_P(GraphOfThreads, ManualTasksWaitForWhatTheyName) {
  Graph graph(pool_);
  Floats x(1);
  const Tensor t = x.tensor();
  graph.Run([&] {
    const Graph::Scope scope(graph, ScopeMode::kManual);
    Task last;
    for (int i = 0; i < 20; ++i) last = graph.Submit("double", Double, {InOut(t)}, {.after = {last}});
    const Task joined = graph.Join("join", {}, {.after = {last}});
    graph.Submit("double", Double, {NoDep(t)}, {.after = {joined}});
  });
  EXPECT_EQ(x.values[0], static_cast<float>((1 << 21) - 1));
}

// The memory of a scope that was left is used again: much more than there is passes through.
TEST_P(GraphOfThreads, ScopesGiveTheirMemoryBack) {
  Graph graph(pool_, {.window = 8, .heap_bytes = 1024, .dependencies = 16});
  Floats sum(1);
  const Tensor total = sum.tensor();
  graph.Run([&] {
    for (int i = 0; i < 1000; ++i) {
      const Graph::Scope scope(graph);
      Tensor made;
      graph.Submit("make",
                   [i](const Context& c) {
                     std::fill_n(DataOf(c.tensors[0]), c.tensors[0].shape[0], static_cast<float>(i));
                   },
                   {Out(made, DType::kF32, {1 + i % 150})});
      graph.Submit("add", [](const Context& c) { *DataOf(c.tensors[1]) += *DataOf(c.tensors[0]); },
                   {In(made), InOut(total)});
    }
  });
  EXPECT_EQ(sum.values[0], 999 * 1000 / 2);
}

// A task that waits for more than the pool holds is submitted once some of these have run.
TEST_P(GraphOfThreads, OneDependencyIsEnough) {
  Graph graph(pool_, {.window = 100, .heap_bytes = 64, .dependencies = 1});
  Floats cells(64);
  const Tensor all = cells.tensor();
  graph.Run([&] {
    for (int round = 0; round < 10; ++round) {
      for (int64_t i = 0; i < 64; ++i) graph.Submit("double", Double, {InOut(all.Slice(0, i, i + 1))});
      graph.Submit("all", Double, {InOut(all)});
    }
  });
  EXPECT_EQ(std::count(cells.values.begin(), cells.values.end(), static_cast<float>((1 << 20) - 1)), 64);
}

struct GivenUp {};

TEST_P(GraphOfThreads, ThrowsTheFirstErrorAndRunsAgain) {
  Graph graph(pool_);
  Floats x(1);
  const Tensor t = x.tensor();
  const auto double_often = [&] {
    for (int i = 0; i < 100; ++i) graph.Submit("double", Double, {InOut(t)});
  };
  // What is submitted behind it is refused, or does nothing.
  const auto run = [&] {
    graph.Run([&] {
      graph.Submit("fail", [](const Context&) { throw std::runtime_error("no"); }, {InOut(t)});
      double_often();
    });
  };
  ExpectError(run, "task \"fail\"", "failed: no");
  EXPECT_EQ(x.values[0], 0);
  EXPECT_THROW(graph.Run([&] {
    double_often();
    throw GivenUp();
  }),
               GivenUp);
  x.values[0] = 0;
  graph.Run([&] { graph.Submit("double", Double, {InOut(t)}); });
  EXPECT_EQ(x.values[0], 1);
}

// A gang of all workers ends while the submitter still waits for something else.
TEST_P(GraphOfThreads, AGangNeedsNoEndOfSubmission) {
  Graph graph(pool_);
  std::atomic<bool> ran = false;
  graph.Run([&] {
    graph.Submit("gang", Nothing, {}, {.blocks = GetParam(), .sync_start = true});
    graph.Submit("flag", [&ran](const Context&) { ran = true; }, {});
    while (GetParam() > 1 && !ran) std::this_thread::yield();
  });
  EXPECT_TRUE(ran);
}

// A gang runs whole or not at all: a block that was left out would be waited for.
TEST_P(GraphOfThreads, AGangBesideAFailureEnds) {
  Graph graph(pool_);
  for (int run = 0; run < 200; ++run) {
    std::atomic<int> arrived = 0;
    ExpectError(
        [&] {
          graph.Run([&] {
            graph.Submit("fail", [](const Context&) { throw std::runtime_error("no"); }, {});
            for (int i = 0; i < 2; ++i) {
              graph.Submit("meet",
                           [&arrived](const Context& c) {
                             const int round = arrived++ / c.blocks;
                             while (arrived.load() < (round + 1) * c.blocks) std::this_thread::yield();
                           },
                           {}, {.blocks = GetParam(), .sync_start = true});
            }
          });
        },
        "task \"fail\"", "no");
    EXPECT_EQ(arrived % GetParam(), 0);
  }
}

// Tensors of an outer scope are held by tasks of inner ones, and a task waits for tasks of scopes that were
// left.
TEST_P(GraphOfThreads, TasksReachAcrossScopes) {
  Graph graph(pool_, {.window = 8, .heap_bytes = 1024, .dependencies = 8});
  Floats sum(1);
  const Tensor total = sum.tensor();
  Task of_earlier_run;
  for (int run = 0; run < 2; ++run) {
    sum.values[0] = 0;
    graph.Run([&] {
      for (int i = 0; i < 100; ++i) {
        const Graph::Scope scope(graph);
        Tensor made;
        graph.Submit("make", [](const Context& c) { *DataOf(c.tensors[0]) = 1; },
                     {Out(made, DType::kF32, {1})}, {.after = {of_earlier_run}});
        Task inside;
        for (int j = 0; j < 3; ++j) {
          const Graph::Scope inner(graph);
          Tensor copy;
          graph.Submit("copy", [](const Context& c) { *DataOf(c.tensors[1]) = *DataOf(c.tensors[0]); },
                       {In(made), Out(copy, DType::kF32, {16})});
          inside =
              graph.Submit("add", [](const Context& c) { *DataOf(c.tensors[1]) += *DataOf(c.tensors[0]); },
                           {In(copy), InOut(total)});
        }
        of_earlier_run = graph.Submit("add", [](const Context& c) { *DataOf(c.tensors[0]) += 1; },
                                      {NoDep(total)}, {.after = {inside}});
        graph.Join("join", {InOut(total)}, {.after = {of_earlier_run}});
      }
    });
    EXPECT_EQ(sum.values[0], 400);
  }
}

INSTANTIATE_TEST_SUITE_P(Pools, GraphOfThreads, ::testing::Values(1, 2, 8),
                         [](const auto& info) { return fmt::format("Threads{}", info.param); });

// With one worker nothing runs before the window is full or everything is submitted: the order is that of the
// queue.
TEST(Graph, RunsHigherPrioritiesFirstAndThenInOrder) {
  ThreadPool pool(1);
  Graph graph(pool);
  std::vector<int> order;
  graph.Run([&] {
    int number = 0;
    for (const int priority : {0, 2, 1, 2, 0, 3}) {
      graph.Submit("note", [&order, n = number++](const Context&) { order.push_back(n); }, {},
                   {.priority = priority});
    }
  });
  EXPECT_EQ(order, (std::vector<int>{5, 1, 3, 2, 0, 4}));
}

// --- one minimal program for each error

class GraphErrors : public ::testing::Test {
 protected:
  void ExpectRefused(const std::function<void(Graph&)>& build, const std::string& field,
                     const std::string& part) {
    Graph graph(pool_, {.window = 8, .heap_bytes = 1024, .dependencies = 8});
    ExpectError([&] { graph.Run([&] { build(graph); }); }, field, part);
    bool ran = false;
    graph.Run([&] { graph.Submit("again", [&ran](const Context&) { ran = true; }, {}); });
    EXPECT_TRUE(ran);
  }
  ThreadPool pool_{2};
  Floats floats_{4};
};

TEST_F(GraphErrors, AWindowThatAnOpenScopeFills) {
  ExpectRefused(
      [](Graph& g) {
        const Graph::Scope scope(g);
        for (int i = 0; i < 9; ++i) {
          Tensor made;
          g.Submit("make", Nothing, {Out(made, DType::kF32, {1})});
        }
      },
      "window", "= 8 is full");
}

TEST_F(GraphErrors, AHeapThatAnOpenScopeFills) {
  ExpectRefused(
      [](Graph& g) {
        for (int i = 0; i < 3; ++i) {
          Tensor made;
          g.Submit("make", Nothing, {Out(made, DType::kF32, {100})});
        }
      },
      "heap_bytes", "PAGODA_GRAPH_HEAP");
}

TEST_F(GraphErrors, AnOutputThatNoHeapHolds) {
  ExpectRefused(
      [](Graph& g) {
        Tensor made;
        g.Submit("make", Nothing, {Out(made, DType::kF32, {1000})});
      },
      "heap_bytes", "can't hold the outputs of \"make\"");
}

TEST_F(GraphErrors, ATensorOfAScopeThatWasLeft) {
  ExpectRefused(
      [](Graph& g) {
        Tensor made;
        {
          const Graph::Scope scope(g);
          g.Submit("make", Nothing, {Out(made, DType::kF32, {1})});
        }
        g.Submit("use", Nothing, {In(made)});
      },
      "args[0]", "scope that has been left");
}

TEST_F(GraphErrors, WhatASubmissionGetsWrong) {
  const Tensor t = floats_.tensor();
  const auto with = [&](const TaskOptions& options) {
    return [&t, options](Graph& g) { g.Submit("x", Nothing, {In(t)}, options); };
  };
  ExpectRefused(with({.blocks = 0}), "blocks", "= 0");
  ExpectRefused(with({.blocks = 3, .sync_start = true}), "sync_start", "needs 3 workers");
  ExpectRefused(with({.affinity = 2}), "affinity", "pool of 2");
  ExpectRefused(with({.priority = 4}), "priority", "0..3");
  ExpectRefused(with({.when = t}), "when", "i32");
  ExpectRefused(
      [](Graph& g) { g.Submit("x", Nothing, {In(Tensor(TensorView::Dense(nullptr, DType::kF32, {3})))}); },
      "args[0]", "no data");
  ExpectRefused([&](Graph& g) { g.Submit("x", Nothing, {In(t.Slice(0, 3, 5))}); }, "begin, end",
                "4 elements");
  ExpectRefused([&](Graph& g) { g.Submit("x", Nothing, {In(t.Slice(1, 0, 1))}); }, "dim", "rank 1");
}

TEST_F(GraphErrors, OutputsOfNoPossibleShape) {
  for (const int64_t n : {int64_t{-100}, int64_t{1} << 62}) {
    ExpectRefused(
        [n](Graph& g) {
          Tensor made;
          g.Submit("make", Nothing, {Out(made, DType::kF32, {n, 8})});
        },
        "args[0]", "no possible shape");
  }
}

TEST_F(GraphErrors, WhatBelongsToAnotherGraph) {
  Graph other(pool_);
  Tensor made;
  Task task;
  other.Run([&] { task = other.Submit("make", Nothing, {Out(made, DType::kF32, {1})}); });
  ExpectRefused([&](Graph& g) { g.Submit("use", Nothing, {In(made)}); }, "args[0]", "another graph");
  ExpectRefused([&](Graph& g) { g.Submit("use", Nothing, {}, {.after = {task}}); }, "after", "another graph");
}

TEST_F(GraphErrors, AnOutputInATensorOfItsOwn) {
  ExpectRefused(
      [](Graph& g) {
        Tensor made;
        g.Submit("make", Nothing, {Out(made, DType::kF32, {4})});
        g.Submit("use", Nothing, {In(Tensor(made.view()))});
      },
      "args[0]", "doesn't hold it");
}

TEST_F(GraphErrors, AKernelThatSubmits) {
  ExpectRefused(
      [](Graph& g) { g.Submit("outer", [&g](const Context&) { g.Submit("inner", Nothing, {}); }, {}); },
      "task \"outer\"", "called by a kernel");
}

// The pool refuses a second launch; afterwards the graph is as good as new.
TEST_F(GraphErrors, APoolThatIsBusy) {
  Graph graph(pool_);
  Graph other(pool_);
  ExpectError([&] { graph.Run([&] { other.Run([] {}); }); }, "ThreadPool::Run", "while a launch");
  ExpectError([&] { other.Submit("x", Nothing, {}); }, "Submit", "outside");
  other.Run([&] { other.Submit("x", Nothing, {}); });
}

TEST_F(GraphErrors, ScopesThatAreTooDeep) {
  const std::function<void(Graph&, int)> nest = [&](Graph& g, int left) {
    const Graph::Scope scope(g);
    g.Submit("x", Nothing, {});
    if (left > 1) nest(g, left - 1);
  };
  Graph graph(pool_);
  graph.Run([&] { nest(graph, Graph::kMaxDepth); });
  ExpectRefused([&](Graph& g) { nest(g, Graph::kMaxDepth + 1); }, "Scope", "9th");
}

// Sizes of the environment come before those of the options.
TEST_F(GraphErrors, SizesOfTheEnvironment) {
  for (const char* variable : {"PAGODA_GRAPH_WINDOW", "PAGODA_GRAPH_HEAP", "PAGODA_GRAPH_DEPENDENCIES"}) {
    for (const char* setting : {"0", "-1", "1k", " 8", "99999999999999999999"}) {
      setenv(variable, setting, 1);
      ExpectError([&] { Graph graph(pool_); }, variable,
                  fmt::format("\"{}\" is not a whole number", setting));
    }
    setenv(variable, "", 1);
    EXPECT_NO_THROW(Graph{pool_});
    unsetenv(variable);
  }
  setenv("PAGODA_GRAPH_HEAP", "64", 1);
  Graph graph(pool_, {.heap_bytes = 1 << 20});
  unsetenv("PAGODA_GRAPH_HEAP");
  Tensor made;
  ExpectError([&] { graph.Run([&] { graph.Submit("make", Nothing, {Out(made, DType::kF32, {17})}); }); },
              "heap_bytes", "= 64 can't hold");
}

TEST_F(GraphErrors, WhatIsCalledOutsideARun) {
  Graph graph(pool_);
  ExpectError([&] { graph.Submit("x", Nothing, {}); }, "Submit", "outside");
  ExpectError([&] { const Graph::Scope scope(graph); }, "Scope", "outside");
  ExpectError([&] { graph.Run([&] { graph.Run([] {}); }); }, "Graph::Run", "inside a run");
  ExpectError([&] { Graph(pool_, {.window = 0}); }, "window", "= 0");
}

}  // namespace
}  // namespace pagoda::graph::testing

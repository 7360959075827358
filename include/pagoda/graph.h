// Task graphs: a task says which tensors it reads and which it writes, and runs as soon as the tasks that it
// depends on have run. Who depends on whom is inferred from the tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

#include "pagoda/tensor.h"
#include "pagoda/thread_pool.h"

namespace pagoda::graph {

// A tensor and the buffer that it is a part of. Two tensors of different buffers are taken for different
// memory: make the parts of one buffer with Slice.
class Tensor {
 public:
  Tensor() = default;
  // All of a buffer of the caller's, which outlives the run.
  explicit Tensor(const TensorView& buffer) : view_(buffer), base_(buffer.data) {}

  // Elements [begin, end) of dimension `dim`. Throws Error when that is outside.
  Tensor Slice(int dim, int64_t begin, int64_t end) const;

  const TensorView& view() const { return view_; }

 private:
  friend class Graph;
  TensorView view_;
  const void* base_ = nullptr;
  // The graph that allocated it and for which task, by its place among those of its scope's depth; 0 and -1:
  // the caller's memory.
  int64_t graph_ = 0;
  int64_t owner_ = -1;
  int depth_ = 0;
};

// How a task uses a tensor.
enum class Use : uint8_t {
  kIn,        // reads it
  kOut,       // writes it; allocated when the task is submitted
  kInOut,     // reads and writes it
  kExisting,  // writes all of it; memory that is there already
  kNoDep,     // whatever it does, nobody waits for it: the caller knows better
};

struct Arg {
  Use use = Use::kIn;
  Tensor tensor;
  Tensor* result = nullptr;  // kOut: where the allocated tensor is put
};

inline Arg In(const Tensor& tensor) { return {Use::kIn, tensor}; }
inline Arg InOut(const Tensor& tensor) { return {Use::kInOut, tensor}; }
inline Arg Existing(const Tensor& tensor) { return {Use::kExisting, tensor}; }
inline Arg NoDep(const Tensor& tensor) { return {Use::kNoDep, tensor}; }
// A dense tensor, 64-byte aligned, not cleared. It may be used until the scope in which it was made is left.
inline Arg Out(Tensor& result, DType dtype, std::initializer_list<int64_t> shape) {
  return {Use::kOut, Tensor(TensorView::Dense(nullptr, dtype, shape)), &result};
}

// What a kernel is called with: its tensors, in the order of the arguments, and which of the task's blocks it
// is.
struct Context {
  std::span<const TensorView> tensors;
  int block = 0;
  int blocks = 1;
  int worker = 0;
};

// A submitted task, to be named in TaskOptions::after.
class Task {
 public:
  Task() = default;

 private:
  friend class Graph;
  int64_t graph_ = 0;   // that it belongs to; 0: none
  int64_t place_ = -1;  // among the tasks of its scope's depth
  int depth_ = 0;
};

struct TaskOptions {
  // The kernel is called so many times, for block 0, 1, ...; by several workers at once where these are free.
  int blocks = 1;
  // All blocks run at the same time, each on a worker of its own, so that they may wait for each other; one
  // that throws must not let the others wait for it. Priority and affinity are of no account then.
  bool sync_start = false;
  int affinity = -1;  // the worker that should run it; -1: any
  int priority = 0;   // 0..3: of the tasks that could run on a worker, those of a higher one do first
  std::initializer_list<Task> after = {};
  // One i32 element: the task does nothing when it is 0 by then. Its successors run all the same.
  Tensor when = {};
};

enum class ScopeMode : uint8_t {
  kInferred,  // tasks depend on each other by their tensors
  kManual,    // only as TaskOptions::after says
};

// Sizes, for each depth of scopes. Each may be set in the environment too.
struct GraphOptions {
  int64_t window = 1024;  // tasks between the oldest that isn't done with and the newest: PAGODA_GRAPH_WINDOW
  int64_t heap_bytes = 64 << 20;            // of outputs: PAGODA_GRAPH_HEAP
  int64_t dependencies = int64_t{8} << 10;  // edges of the tasks in the window: PAGODA_GRAPH_DEPENDENCIES
};

// Tasks are submitted by one thread, inside Run, while the workers of a pool already run them. Where a
// window, heap or dependency pool is full, Submit runs tasks itself until there is room; where none could
// ever be, it throws an Error that names the size to raise.
class Graph {
 public:
  static constexpr int kMaxArgs = 16;
  static constexpr int kMaxDepth = 8;  // of scopes within scopes
  static constexpr int kPriorities = 4;
  static constexpr size_t kKernelBytes = 64;

  // Throws Error when a size is below 1 or not a number in the environment.
  explicit Graph(ThreadPool& pool, const GraphOptions& options = {});
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Calls build(), which submits tasks, and returns when all of them have run. Throws the first error of a
  // submission or of build(), or an Error that names the task whose kernel threw first; tasks that had not
  // begun by then do nothing.
  template <class Build>
  void Run(Build&& build) {
    using Body = std::remove_reference_t<Build>;
    RunErased([](void* body) { (*static_cast<Body*>(body))(); },
              const_cast<void*>(static_cast<const void*>(&build)));
  }

  // `name` outlives the run. A kernel is a function object of Context that captures pointers and numbers;
  // what it reads and writes should come as tensors. Throws Error naming the argument; nothing is submitted
  // then.
  template <class Kernel>
  Task Submit(const char* name, Kernel kernel, std::initializer_list<Arg> args,
              const TaskOptions& options = {}) {
    static_assert(std::is_trivially_copyable_v<Kernel> && sizeof(Kernel) <= kKernelBytes &&
                      alignof(Kernel) <= alignof(std::max_align_t),
                  "a kernel captures at most 64 bytes of pointers and numbers; tensors are arguments");
    return SubmitErased(
        name,
        [](const void* captured, const Context& context) {
          (*static_cast<const Kernel*>(captured))(context);
        },
        static_cast<const void*>(std::addressof(kernel)), sizeof(Kernel), args, options);
  }
  // A task without a kernel: others can wait for it instead of for all that it waits for.
  Task Join(const char* name, std::initializer_list<Arg> args, const TaskOptions& options = {}) {
    return SubmitErased(name, nullptr, nullptr, 0, args, options);
  }

  // Until the object goes, tasks belong to a scope within the present one. Then the memory of its outputs is
  // free as soon as the tasks that have them are done.
  class [[nodiscard]] Scope {
   public:
    explicit Scope(Graph& graph, ScopeMode mode = ScopeMode::kInferred);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Graph& graph_;
  };

 private:
  using KernelFn = void (*)(const void* captured, const Context& context);
  void RunErased(void (*build)(void*), void* body);
  Task SubmitErased(const char* name, KernelFn fn, const void* captured, size_t bytes,
                    std::initializer_list<Arg> args, const TaskOptions& options);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pagoda::graph

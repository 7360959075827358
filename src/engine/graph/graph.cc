// The streaming runtime behind pagoda/graph.h.
//
// Everything about submission - rings, tensor map, scopes - belongs to the submitting thread, which is worker
// 0. A slot is shared through its atomics:
// - `waits`: predecessors that haven't run, and a guard until the task is submitted. Whoever takes it to 0
//   makes the task ready.
// - `successors`: edges that only the submitter adds to and whoever completes the task closes.
// - `blocks_done`: the last block of an SPMD task completes it. `gang`: see Gang.
// - `holds`: the task itself until it is complete, and the live tasks that have a tensor of it. At 0 nobody
//   looks at the slot but the submitter, which takes slots back in order.
// An edge lies in the pool at the successor's expense: the predecessor's completion, which comes first, reads
// it.
#include "pagoda/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/checked_math.h"
#include "base/round_up.h"
#include "base/sys/clock.h"
#include "base/sys/futex.h"
#include "base/sys/pause.h"
#include "base/sys/setting.h"
#include "engine/graph/ready_queue.h"
#include "engine/graph/ring.h"
#include "engine/graph/tensor_map.h"
#include "pagoda/status.h"

namespace pagoda::graph {
namespace {

constexpr int32_t kGuard = 1 << 30;
constexpr int kPauses = 64;            // of a thread that waits, before it gives its core away
constexpr int64_t kReclaimEvery = 32;  // submissions: what is done with makes the search for conflicts longer

// The graph whose kernel this thread runs.
thread_local const void* t_kernel_of = nullptr;

void PauseOrYield(int& pauses) {
  if (pauses < kPauses) {
    ++pauses;
    sys::CpuPause();
  } else {
    std::this_thread::yield();
  }
}

// True while it lives.
class Running {
 public:
  explicit Running(bool& flag) : flag_(flag) { flag_ = true; }
  ~Running() { flag_ = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  bool& flag_;
};

// What a kernel threw, with the task's name.
std::exception_ptr NamedError(const char* task) {
  const std::string field = fmt::format("task \"{}\"", task);
  try {
    throw;
  } catch (const Error& e) {
    return std::make_exception_ptr(Error(e.code(), field, fmt::format("failed: {}", e.what())));
  } catch (const std::exception& e) {
    return std::make_exception_ptr(Error(ErrorCode::kInternal, field, fmt::format("failed: {}", e.what())));
  } catch (...) {
    return std::make_exception_ptr(
        Error(ErrorCode::kInternal, field, "failed: it threw what is no std::exception"));
  }
}

// Of one output, as it is allocated; nothing when its shape is none or too large for any memory.
std::optional<int64_t> HeapBytesOf(const TensorView& output) {
  const std::span<const int64_t> shape(output.shape.data(), static_cast<size_t>(output.rank));
  if (std::any_of(shape.begin(), shape.end(), [](int64_t n) { return n < 0; })) return std::nullopt;
  const std::optional<int64_t> elements = CheckedProduct(shape);
  constexpr int64_t kMost = int64_t{1} << 48;
  if (!elements || *elements > kMost) return std::nullopt;
  return RoundUp(*elements * SizeOf(output.dtype), 64);
}

[[noreturn]] void Refuse(std::string_view field, std::string_view complaint) {
  throw Error(ErrorCode::kInvalidArgument, field, complaint);
}

// The value of an environment variable, or `given`.
int64_t SizeFrom(const char* variable, const char* field, int64_t given) {
  const int64_t size = sys::WholeNumberSetting(variable, 1, std::numeric_limits<int64_t>::max(),
                                               "is not a whole number above 0")
                           .value_or(given);
  if (size < 1) Refuse(field, fmt::format("= {} must be at least 1", size));
  return size;
}

}  // namespace

Tensor Tensor::Slice(int dim, int64_t begin, int64_t end) const {
  if (dim < 0 || dim >= view_.rank)
    Refuse("dim", fmt::format("= {} is not a dimension of a tensor of rank {}", dim, view_.rank));
  if (begin < 0 || begin > end || end > view_.shape[dim]) {
    Refuse("begin, end", fmt::format("= {}, {} do not lie within dimension {} of {} elements", begin, end,
                                     dim, view_.shape[dim]));
  }
  Tensor part = *this;
  part.view_.shape[dim] = end - begin;
  // A slice of nothing stays where it is: what lies behind the last element isn't its own.
  if (begin < end)
    part.view_.data = static_cast<std::byte*>(view_.data) + begin * view_.strides[dim] * SizeOf(view_.dtype);
  return part;
}

struct Graph::Impl {
  struct Slot;
  // A task of sync_start: its blocks begin, or are left out, when the last of them has been taken.
  enum class Gang : uint8_t { kGathers, kRuns, kSkips };
  struct Edge {
    Slot* task;
    Edge* next;
  };
  struct Access : TensorMap::Access {
    Slot* slot;
  };
  struct alignas(128) Slot : ReadyTask {
    std::atomic<int32_t> waits{0};
    std::atomic<int32_t> holds{0};
    std::atomic<int32_t> blocks_done{0};
    std::atomic<Gang> gang{Gang::kGathers};
    std::atomic<Edge*> successors{nullptr};
    KernelFn fn = nullptr;
    alignas(std::max_align_t) std::byte captured[kKernelBytes];
    const char* name = "";
    const int32_t* when = nullptr;
    int64_t number = 0;  // in the order of submission
    TensorView* tensors = nullptr;
    Access* accesses = nullptr;
    Slot* owners[kMaxArgs + 1];  // whose tensors it has
    int tensor_count = 0;
    int access_count = 0;
    int owner_count = 0;
    int affinity = -1;
    bool sync_start = false;
    // The submitter's alone.
    bool has_outputs = false;
    int64_t last_successor = -1;  // the number of the task that an edge was made to last
    int64_t heap_mark = 0, edge_mark = 0;
  };

  // What belongs to one depth of scopes.
  struct Depth {
    explicit Depth(const GraphOptions& options)
        : slots(static_cast<size_t>(options.window)),
          tensors(slots.size() * (kMaxArgs + 1)),
          accesses(tensors.size()),
          memory(static_cast<size_t>(options.heap_bytes)),
          edge_memory(static_cast<size_t>(options.dependencies)),
          heap(options.heap_bytes),
          edges(options.dependencies) {
      for (size_t i = 0; i < slots.size(); ++i) {
        slots[i].tensors = tensors.data() + i * (kMaxArgs + 1);
        slots[i].accesses = accesses.data() + i * (kMaxArgs + 1);
      }
    }
    bool Holds(const void* data) const {
      return data >= memory.data() && data < memory.data() + memory.size();
    }
    Slot& At(int64_t place) { return slots[static_cast<size_t>(place % std::ssize(slots))]; }

    std::vector<Slot> slots;
    std::vector<TensorView> tensors;
    std::vector<Access> accesses;
    Buffer memory;
    std::vector<Edge> edge_memory;
    Ring heap, edges;
    int64_t first = 0;        // the oldest task that isn't done with
    int64_t next = 0;         // the place of the next task
    int64_t scope_begin = 0;  // the first task of the scope that is open, or `next`
  };
  struct alignas(128) Counter {
    std::atomic<int64_t> completed{0};
  };

  Impl(ThreadPool& on, const GraphOptions& given)
      : pool(on),
        options{SizeFrom("PAGODA_GRAPH_WINDOW", "window", given.window),
                SizeFrom("PAGODA_GRAPH_HEAP", "heap_bytes", given.heap_bytes),
                SizeFrom("PAGODA_GRAPH_DEPENDENCIES", "dependencies", given.dependencies)},
        queues(static_cast<size_t>(on.threads())),
        counters(queues.size()) {
    depths.resize(kMaxDepth + 1);
    DepthAt(0);
  }

  // --- the submitter's
  Depth& DepthAt(int depth) {
    if (depths[depth] == nullptr) depths[depth] = std::make_unique<Depth>(options);
    return *depths[depth];
  }
  Task Submit(const char* name, KernelFn fn, const void* captured, size_t bytes,
              std::initializer_list<Arg> args, const TaskOptions& task_options);
  void Check(std::initializer_list<Arg> args, const TaskOptions& task_options) const;
  const char* WrongWith(const Tensor& tensor) const;  // null: nothing
  void Reclaim(Depth& depth);
  // Makes room or throws: `what` names the size that is too small.
  template <class Try>
  void Await(Depth& depth, const char* name, const char* what, int64_t size, const char* variable,
             Try has_room);
  int32_t Connect(Depth& depth, Slot& slot, std::initializer_list<Arg> args, const TaskOptions& task_options,
                  int64_t heap_place);
  void AddEdge(Depth& depth, Slot& from, Slot& to, int32_t& edges);
  bool AllDone() const;
  void Drain();
  void Restart();

  // --- every worker's
  void Work(int worker);
  bool Step(int worker, Slot*& next);
  Slot* RunClaim(const Claim& claim, int worker);
  bool RunGang();
  Claim Next(int worker);
  bool Runs(const Slot& slot) const;
  Slot* Execute(Slot& slot, int block, int worker, bool runs);
  Slot* Complete(Slot& slot, int worker);
  Slot* MakeReady(Slot& slot, int worker, Slot* next);
  void Push(Slot& slot, int worker);
  void Sleep();
  void Fail(std::exception_ptr error);

  static Edge* Closed() {
    static Edge closed{};
    return &closed;
  }

  static int64_t NextId() {
    static std::atomic<int64_t> last{0};
    return ++last;
  }

  const int64_t id = NextId();  // no address: a graph may come to lie where another did
  ThreadPool& pool;
  GraphOptions options;

  std::vector<std::unique_ptr<Depth>> depths;
  std::vector<ScopeMode> scopes;    // that are open
  std::vector<Slot*> predecessors;  // of the task that is being submitted
  TensorMap map;
  int64_t submitted = 0;
  Slot* carried = nullptr;  // a task that the submitter took on but left for later
  bool running = false;

  std::vector<ReadyQueue> queues;  // of each worker
  ReadyQueue gangs;                // tasks of sync_start: begun one after the other
  std::vector<Counter> counters;
  alignas(128) std::atomic<bool> failed{false};
  std::atomic<bool> finished{false};
  std::mutex error_mutex;
  std::exception_ptr error;
  alignas(128) std::atomic<uint32_t> bell{0};
  std::atomic<int32_t> sleepers{0};
};

// ---------------------------------------------------------------- submission

bool Graph::Impl::AllDone() const {
  int64_t done = 0;
  for (const Counter& counter : counters) done += counter.completed.load(std::memory_order_acquire);
  return done == submitted;
}

void Graph::Impl::Reclaim(Depth& depth) {
  while (depth.first < depth.next) {
    Slot& slot = depth.At(depth.first);
    if (slot.holds.load(std::memory_order_acquire) != 0) return;
    if (slot.has_outputs && depth.first >= depth.scope_begin) return;
    for (int i = 0; i < slot.access_count; ++i) map.Remove(slot.accesses[i]);
    depth.heap.Release(slot.heap_mark);
    depth.edges.Release(slot.edge_mark);
    ++depth.first;
  }
}

template <class Try>
void Graph::Impl::Await(Depth& depth, const char* name, const char* what, int64_t size, const char* variable,
                        Try has_room) {
  if (has_room()) return;
  Reclaim(depth);
  for (int idle = 0; !has_room(); Reclaim(depth)) {
    if (Step(0, carried)) {
      idle = 0;
      continue;
    }
    if (AllDone()) {
      Reclaim(depth);
      if (has_room()) return;
      const Slot& oldest = depth.At(depth.first);
      Refuse(what,
             fmt::format(
                 "= {} is full, and stays so: all tasks have run, but {}. \"{}\" waits for room. Put "
                 "them into a Scope that is left sooner, or raise {} or {}",
                 size,
                 depth.first < depth.next
                     ? fmt::format("\"{}\", the oldest of its depth, has outputs of a scope that is still "
                                   "open",
                                   oldest.name)
                     : "nothing can be given back",
                 name, what, variable));
    }
    PauseOrYield(idle);
  }
  // Others may run it while this thread submits.
  if (carried != nullptr && queues.size() > 1) Push(*std::exchange(carried, nullptr), 0);
}

const char* Graph::Impl::WrongWith(const Tensor& tensor) const {
  if (tensor.graph_ == 0) {
    const void* const data = tensor.view_.data;
    if (data == nullptr) return tensor.view_.elements() > 0 ? "has no data" : nullptr;
    for (const auto& depth : depths) {
      if (depth != nullptr && depth->Holds(data))
        return "is an output's memory in a Tensor of its own, which doesn't hold it: use the output, or a "
               "Slice of it";
    }
    return nullptr;
  }
  if (tensor.graph_ != id) return "was allocated by another graph";
  const bool open = tensor.depth_ <= std::ssize(scopes) &&
                    tensor.owner_ >= depths[static_cast<size_t>(tensor.depth_)]->scope_begin;
  return open ? nullptr : "was made in a scope that has been left: its memory may be another task's";
}

void Graph::Impl::Check(std::initializer_list<Arg> args, const TaskOptions& task_options) const {
  if (t_kernel_of == this)
    Refuse("Submit", "was called by a kernel; only the function that Run was given submits");
  if (!running) Refuse("Submit", "was called outside Graph::Run");
  if (failed.load(std::memory_order_relaxed))
    Refuse("Submit", "was called after a task of this run had failed; Run throws its error");
  if (args.size() > kMaxArgs) Refuse("args", fmt::format("are {}, and may be {}", args.size(), kMaxArgs));
  for (const Arg& arg : args) {
    const char* const wrong =
        arg.use != Use::kOut    ? WrongWith(arg.tensor)
        : arg.result == nullptr ? "is an output without a tensor to put it in"
        : !HeapBytesOf(arg.tensor.view_)
            ? "is an output of no possible shape: a dimension is negative, or their product "
              "too large"
            : nullptr;
    if (wrong != nullptr) Refuse(fmt::format("args[{}]", &arg - args.begin()), wrong);
  }
  if (task_options.blocks < 1) Refuse("blocks", fmt::format("= {} must be at least 1", task_options.blocks));
  if (task_options.sync_start && task_options.blocks > pool.threads()) {
    Refuse("sync_start", fmt::format("needs {} workers at once, and there are {}: take fewer blocks",
                                     task_options.blocks, pool.threads()));
  }
  if (task_options.priority < 0 || task_options.priority >= kPriorities)
    Refuse("priority", fmt::format("= {} is outside 0..{}", task_options.priority, kPriorities - 1));
  if (task_options.affinity < -1 || task_options.affinity >= pool.threads()) {
    Refuse("affinity",
           fmt::format("= {} names no worker of a pool of {}", task_options.affinity, pool.threads()));
  }
  for (const Task& task : task_options.after) {
    if (task.graph_ != 0 && task.graph_ != id) Refuse("after", "names a task of another graph");
  }
  const TensorView& when = task_options.when.view_;
  if (!when.empty()) {
    if (when.dtype != DType::kI32 || when.elements() != 1) Refuse("when", "must be one i32 element");
    if (const char* wrong = WrongWith(task_options.when)) Refuse("when", wrong);
  }
}

void Graph::Impl::AddEdge(Depth& depth, Slot& from, Slot& to, int32_t& edges) {
  if (from.last_successor == to.number) return;
  from.last_successor = to.number;
  if (from.successors.load(std::memory_order_acquire) == Closed()) return;
  int64_t place = -1;
  // Never for good: when all tasks have run there is nothing to wait for.
  Await(depth, to.name, "dependencies", options.dependencies, "PAGODA_GRAPH_DEPENDENCIES", [&] {
    place = depth.edges.Take(1);
    return place >= 0 || from.successors.load(std::memory_order_acquire) == Closed();
  });
  if (place < 0) return;
  Edge& edge = depth.edge_memory[static_cast<size_t>(place)];
  edge.task = &to;
  edge.next = from.successors.load(std::memory_order_acquire);
  do {
    if (edge.next == Closed()) return;
  } while (!from.successors.compare_exchange_weak(edge.next, &edge, std::memory_order_acq_rel,
                                                  std::memory_order_acquire));
  ++edges;
}

// Its tensors, outputs from `heap_place` on, and the edges from whom it waits for; returns how many.
int32_t Graph::Impl::Connect(Depth& depth, Slot& slot, std::initializer_list<Arg> args,
                             const TaskOptions& task_options, int64_t heap_place) {
  const int at = static_cast<int>(scopes.size());
  const bool inferred = scopes.empty() || scopes.back() == ScopeMode::kInferred;
  predecessors.clear();
  const auto hold = [&](const Tensor& tensor) {
    if (tensor.graph_ == 0) return;
    Slot& owner = depths[static_cast<size_t>(tensor.depth_)]->At(tensor.owner_);
    owner.holds.fetch_add(1, std::memory_order_relaxed);
    slot.owners[slot.owner_count++] = &owner;
  };
  const auto use = [&](const Tensor& tensor, bool reads, bool writes) {
    TensorView& view = slot.tensors[slot.tensor_count++];
    view = tensor.view_;
    if (!inferred || !(reads || writes)) return;
    Access& access = slot.accesses[slot.access_count++];
    access.task = slot.number;
    access.base = tensor.base_;
    access.tensor = &view;
    access.reads = reads;
    access.writes = writes;
    access.slot = &slot;
    map.Add(access, [&](const TensorMap::Access& earlier, Hazard) {
      predecessors.push_back(static_cast<const Access&>(earlier).slot);
    });
  };
  for (const Arg& arg : args) {
    if (arg.use == Use::kOut) {
      Tensor& made = *arg.result;
      made = arg.tensor;
      made.view_.data = depth.memory.data() + heap_place;
      made.base_ = made.view_.data;
      made.graph_ = id;
      made.owner_ = depth.next;
      made.depth_ = at;
      heap_place += *HeapBytesOf(made.view_);
      use(made, false, true);
      continue;
    }
    hold(arg.tensor);
    use(arg.tensor, arg.use == Use::kIn || arg.use == Use::kInOut,
        arg.use == Use::kInOut || arg.use == Use::kExisting);
  }
  if (!task_options.when.view_.empty()) {
    hold(task_options.when);
    use(task_options.when, true, false);
    --slot.tensor_count;  // the kernel doesn't see it
    slot.when = static_cast<const int32_t*>(task_options.when.view_.data);
  }
  for (const Task& task : task_options.after) {
    if (task.graph_ == 0) continue;
    Depth& of_task = *depths[static_cast<size_t>(task.depth_)];
    if (task.place_ >= of_task.first) predecessors.push_back(&of_task.At(task.place_));
  }
  // Not before: waiting for room takes accesses out of the map.
  int32_t edges = 0;
  for (Slot* const predecessor : predecessors) AddEdge(depth, *predecessor, slot, edges);
  return edges;
}

Task Graph::Impl::Submit(const char* name, KernelFn fn, const void* captured, size_t bytes,
                         std::initializer_list<Arg> args, const TaskOptions& task_options) {
  Check(args, task_options);
  const int at = static_cast<int>(scopes.size());
  Depth& depth = DepthAt(at);

  // Room, before anything is changed.
  int64_t heap_bytes = 0;
  bool has_outputs = false;
  for (const Arg& arg : args) {
    if (arg.use != Use::kOut) continue;
    has_outputs = true;
    heap_bytes += *HeapBytesOf(arg.tensor.view_);
  }
  if (heap_bytes > options.heap_bytes) {
    Refuse("heap_bytes", fmt::format("= {} can't hold the outputs of \"{}\", {} bytes: raise heap_bytes or "
                                     "PAGODA_GRAPH_HEAP",
                                     options.heap_bytes, name, heap_bytes));
  }
  if (submitted % kReclaimEvery == 0) Reclaim(depth);
  Await(depth, name, "window", options.window, "PAGODA_GRAPH_WINDOW",
        [&] { return depth.next - depth.first < options.window; });
  int64_t heap_place = 0;
  if (heap_bytes > 0) {
    Await(depth, name, "heap_bytes", options.heap_bytes, "PAGODA_GRAPH_HEAP", [&] {
      heap_place = depth.heap.Take(heap_bytes);
      return heap_place >= 0;
    });
  }

  Slot& slot = depth.At(depth.next);
  slot.blocks = task_options.blocks;
  slot.next_block = 0;
  slot.priority = static_cast<uint8_t>(task_options.sync_start ? 0 : task_options.priority);
  slot.waits.store(kGuard, std::memory_order_relaxed);
  slot.holds.store(1, std::memory_order_relaxed);
  slot.blocks_done.store(0, std::memory_order_relaxed);
  slot.gang.store(Gang::kGathers, std::memory_order_relaxed);
  slot.successors.store(nullptr, std::memory_order_relaxed);
  slot.fn = fn;
  if (bytes > 0) std::memcpy(slot.captured, captured, bytes);
  slot.name = name;
  slot.when = nullptr;
  slot.number = submitted;
  slot.tensor_count = slot.access_count = slot.owner_count = 0;
  slot.affinity = task_options.affinity;
  slot.sync_start = task_options.sync_start;
  slot.has_outputs = has_outputs;
  slot.last_successor = -1;

  int32_t edges = 0;
  try {
    edges = Connect(depth, slot, args, task_options, heap_place);
  } catch (...) {
    // The maps hold half of it.
    Fail(std::current_exception());
    throw;
  }
  slot.heap_mark = depth.heap.mark();
  slot.edge_mark = depth.edges.mark();
  Task handle;
  handle.graph_ = id;
  handle.place_ = depth.next++;
  handle.depth_ = at;
  ++submitted;
  if (slot.waits.fetch_sub(kGuard - edges, std::memory_order_acq_rel) == kGuard - edges) Push(slot, 0);
  // A gang that needs every worker would hold all the others until this thread has submitted everything.
  while (RunGang()) {
  }
  return handle;
}

// ---------------------------------------------------------------- execution

void Graph::Impl::Fail(std::exception_ptr thrown) {
  const std::lock_guard lock(error_mutex);
  if (error == nullptr) error = std::move(thrown);
  failed.store(true, std::memory_order_relaxed);
}

void Graph::Impl::Push(Slot& slot, int worker) {
  const int wanted = slot.blocks;  // once it is pushed the slot may be run, and be another task's
  if (slot.sync_start) {
    gangs.Push(slot);
  } else {
    queues[static_cast<size_t>(slot.affinity >= 0 ? slot.affinity : worker)].Push(slot);
  }
  if (sleepers.load(std::memory_order_seq_cst) == 0) return;
  bell.fetch_add(1, std::memory_order_seq_cst);
  sys::FutexWake(bell, wanted);
}

Claim Graph::Impl::Next(int worker) {
  if (Claim claim = gangs.Take(); claim.task != nullptr) return claim;
  for (size_t i = 0; i < queues.size(); ++i) {
    const size_t from = (static_cast<size_t>(worker) + i) % queues.size();
    if (Claim claim = queues[from].Take(); claim.task != nullptr) return claim;
  }
  return {};
}

// The one to run next: the present choice or `slot`; the other goes to the queue.
Graph::Impl::Slot* Graph::Impl::MakeReady(Slot& slot, int worker, Slot* next) {
  const bool may_carry =
      slot.blocks == 1 && !slot.sync_start && (slot.affinity < 0 || slot.affinity == worker);
  if (!may_carry || (next != nullptr && slot.priority <= next->priority)) {
    Push(slot, worker);
    return next;
  }
  if (next != nullptr) Push(*next, worker);
  return &slot;
}

Graph::Impl::Slot* Graph::Impl::Complete(Slot& slot, int worker) {
  Edge* newest = slot.successors.exchange(Closed(), std::memory_order_acq_rel);
  Edge* oldest = nullptr;
  while (newest != nullptr) {
    Edge* const after = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = after;
  }
  Slot* next = nullptr;
  while (oldest != nullptr) {
    Slot& successor = *oldest->task;
    oldest = oldest->next;  // before the successor runs: the edge is its own
    if (successor.waits.fetch_sub(1, std::memory_order_acq_rel) == 1)
      next = MakeReady(successor, worker, next);
  }
  for (int i = 0; i < slot.owner_count; ++i) slot.owners[i]->holds.fetch_sub(1, std::memory_order_release);
  slot.holds.fetch_sub(1, std::memory_order_release);
  std::atomic<int64_t>& completed = counters[static_cast<size_t>(worker)].completed;
  completed.store(completed.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  return next;
}

bool Graph::Impl::Runs(const Slot& slot) const {
  return slot.fn != nullptr && !failed.load(std::memory_order_relaxed) &&
         (slot.when == nullptr || *slot.when != 0);
}

Graph::Impl::Slot* Graph::Impl::Execute(Slot& slot, int block, int worker, bool runs) {
  if (runs) {
    const void* const outer = std::exchange(t_kernel_of, this);
    try {
      slot.fn(slot.captured,
              {{slot.tensors, static_cast<size_t>(slot.tensor_count)}, block, slot.blocks, worker});
    } catch (...) {
      Fail(NamedError(slot.name));
    }
    t_kernel_of = outer;
  }
  const int blocks = slot.blocks;  // the last block to end gives the slot away
  if (blocks > 1 && slot.blocks_done.fetch_add(1, std::memory_order_acq_rel) + 1 < blocks) return nullptr;
  return Complete(slot, worker);
}

// Runs one block; returns what the worker should go on with.
Graph::Impl::Slot* Graph::Impl::RunClaim(const Claim& claim, int worker) {
  auto& slot = static_cast<Slot&>(*claim.task);
  if (!slot.sync_start) return Execute(slot, claim.block, worker, Runs(slot));
  // Whoever has a block waits until all are taken; every worker looks for gangs first. All run or none: a
  // block that was left out would be waited for.
  if (claim.last) slot.gang.store(Runs(slot) ? Gang::kRuns : Gang::kSkips, std::memory_order_release);
  Gang gang = slot.gang.load(std::memory_order_acquire);
  for (int pauses = 0; gang == Gang::kGathers; gang = slot.gang.load(std::memory_order_acquire))
    PauseOrYield(pauses);
  return Execute(slot, claim.block, worker, gang == Gang::kRuns);
}

// The submitter's: one block of a gang, if there is one.
bool Graph::Impl::RunGang() {
  const Claim claim = gangs.empty() ? Claim{} : gangs.Take();
  if (claim.task == nullptr) return false;
  if (Slot* const next = RunClaim(claim, 0)) Push(*next, 0);
  return true;
}

// Runs one block of a task, `next` if there is one; then `next` is what it should go on with.
bool Graph::Impl::Step(int worker, Slot*& next) {
  if (next != nullptr && queues[static_cast<size_t>(worker)].HasAbove(next->priority)) {
    Push(*next, worker);
    next = nullptr;
  }
  Claim claim{next, 0, true};
  if (next == nullptr || !gangs.empty()) {
    const Claim other = next == nullptr ? Next(worker) : gangs.Take();
    if (other.task != nullptr) {
      if (next != nullptr) Push(*next, worker);
      claim = other;
    }
  }
  if (claim.task == nullptr) return false;
  next = RunClaim(claim, worker);
  return true;
}

void Graph::Impl::Sleep() {
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t heard = bell.load(std::memory_order_seq_cst);
  const bool any = !gangs.empty() || std::any_of(queues.begin(), queues.end(),
                                                 [](const ReadyQueue& queue) { return !queue.empty(); });
  if (!any && !finished.load(std::memory_order_seq_cst)) sys::FutexWait(bell, heard);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void Graph::Impl::Work(int worker) {
  Slot* next = nullptr;
  int64_t idle_since = 0;
  for (int idle = 0;;) {
    if (Step(worker, next)) {
      idle = 0;
      idle_since = 0;
      continue;
    }
    if (finished.load(std::memory_order_acquire)) return;
    if (idle == kPauses && idle_since == 0) idle_since = sys::NowNs();
    if (idle < kPauses || sys::NowNs() - idle_since < ThreadPool::kSpinNs) {
      PauseOrYield(idle);
    } else {
      Sleep();
    }
  }
}

// The submitter's part after the last submission.
void Graph::Impl::Drain() {
  for (int idle = 0;;) {
    if (Step(0, carried)) {
      idle = 0;
    } else if (AllDone()) {
      break;
    } else {
      PauseOrYield(idle);
    }
  }
  finished.store(true, std::memory_order_seq_cst);
  bell.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) > 0) sys::FutexWake(bell, std::numeric_limits<int>::max());
}

void Graph::Impl::Restart() {
  map.Clear();
  scopes.clear();
  submitted = 0;
  carried = nullptr;
  for (const auto& depth : depths) {
    if (depth == nullptr) continue;
    depth->heap.Release(depth->heap.mark());
    depth->edges.Release(depth->edges.mark());
    depth->first = depth->scope_begin = depth->next;
  }
  for (Counter& counter : counters) counter.completed.store(0, std::memory_order_relaxed);
  failed.store(false, std::memory_order_relaxed);
  finished.store(false, std::memory_order_relaxed);
  error = nullptr;
}

// ---------------------------------------------------------------- the public face

Graph::Graph(ThreadPool& pool, const GraphOptions& options) : impl_(std::make_unique<Impl>(pool, options)) {}
Graph::~Graph() = default;

void Graph::RunErased(void (*build)(void*), void* body) {
  Impl& graph = *impl_;
  if (graph.running) Refuse("Graph::Run", "was called inside a run of the same graph");
  graph.Restart();
  {
    const Running running(graph.running);  // the pool may refuse to run
    graph.pool.Run(graph.pool.threads(), [&](int64_t, int worker) {
      if (worker != 0) return graph.Work(worker);
      if (graph.finished.load(std::memory_order_relaxed)) return;
      try {
        build(body);
      } catch (...) {
        graph.Fail(std::current_exception());
      }
      graph.Drain();
    });
  }
  if (graph.error != nullptr) std::rethrow_exception(std::exchange(graph.error, nullptr));
}

Task Graph::SubmitErased(const char* name, KernelFn fn, const void* captured, size_t bytes,
                         std::initializer_list<Arg> args, const TaskOptions& options) {
  return impl_->Submit(name, fn, captured, bytes, args, options);
}

Graph::Scope::Scope(Graph& graph, ScopeMode mode) : graph_(graph) {
  Impl& impl = *graph.impl_;
  if (t_kernel_of == &impl || !impl.running)
    Refuse("Scope", "was opened outside the function that Run was given");
  if (std::ssize(impl.scopes) == kMaxDepth)
    Refuse("Scope", fmt::format("is the {}th within another, and may be the {}th", kMaxDepth + 1, kMaxDepth));
  impl.DepthAt(static_cast<int>(impl.scopes.size()) + 1);
  impl.scopes.push_back(mode);
}

Graph::Scope::~Scope() {
  Impl& impl = *graph_.impl_;
  Impl::Depth& depth = impl.DepthAt(static_cast<int>(impl.scopes.size()));
  depth.scope_begin = depth.next;
  impl.scopes.pop_back();
}

}  // namespace pagoda::graph

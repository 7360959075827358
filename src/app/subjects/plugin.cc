#include "app/subjects/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "app/subjects/fault.h"
#include "base/io/shown.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr uint32_t kMostVariants = 1000;
constexpr uint32_t kKnownPromises = PAGODA_REPEATABLE | PAGODA_THREAD_INVARIANT | PAGODA_BATCH_INVARIANT;
static_assert(PAGODA_REPEATABLE == int{kRepeatable} && PAGODA_THREAD_INVARIANT == int{kThreadInvariant} &&
              PAGODA_BATCH_INVARIANT == int{kBatchInvariant});

pagoda_dtype ToC(DType dtype) {
  return dtype == DType::kF32 ? PAGODA_F32 : dtype == DType::kF16 ? PAGODA_F16 : PAGODA_BF16;
}

// Points into the arrays of `batch`, which move with it.
pagoda_softmax_batch ToC(const NormalBatch& batch) {
  pagoda_softmax_batch c = {};
  c.batch = batch.batch;
  c.total_q = batch.total_q;
  c.q_heads = batch.q_heads;
  c.kv_heads = batch.kv_heads;
  c.head_dim = batch.head_dim;
  c.head_dim_v = batch.head_dim_v;
  c.page_size = batch.kv.page_size;
  c.num_pages = batch.kv.num_pages;
  c.dtype = ToC(batch.kv.dtype);
  c.k_page_stride = batch.kv.k_page_stride;
  c.k_slot_stride = batch.kv.k_slot_stride;
  c.k_head_stride = batch.kv.k_head_stride;
  c.v_page_stride = batch.kv.v_page_stride;
  c.v_slot_stride = batch.kv.v_slot_stride;
  c.v_head_stride = batch.kv.v_head_stride;
  c.q_begin = batch.q_begin.data();
  c.kv_len = batch.kv_len.data();
  c.page_begin = batch.page_begin.data();
  c.page_ids = batch.page_ids.data();
  c.scale = batch.scale;
  c.causal = batch.causal ? 1 : 0;
  c.window_left = batch.window_left;
  c.window_right = batch.window_right;
  c.softcap = batch.softcap;
  return c;
}

// A message of the plug-in, which is an error.
void RequireNone(const char* message, std::string_view step) {
  constexpr size_t kMostShown = 200;
  if (message != nullptr) throw Fault(fmt::format("{} failed: {}", step, io::Shown(message, kMostShown)));
}

class PluginPlan : public SoftmaxPlanImpl {
 public:
  PluginPlan(const pagoda_softmax_variant& c_variant, const NormalBatch& normal, int plan_threads)
      : c_(c_variant), c_batch_(ToC(normal)) {
    if (c_.plan != nullptr) RequireNone(c_.plan(&c_batch_, plan_threads, &plan_, &workspace_bytes), "plan");
  }
  PluginPlan(const PluginPlan&) = delete;
  PluginPlan& operator=(const PluginPlan&) = delete;
  ~PluginPlan() override {
    if (c_.destroy != nullptr && plan_ != nullptr) c_.destroy(plan_);
  }

  void Run(const SoftmaxCall& call, std::span<std::byte> workspace, ThreadPool& pool) const {
    const pagoda_pool c_pool = {&pool, pool.threads(), RunTasks};
    pagoda_softmax_call c = {};
    c.q = call.q.data;
    c.q_row_stride = call.q.strides[0];
    c.q_head_stride = call.q.strides[1];
    c.k = call.kv.k;
    c.v = call.kv.v;
    c.alibi_slopes = static_cast<const float*>(call.alibi_slopes.data);
    c.sinks = static_cast<const float*>(call.sinks.data);
    c.out = call.out.data;
    c.out_dtype = ToC(call.out.dtype);
    c.out_row_stride = call.out.strides[0];
    c.out_head_stride = call.out.strides[1];
    c.lse = static_cast<float*>(call.lse.data);
    c.lse_row_stride = call.lse.strides[0];
    c.lse_head_stride = call.lse.strides[1];
    c.workspace = workspace.data();
    c.pool = &c_pool;
    RequireNone(c_.run(plan_, &c_batch_, &c), "run");
  }

 private:
  static void RunTasks(void* pool, int64_t tasks, void (*task)(void* arg, int64_t index, int32_t worker),
                       void* arg) {
    static_cast<ThreadPool*>(pool)->Run(tasks, [&](int64_t index, int worker) { task(arg, index, worker); });
  }

  const pagoda_softmax_variant& c_;
  const pagoda_softmax_batch c_batch_;
  void* plan_ = nullptr;
};

// A plug-in's library with all that its variants point to.
struct Adapted {
  std::vector<SoftmaxVariant> variants;
  std::vector<const SoftmaxVariant*> pointers;
  KernelLibrary library;
};

SoftmaxVariant Adapt(const pagoda_softmax_variant& c) {
  SoftmaxVariant variant;
  variant.name = c.name;
  variant.summary = c.summary != nullptr ? c.summary : "";
  variant.promises = c.promises;
  variant.supports = [&c](const NormalBatch& batch) {
    if (c.supports == nullptr) return Support::Yes();
    const pagoda_softmax_batch c_batch = ToC(batch);
    const char* why_not = c.supports(&c_batch);
    return why_not == nullptr ? Support::Yes() : Support::No("", why_not);
  };
  variant.plan = [&c](const NormalBatch& batch, int threads) -> std::unique_ptr<SoftmaxPlanImpl> {
    return std::make_unique<PluginPlan>(c, batch, threads);
  };
  variant.run = [](const SoftmaxPlanImpl& plan, const SoftmaxCall& call, std::span<std::byte> workspace,
                   ThreadPool& pool) { static_cast<const PluginPlan&>(plan).Run(call, workspace, pool); };
  return variant;
}

bool IsName(const char* name) {
  const std::string_view text = name == nullptr ? "" : name;
  const auto fits = [](unsigned char ch) { return ch == '_' || (ch < 0x80 && std::isalnum(ch) != 0); };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

const KernelLibrary& AdaptPlugin(const pagoda_plugin_info* info, const std::string& path) {
  const auto refuse = [&path](const std::string& complaint) {
    throw Error(ErrorCode::kInvalidArgument, path, complaint);
  };
  if (info == nullptr) refuse("has a pagoda_plugin() that gives null");
  if (info->abi != PAGODA_PLUGIN_ABI) {
    refuse(fmt::format("was built for version {} of pagoda/plugin.h, this program has {}; build it again",
                       info->abi, PAGODA_PLUGIN_ABI));
  }
  if (info->softmax_variants < 1 || info->softmax_variants > kMostVariants || info->softmax == nullptr) {
    refuse(fmt::format("has softmax_variants = {}, which must be 1 to {}", info->softmax_variants,
                       kMostVariants));
  }
  auto adapted = std::make_unique<Adapted>();
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < info->softmax_variants; ++i) {
    const pagoda_softmax_variant& c = info->softmax[i];
    if (!IsName(c.name)) refuse(fmt::format("has softmax[{}].name which isn't of letters, digits and _", i));
    if (!names.insert(c.name).second) refuse(fmt::format("names softmax[{}] \"{}\", as another", i, c.name));
    if (c.run == nullptr) refuse(fmt::format("has no softmax[{}].run", i));
    if ((c.promises & ~kKnownPromises) != 0) {
      refuse(fmt::format("has softmax[{}].promises = {:#x}, which holds more than the known {:#x}", i,
                         c.promises, kKnownPromises));
    }
    adapted->variants.push_back(Adapt(c));
  }
  for (const SoftmaxVariant& variant : adapted->variants) adapted->pointers.push_back(&variant);
  adapted->library = {.softmax = adapted->pointers,
                      .plan_softmax = PlanSoftmax,
                      .run_softmax = RunSoftmax,
                      .make_pool = [](int threads) { return std::make_unique<ThreadPool>(threads); }};
  // For good, like the code that it points to; a pointer that stays says so to leak checkers.
  static auto* const kept = new std::vector<std::unique_ptr<Adapted>>;
  return kept->emplace_back(std::move(adapted))->library;
}

}  // namespace pagoda::app

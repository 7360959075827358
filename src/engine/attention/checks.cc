#include "engine/attention/checks.h"

#include <fmt/format.h>

#include <limits>

#include "pagoda/status.h"

namespace pagoda {
namespace {

constexpr int64_t kMaxRows = std::numeric_limits<int32_t>::max();  // and slots of a page
constexpr int64_t kMaxRowElements = int64_t{1} << 24;

}  // namespace

void Refuse(std::string_view field, const std::string& complaint) {
  throw Error(ErrorCode::kInvalidArgument, field, complaint);
}

void CheckAtLeastOne(int64_t value, std::string_view field) {
  if (value < 1) Refuse(field, fmt::format("= {} must be at least 1", value));
}

void CheckCacheShape(const PagedKvView& kv) {
  if (!IsFloat(kv.dtype)) Refuse("kv.dtype", fmt::format("= {} must be f32, f16 or bf16", NameOf(kv.dtype)));
  if (kv.num_pages < 0) Refuse("kv.num_pages", fmt::format("= {} must not be negative", kv.num_pages));
  CheckAtLeastOne(kv.page_size, "kv.page_size");
  if (kv.page_size > kMaxRows) {
    Refuse("kv.page_size",
           fmt::format("= {} slots are more than the {} that a plan holds", kv.page_size, kMaxRows));
  }
  CheckAtLeastOne(kv.kv_heads, "kv.kv_heads");
  CheckAtLeastOne(kv.head_dim, "kv.head_dim");
  CheckAtLeastOne(kv.head_dim_v, "kv.head_dim_v");
}

void CheckWindow(int64_t keys, std::string_view field) {
  if (keys < -1) Refuse(field, fmt::format("= {} must be at least -1 (-1: unbounded)", keys));
}

void CheckHeads(int64_t q_heads, int64_t kv_heads, std::string_view keys) {
  if (q_heads < 1 || q_heads % kv_heads != 0) {
    Refuse("q_heads", fmt::format("= {} must be a multiple of the {} heads of {}", q_heads, kv_heads, keys));
  }
}

void CheckRowElements(int64_t q_heads, int64_t dim, std::string_view field) {
  if (dim > kMaxRowElements / q_heads) {
    Refuse(field, fmt::format("= {} in {} heads of q is more than the {} elements of a row that a plan holds",
                              dim, q_heads, kMaxRowElements));
  }
}

void CheckTotalRows(int64_t total, std::string_view of, int64_t batch, std::string_view offsets) {
  if (total > kMaxRows) {
    Refuse(fmt::format("{}[{}]", offsets, batch),
           fmt::format("= {} rows of {} are more than the {} that a plan holds", total, of, kMaxRows));
  }
}

void CheckThreads(int threads) {
  if (threads < 1 || threads > ThreadPool::kMaxThreads)
    Refuse("threads", fmt::format("= {} is outside 1..{}", threads, ThreadPool::kMaxThreads));
}

void CheckData(const TensorView& t, std::string_view field) {
  if (t.data == nullptr && !t.empty() && t.elements() > 0) Refuse(field, "has no data");
}

void CheckRows(const TensorView& t, std::string_view field, int64_t rows, int64_t heads, int64_t dim) {
  if (t.empty()) Refuse(field, "is missing");
  if (t.rank != 3 || t.shape[0] != rows || t.shape[1] != heads || t.shape[2] != dim) {
    Refuse(fmt::format("{}.shape", field), fmt::format("must be [{}, {}, {}] as planned", rows, heads, dim));
  }
  if (dim > 1 && t.strides[2] != 1) Refuse(field, "must be dense in its last dimension");
  CheckData(t, field);
}

void CheckOutput(const TensorView& t, int64_t rows, int64_t heads, int64_t dim) {
  CheckRows(t, "out", rows, heads, dim);
  if (!IsFloat(t.dtype)) Refuse("out", "must be f32, f16 or bf16");
}

void CheckCache(const PagedKvView& call, const PagedKvView& plan, bool any_page) {
  const auto same = [](int64_t got, int64_t want, std::string_view field) {
    if (got != want) Refuse(field, fmt::format("= {}, but the plan was made for {}", got, want));
  };
  if (call.dtype != plan.dtype) {
    Refuse("kv.dtype",
           fmt::format("= {}, but the plan was made for {}", NameOf(call.dtype), NameOf(plan.dtype)));
  }
  same(call.num_pages, plan.num_pages, "kv.num_pages");
  same(call.page_size, plan.page_size, "kv.page_size");
  same(call.kv_heads, plan.kv_heads, "kv.kv_heads");
  same(call.head_dim, plan.head_dim, "kv.head_dim");
  same(call.head_dim_v, plan.head_dim_v, "kv.head_dim_v");
  same(call.k_page_stride, plan.k_page_stride, "kv.k_page_stride");
  same(call.k_slot_stride, plan.k_slot_stride, "kv.k_slot_stride");
  same(call.k_head_stride, plan.k_head_stride, "kv.k_head_stride");
  same(call.v_page_stride, plan.v_page_stride, "kv.v_page_stride");
  same(call.v_slot_stride, plan.v_slot_stride, "kv.v_slot_stride");
  same(call.v_head_stride, plan.v_head_stride, "kv.v_head_stride");
  if (any_page && call.k == nullptr) Refuse("kv.k", "has no data");
  if (any_page && call.v == nullptr) Refuse("kv.v", "has no data");
}

void CheckResources(std::span<const std::byte> workspace, size_t workspace_bytes, const ThreadPool& pool,
                    int threads) {
  if (workspace.size() < workspace_bytes)
    Refuse("workspace", fmt::format("has {} bytes, the plan needs {}", workspace.size(), workspace_bytes));
  if (reinterpret_cast<uintptr_t>(workspace.data()) % 64 != 0) Refuse("workspace", "must be 64-byte aligned");
  if (pool.threads() != threads)
    Refuse("pool", fmt::format("has {} threads, but the plan was made for {}", pool.threads(), threads));
}

}  // namespace pagoda

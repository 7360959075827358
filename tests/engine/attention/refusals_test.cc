// What PlanSoftmax and RunSoftmax refuse: each field once, by name, before anything is written.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/buffer.h"
#include "engine/attention/problem.h"
#include "engine/expect_error.h"
#include "engine/index_tensor.h"

namespace pagoda::testing {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

ProblemSpec Spec() {
  ProblemSpec spec;
  spec.contexts = {20, 5};
  spec.queries = {3, 1};
  spec.head_dim = 8;
  spec.head_dim_v = 12;
  spec.alibi = spec.sinks = true;
  return spec;
}

// --- PlanSoftmax

class PlanRefusals : public ::testing::Test {
 protected:
  void Expect(const std::function<void(SoftmaxBatch&)>& change, std::string_view field,
              std::string_view text) {
    SoftmaxBatch batch = problem_.batch();
    change(batch);
    for (const SoftmaxVariant* variant : SoftmaxVariants()) {
      SCOPED_TRACE(variant->name);
      ExpectError([&] { PlanSoftmax(*variant, batch, 2); }, field, text);
    }
  }
  Problem problem_{Spec()};
};

TEST_F(PlanRefusals, TheCache) {
  Expect([](auto& b) { b.kv.dtype = DType::kI32; }, "kv.dtype", "kv.dtype = i32 must be f32, f16 or bf16");
  Expect([](auto& b) { b.kv.num_pages = -1; }, "kv.num_pages", "kv.num_pages = -1 must not be negative");
  Expect([](auto& b) { b.kv.page_size = 0; }, "kv.page_size", "kv.page_size = 0 must be at least 1");
  Expect([](auto& b) { b.kv.page_size = int64_t{1} << 58; }, "kv.page_size",
         "kv.page_size = 288230376151711744 slots are more than the 2147483647 that a plan holds");
  Expect([](auto& b) { b.kv.kv_heads = 0; }, "kv.kv_heads", "kv.kv_heads = 0 must be at least 1");
  Expect([](auto& b) { b.kv.head_dim = -8; }, "kv.head_dim", "kv.head_dim = -8 must be at least 1");
  Expect([](auto& b) { b.kv.head_dim_v = 0; }, "kv.head_dim_v", "kv.head_dim_v = 0 must be at least 1");
}

// Their product with the bytes of an element is 2^64, which divides nothing.
TEST_F(PlanRefusals, RowsThatNoMemoryHolds) {
  Expect(
      [](auto& b) { b.kv.kv_heads = b.q_heads = b.kv.head_dim = int64_t{1} << 31; }, "kv.head_dim",
      "kv.head_dim = 2147483648 in 2147483648 heads of q is more than the 16777216 elements of a row that a "
      "plan holds");
  Expect([](auto& b) { b.kv.head_dim_v = (1 << 22) + 1; }, "kv.head_dim_v",
         "kv.head_dim_v = 4194305 in 4 heads of q is more than the 16777216 elements of a row that a plan "
         "holds");
}

TEST_F(PlanRefusals, TheParameters) {
  Expect([](auto& b) { b.params.scale = kNaN; }, "scale", "scale = nan must be finite");
  Expect([](auto& b) { b.params.scale = INFINITY; }, "scale", "scale = inf must be finite");
  Expect([](auto& b) { b.params.softcap = -1; }, "softcap",
         "softcap = -1 must be finite and at least 0 (0: none)");
  Expect([](auto& b) { b.params.softcap = kNaN; }, "softcap",
         "softcap = nan must be finite and at least 0 (0: none)");
  Expect([](auto& b) { b.params.window_left = -2; }, "window_left",
         "window_left = -2 must be at least -1 (-1: unbounded)");
  Expect([](auto& b) { b.params.window_right = std::numeric_limits<int64_t>::min(); }, "window_right",
         "window_right = -9223372036854775808 must be at least -1 (-1: unbounded)");
  Expect([](auto& b) { b.q_heads = 3; }, "q_heads",
         "q_heads = 3 must be a multiple of the 2 heads of k_cache");
  Expect([](auto& b) { b.q_heads = 0; }, "q_heads",
         "q_heads = 0 must be a multiple of the 2 heads of k_cache");
}

TEST_F(PlanRefusals, TheOffsetsOfQ) {
  Expect([](auto& b) { b.q_indptr = {}; }, "q_indptr", "q_indptr is missing");
  const IndexTensor one_more({0, 3, 4, 4});
  Expect([&](auto& b) { b.q_indptr = one_more.view(); }, "kv_indptr", "kv_indptr has 3 entries, expected 4");
  const IndexTensor falls({0, 3, 2});
  Expect([&](auto& b) { b.q_indptr = falls.view(); }, "q_indptr[2]",
         "q_indptr[2] = 2 is below q_indptr[1] = 3; offsets must not decrease (sequence 1)");
  // Work for so many rows would not fit into memory: the number is a mistake.
  const IndexTensor huge({0, 3, int64_t{1} << 31}, DType::kI64);
  Expect([&](auto& b) { b.q_indptr = huge.view(); }, "q_indptr[2]",
         "q_indptr[2] = 2147483648 rows of q are more than the 2147483647 that a plan holds");
}

TEST_F(PlanRefusals, ThePageTable) {
  Expect([](auto& b) { b.table = {}; }, "page_table", "page_table has neither kv_indptr nor block_table");
  Expect([](auto& b) { b.kv.num_pages = 0; }, "kv_indices[0]",
         fmt::format("kv_indices[0] = {}, but the cache has no pages (sequence 0)",
                     static_cast<const int32_t*>(problem_.batch().table.indices.data)[0]));
}

TEST_F(PlanRefusals, TheThreads) {
  for (const SoftmaxVariant* variant : SoftmaxVariants()) {
    for (const int threads : {0, -1, 4097, std::numeric_limits<int>::max()}) {
      ExpectError([&] { PlanSoftmax(*variant, problem_.batch(), threads); }, "threads",
                  fmt::format("threads = {} is outside 1..4096", threads));
    }
    EXPECT_GT(PlanSoftmax(*variant, problem_.batch(), 4096).workspace_bytes(), 0U);
  }
}

TEST_F(PlanRefusals, WhatAVariantDoesNotSupport) {
  SoftmaxVariant picky = *FindSoftmaxVariant("gather");
  picky.name = "picky";
  picky.supports = [](const NormalBatch& batch) {
    return Support::No("head_dim", fmt::format("= {} is not 128", batch.head_dim));
  };
  ExpectError([&] { PlanSoftmax(picky, problem_.batch(), 2); }, "head_dim",
              "head_dim = 8 is not 128 (picky does not compute this)", ErrorCode::kUnsupported);
}

// --- RunSoftmax

struct Launch {
  SoftmaxCall call;
  std::span<std::byte> workspace;
};

class RunRefusals : public ::testing::Test {
 protected:
  void Expect(const std::function<void(Launch&)>& change, std::string_view field, std::string_view text,
              int threads = 2) {
    const auto rows = static_cast<size_t>(problem_.lse_floats());
    ThreadPool pool(threads);
    for (const SoftmaxVariant* variant : SoftmaxVariants()) {
      SCOPED_TRACE(variant->name);
      const SoftmaxPlan plan = PlanSoftmax(*variant, problem_.batch(), 2);
      std::vector<float> out(problem_.out_floats(), 77.0F);
      std::vector<float> lse(rows, 77.0F);
      Buffer workspace(plan.workspace_bytes() + 64);
      Launch run = {problem_.Call(out.data(), lse.data()),
                    workspace.span<std::byte>().first(plan.workspace_bytes())};
      change(run);
      std::string want(text);
      if (const size_t at = want.find("{need}"); at != std::string::npos) {
        want = fmt::format(fmt::runtime(want), fmt::arg("have", run.workspace.size()),
                           fmt::arg("need", plan.workspace_bytes()));
      }
      ExpectError([&] { RunSoftmax(plan, run.call, run.workspace, pool); }, field, want);
      EXPECT_EQ(std::ranges::count(out, 77.0F), problem_.out_floats());
      EXPECT_EQ(std::ranges::count(lse, 77.0F), problem_.lse_floats());
    }
  }
  Problem problem_{Spec()};
};

TEST_F(RunRefusals, NothingWhenAllIsWell) {
  for (const SoftmaxVariant* variant : SoftmaxVariants()) EXPECT_NO_THROW(RunVariant(*variant, problem_, 2));
}

TEST_F(RunRefusals, TheGeometryOfTheCache) {
  const auto other = [&](int64_t PagedKvView::* member, const char* name) {
    const int64_t planned = problem_.batch().kv.*member;
    const std::string field = fmt::format("kv.{}", name);
    Expect([&](Launch& r) { r.call.kv.*member += 1; }, field,
           fmt::format("{} = {}, but the plan was made for {}", field, planned + 1, planned));
  };
  other(&PagedKvView::num_pages, "num_pages");
  other(&PagedKvView::page_size, "page_size");
  other(&PagedKvView::kv_heads, "kv_heads");
  other(&PagedKvView::head_dim, "head_dim");
  other(&PagedKvView::head_dim_v, "head_dim_v");
  other(&PagedKvView::k_page_stride, "k_page_stride");
  other(&PagedKvView::k_slot_stride, "k_slot_stride");
  other(&PagedKvView::k_head_stride, "k_head_stride");
  other(&PagedKvView::v_page_stride, "v_page_stride");
  other(&PagedKvView::v_slot_stride, "v_slot_stride");
  other(&PagedKvView::v_head_stride, "v_head_stride");
  Expect([](Launch& r) { r.call.kv.dtype = DType::kBF16; }, "kv.dtype",
         "kv.dtype = bf16, but the plan was made for f32");
  Expect([](Launch& r) { r.call.kv.k = nullptr; }, "kv.k", "kv.k has no data");
  Expect([](Launch& r) { r.call.kv.v = nullptr; }, "kv.v", "kv.v has no data");
}

TEST_F(RunRefusals, Q) {
  Expect([](Launch& r) { r.call.q = {}; }, "q", "q is missing");
  Expect([](Launch& r) { r.call.q.shape[0] = 5; }, "q.shape", "q.shape must be [4, 4, 8] as planned");
  Expect([](Launch& r) { r.call.q.shape[2] = 12; }, "q.shape", "q.shape must be [4, 4, 8] as planned");
  Expect([](Launch& r) { r.call.q.rank = 2; }, "q.shape", "q.shape must be [4, 4, 8] as planned");
  Expect([](Launch& r) { r.call.q.dtype = DType::kF16; }, "q", "q is f16, but the cache is f32");
  Expect([](Launch& r) { r.call.q.strides[2] = 2; }, "q", "q must be dense in its last dimension");
  Expect([](Launch& r) { r.call.q.data = nullptr; }, "q", "q has no data");
}

TEST_F(RunRefusals, Out) {
  Expect([](Launch& r) { r.call.out = {}; }, "out", "out is missing");
  Expect([](Launch& r) { r.call.out.shape[1] = 2; }, "out.shape", "out.shape must be [4, 4, 12] as planned");
  Expect([](Launch& r) { r.call.out.dtype = DType::kF64; }, "out", "out must be f32, f16 or bf16");
  Expect([](Launch& r) { r.call.out.strides[2] = -1; }, "out", "out must be dense in its last dimension");
  Expect([](Launch& r) { r.call.out.data = nullptr; }, "out", "out has no data");
}

TEST_F(RunRefusals, TheRest) {
  Expect([](Launch& r) { r.call.lse.shape[1] = 3; }, "lse", "lse must be [4, 4] of f32");
  Expect([](Launch& r) { r.call.lse.dtype = DType::kF16; }, "lse", "lse must be [4, 4] of f32");
  Expect([](Launch& r) { r.call.lse.data = nullptr; }, "lse", "lse has no data");
  Expect([](Launch& r) { r.call.alibi_slopes.shape[0] = 2; }, "alibi_slopes",
         "alibi_slopes must be [4] of f32");
  Expect([](Launch& r) { r.call.alibi_slopes.data = nullptr; }, "alibi_slopes", "alibi_slopes has no data");
  Expect([](Launch& r) { r.call.sinks.dtype = DType::kF16; }, "sinks", "sinks must be [4] of f32");
  Expect([](Launch& r) { r.call.sinks.rank = 2; }, "sinks", "sinks must be [4] of f32");
  Expect([](Launch& r) { r.workspace = r.workspace.first(r.workspace.size() - 1); }, "workspace",
         "workspace has {have} bytes, the plan needs {need}");
  Expect([](Launch& r) { r.workspace = {}; }, "workspace",
         "workspace has {have} bytes, the plan needs {need}");
  Expect([](Launch& r) { r.workspace = {r.workspace.data() + 4, r.workspace.size()}; }, "workspace",
         "workspace must be 64-byte aligned");
  Expect([](Launch&) {}, "pool", "pool has 3 threads, but the plan was made for 2", 3);
}

TEST_F(RunRefusals, ACallWithoutRowsNeedsNoData) {
  ProblemSpec spec = Spec();
  spec.contexts = {};
  spec.queries = {};
  spec.alibi = spec.sinks = false;
  const Problem empty(spec);
  ThreadPool pool(2);
  for (const SoftmaxVariant* variant : SoftmaxVariants()) {
    const SoftmaxPlan plan = PlanSoftmax(*variant, empty.batch(), 2);
    Buffer workspace(plan.workspace_bytes());
    SoftmaxCall call = empty.Call(nullptr, nullptr);
    call.q.data = call.kv.k = call.kv.v = nullptr;
    EXPECT_NO_THROW(RunSoftmax(plan, call, workspace.span<std::byte>(), pool)) << variant->name;
  }
}

}  // namespace
}  // namespace pagoda::testing

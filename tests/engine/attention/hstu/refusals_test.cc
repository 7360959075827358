// What PlanHstu and RunHstu refuse, each field by name and before anything is written, and what lies just
// inside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "engine/attention/hstu/problem.h"
#include "engine/attention/tiles.h"
#include "engine/expect_error.h"
#include "engine/index_tensor.h"

namespace pagoda::testing {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Sequence 0: rows 3, history 20, 2 targets; sequence 1: 1 row, 5 keys.
HstuSpec Spec(bool paged) {
  HstuSpec spec;
  spec.sequences = {{.queries = 3, .keys = 22, .targets = 2}, {.queries = 1, .keys = 5}};
  spec.head_dim = 8;
  spec.head_dim_v = 12;
  spec.paged = paged;
  spec.rab = PairForm{.per_sequence = true, .per_head = true};
  return spec;
}

HstuSpec WithMask(HstuMask mask, bool paged = true) {
  HstuSpec spec = Spec(paged);
  spec.params.mask = mask;
  spec.mask = PairForm{.per_sequence = true};
  spec.interval_bounds = 3;
  return spec;
}

// --- PlanHstu

struct BatchRefusal {
  std::function<void(HstuBatch&)> change;
  std::string_view field;
  std::string text;
};

void ExpectRefused(const HstuSpec& spec, const std::vector<BatchRefusal>& refusals) {
  const HstuProblem problem(spec);
  for (const BatchRefusal& refusal : refusals) {
    HstuBatch batch = problem.batch();
    refusal.change(batch);
    for (const HstuVariant* variant : HstuVariants()) {
      SCOPED_TRACE(variant->name);
      ExpectError([&] { PlanHstu(*variant, batch, 2); }, refusal.field, refusal.text);
    }
  }
}

void ExpectTaken(const HstuSpec& spec, const std::function<void(HstuBatch&)>& change = [](HstuBatch&) {}) {
  const HstuProblem problem(spec);
  HstuBatch batch = problem.batch();
  change(batch);
  for (const HstuVariant* variant : HstuVariants())
    EXPECT_NO_THROW(RunHstuVariant(*variant, batch, problem.call(), 2)) << spec.Describe();
}

TEST(HstuPlanRefusals, EachParameter) {
  const auto negative = [](int64_t HstuParams::* member) {
    return [member](HstuBatch& b) { b.params.*member = -1; };
  };
  ExpectRefused(
      Spec(true),
      {{[](auto& b) { b.params.alpha = kNaN; }, "alpha", "alpha = nan must be finite"},
       {[](auto& b) { b.params.alpha = -kInfinity; }, "alpha", "alpha = -inf must be finite"},
       {[](auto& b) { b.params.silu_scale = kInfinity; }, "silu_scale", "silu_scale = inf must be finite"},
       {[](auto& b) { b.params.silu_scale = kNaN; }, "silu_scale", "silu_scale = nan must be finite"},
       {[](auto& b) { b.params.max_seq_len = -1; }, "max_seq_len", "max_seq_len = -1 must not be negative"},
       {[](auto& b) { b.params.max_seq_len = 0; }, "max_seq_len",
        "max_seq_len is missing: give it or silu_scale, which is 1 / max_seq_len otherwise"},
       {[](auto& b) { b.params.target_group_size = 0; }, "target_group_size",
        "target_group_size = 0 must be at least 1"},
       {[](auto& b) { b.params.window_left = -2; }, "window_left",
        "window_left = -2 must be at least -1 (-1: unbounded)"},
       {[](auto& b) { b.params.window_right = -2; }, "window_right",
        "window_right = -2 must be at least -1 (-1: unbounded)"},
       {negative(&HstuParams::max_attn_len), "max_attn_len",
        "max_attn_len = -1 must not be negative (0: off)"},
       {negative(&HstuParams::min_full_attn_seq_len), "min_full_attn_seq_len",
        "min_full_attn_seq_len = -1 must not be negative (0: off)"}});
}

TEST(HstuPlanRefusals, ParametersThatContradict) {
  ExpectRefused(
      Spec(true),
      {{[](auto& b) { b.params.max_attn_len = b.params.window_left = 3; }, "window_left",
        "window_left and max_attn_len are both given; both say how far a row sees"},
       {[](auto& b) { b.params.max_attn_len = 1, b.params.window_right = 0; }, "window_right",
        "window_right and max_attn_len are both given; both say how far a row sees"},
       {[](auto& b) { b.params.max_attn_len = 1, b.params.target_group_size = 2; }, "target_group_size",
        "target_group_size = 2 and max_attn_len are both given, which has no meaning: max_attn_len puts all "
        "targets at one place"}});
  for (const auto& [mask, name] :
       {std::pair{HstuMask::kNone, "none"}, {HstuMask::kDense, "dense"}, {HstuMask::kInterval, "interval"}}) {
    const auto text = [name = name](const char* field) {
      return fmt::format(
          "{} has no meaning with mask {}, which decides alone; use mask causal or leave it out", field,
          name);
    };
    const IndexTensor contextuals({0, 1});
    const std::string group = text("target_group_size");
    const std::string attn = text("max_attn_len");
    const std::string left = text("window_left");
    const std::string right = text("window_right");
    const std::string contextual =
        fmt::format("num_contextuals[1] = 1 has no meaning with mask {}, which decides alone", name);
    ExpectRefused(
        WithMask(mask),
        {{[](auto& b) { b.params.target_group_size = 2; }, "target_group_size", group},
         {[](auto& b) { b.params.max_attn_len = 1; }, "max_attn_len", attn},
         {[&](auto& b) { b.num_contextuals = contextuals.view(); }, "num_contextuals[1]", contextual}});
    if (mask == HstuMask::kNone) continue;
    ExpectRefused(WithMask(mask), {{[](auto& b) { b.params.window_left = 0; }, "window_left", left},
                                   {[](auto& b) { b.params.window_right = 0; }, "window_right", right}});
  }
}

TEST(HstuPlanRefusals, TheShape) {
  ExpectRefused(
      Spec(true),
      {{[](auto& b) { b.dtype = DType::kI32; }, "dtype", "dtype = i32 must be f32, f16 or bf16"},
       {[](auto& b) { b.kv_heads = 0; }, "kv_heads", "kv_heads = 0 must be at least 1"},
       {[](auto& b) { b.head_dim = 0; }, "head_dim", "head_dim = 0 must be at least 1"},
       {[](auto& b) { b.head_dim_v = -4; }, "head_dim_v", "head_dim_v = -4 must be at least 1"},
       {[](auto& b) { b.q_heads = 3; }, "q_heads", "q_heads = 3 must be a multiple of the 2 heads of k"},
       {[](auto& b) { b.q_heads = 0; }, "q_heads", "q_heads = 0 must be a multiple of the 2 heads of k"}});
}

// Their product with the bytes of an element is 2^64, which divides nothing.
TEST(HstuPlanRefusals, RowsThatNoMemoryHolds) {
  for (const bool paged : {true, false}) {
    ExpectRefused(
        Spec(paged),
        {{[](auto& b) { b.kv_heads = b.q_heads = b.head_dim = int64_t{1} << 31; }, "head_dim",
          "head_dim = 2147483648 in 2147483648 heads of q is more than the 16777216 elements of a row that a "
          "plan holds"},
         {[](auto& b) { b.head_dim_v = (1 << 22) + 1; }, "head_dim_v",
          "head_dim_v = 4194305 in 4 heads of q is more than the 16777216 elements of a row that a plan "
          "holds"}});
  }
}

TEST(HstuPlanRefusals, TheLengths) {
  const IndexTensor falls({0, 3, 2});
  const IndexTensor huge({0, 3, int64_t{1} << 31}, DType::kI64);
  const IndexTensor huge_k({0, 22, int64_t{1} << 62}, DType::kI64);
  const IndexTensor three({0, 1, 2, 4});
  const IndexTensor one({1});
  const IndexTensor negative({2, -1});
  const IndexTensor four({2, 4});
  const IndexTensor many({2, 6});
  const IndexTensor more_rows({0, 23, 24});
  const IndexTensor contextuals({21, 0});
  const IndexTensor floats({0, 0});
  TensorView not_index = floats.view();
  not_index.dtype = DType::kF32;
  const std::vector<BatchRefusal> both = {
      {[](auto& b) { b.seq_offsets = {}; }, "seq_offsets", "seq_offsets is missing"},
      {[&](auto& b) { b.seq_offsets = falls.view(); }, "seq_offsets[2]",
       "seq_offsets[2] = 2 is below seq_offsets[1] = 3; offsets must not decrease (sequence 1)"},
      {[&](auto& b) { b.seq_offsets = huge.view(); }, "seq_offsets[2]",
       "seq_offsets[2] = 2147483648 rows of q are more than the 2147483647 that a plan holds"},
      {[&](auto& b) { b.num_targets = one.view(); }, "num_targets", "num_targets has 1 entries, expected 2"},
      {[&](auto& b) { b.num_targets = negative.view(); }, "num_targets[1]",
       "num_targets[1] = -1 must not be negative"},
      {[&](auto& b) { b.num_targets = not_index; }, "num_targets", "num_targets must be i32 or i64, not f32"},
      {[&](auto& b) { b.num_contextuals = one.view(); }, "num_contextuals",
       "num_contextuals has 1 entries, expected 2"},
      {[&](auto& b) { b.num_contextuals = negative.view(); }, "num_contextuals[1]",
       "num_contextuals[1] = -1 must not be negative"},
      {[&](auto& b) { b.num_contextuals = contextuals.view(); }, "num_contextuals[0]",
       "num_contextuals[0] = 21 is more than the 20 keys of history of sequence 0"},
  };
  ExpectRefused(Spec(true), both);
  ExpectRefused(Spec(false), both);
  ExpectRefused(Spec(true),
                {{[&](auto& b) { b.num_targets = four.view(); }, "num_targets[1]",
                  "num_targets[1] = 4 is more than the 1 rows of sequence 1; targets are its last rows"},
                 {[&](auto& b) { b.seq_offsets_k = falls.view(); }, "seq_offsets_k",
                  "seq_offsets_k is given, but the pages say how many keys there are; remove it"},
                 {[&](auto& b) { b.seq_offsets = more_rows.view(); }, "seq_offsets[1]",
                  "seq_offsets[1] gives sequence 0 23 rows, more than its 22 keys"}});
  ExpectRefused(
      Spec(false),
      {{[&](auto& b) { b.num_targets = many.view(); }, "num_targets[1]",
        "num_targets[1] = 6 is more than the 5 keys of sequence 1"},
       {[&](auto& b) { b.seq_offsets_k = huge_k.view(); }, "seq_offsets_k[2]",
        "seq_offsets_k[2] = 4611686018427387904 rows of k are more than the 2147483647 that a plan "
        "holds"},
       {[&](auto& b) { b.seq_offsets_k = three.view(); }, "seq_offsets_k",
        "seq_offsets_k has 4 entries, expected 3"},
       {[&](auto& b) { b.seq_offsets_k = falls.view(); }, "seq_offsets_k[2]",
        "seq_offsets_k[2] = 2 is below seq_offsets_k[1] = 3; offsets must not decrease (sequence 1)"},
       {[&](auto& b) { b.seq_offsets = more_rows.view(); }, "seq_offsets[1]",
        "seq_offsets[1] gives sequence 0 23 rows, more than its 22 keys"}});
}

TEST(HstuPlanRefusals, TheCache) {
  ExpectRefused(
      Spec(true),
      {{[](auto& b) { b.kv.dtype = DType::kI32; }, "kv.dtype", "kv.dtype = i32 must be f32, f16 or bf16"},
       {[](auto& b) { b.kv.dtype = DType::kBF16; }, "kv.dtype", "kv.dtype = bf16, but q is f32"},
       {[](auto& b) { b.kv.num_pages = -1; }, "kv.num_pages", "kv.num_pages = -1 must not be negative"},
       {[](auto& b) { b.kv.page_size = 0; }, "kv.page_size", "kv.page_size = 0 must be at least 1"},
       {[](auto& b) { b.kv.page_size = int64_t{1} << 58; }, "kv.page_size",
        "kv.page_size = 288230376151711744 slots are more than the 2147483647 that a plan holds"},
       {[](auto& b) { b.kv.kv_heads = 4; }, "kv.kv_heads", "kv.kv_heads = 4, but kv_heads is 2"},
       {[](auto& b) { b.kv.head_dim = 16; }, "kv.head_dim", "kv.head_dim = 16, but head_dim is 8"},
       {[](auto& b) { b.kv.head_dim_v = 8; }, "kv.head_dim_v", "kv.head_dim_v = 8, but head_dim_v is 12"},
       {[](auto& b) { b.table.indices.shape[0] -= 1; }, "kv_indptr[2]",
        "kv_indptr[2] = 3 goes past the 2 entries of kv_indices (sequence 1)"},
       {[](auto& b) { b.table.block_table = b.table.indptr; }, "block_table",
        "block_table and kv_indptr are both given; a table has one form"}});
}

// A cache whose table was forgotten would silently be no cache.
TEST(HstuPlanRefusals, PagesWithoutATable) {
  const auto refusal = [](std::function<void(HstuBatch&)> change, std::string_view field) {
    return BatchRefusal{
        change, field,
        fmt::format("{} is given, but neither kv_indptr nor block_table: give one, or leave the pages out",
                    field)};
  };
  const HstuProblem paged(Spec(true));
  const HstuBatch& with = paged.batch();
  ExpectRefused(Spec(true), {refusal([](auto& b) { b.table = {}; }, "kv"),
                             refusal([](auto& b) { b.table.indptr = {}; }, "kv")});
  ExpectRefused(
      Spec(false),
      {refusal([&](auto& b) { b.kv = with.kv; }, "kv"), refusal([&](auto& b) { b.kv.page_size = 4; }, "kv"),
       refusal([&](auto& b) { b.table.indices = with.table.indices; }, "kv_indices"),
       refusal([&](auto& b) { b.table.last_page_len = with.table.last_page_len; }, "kv_last_page_len"),
       refusal([&](auto& b) { b.table.context_lens = with.table.last_page_len; }, "context_lens")});
}

TEST(HstuPlanRefusals, TheIntervals) {
  const IndexTensor some({1, 1, 1, 1}, 4, 1, DType::kI32, 1, 1);
  ExpectRefused(Spec(true), {{[&](auto& b) { b.interval_mask = some.view(); }, "interval_mask",
                              "interval_mask is given, but the mask is not interval"}});
  const std::string shape = "interval_mask must be [4, F] of i32 or i64 with F odd";
  ExpectRefused(
      WithMask(HstuMask::kInterval),
      {{[](auto& b) { b.interval_mask = {}; }, "interval_mask",
        "interval_mask is missing; the mask is interval"},
       {[](auto& b) { b.interval_mask.shape[0] = 3; }, "interval_mask", shape},
       {[](auto& b) { b.interval_mask.shape[1] = 2; }, "interval_mask", shape},
       {[](auto& b) { b.interval_mask.shape[1] = 0; }, "interval_mask", shape},
       {[](auto& b) { b.interval_mask.shape[1] = -1; }, "interval_mask", shape},
       {[](auto& b) { b.interval_mask.rank = 1; }, "interval_mask", shape},
       {[](auto& b) { b.interval_mask.dtype = DType::kF32; }, "interval_mask", shape},
       {[](auto& b) { b.interval_mask.data = nullptr; }, "interval_mask", "interval_mask has no data"}});
}

TEST(HstuPlanRefusals, TheThreads) {
  const HstuProblem problem(Spec(true));
  for (const HstuVariant* variant : HstuVariants()) {
    for (const int threads : {0, -1, 4097}) {
      ExpectError([&] { PlanHstu(*variant, problem.batch(), threads); }, "threads",
                  fmt::format("threads = {} is outside 1..4096", threads));
    }
    EXPECT_GT(PlanHstu(*variant, problem.batch(), 4096).workspace_bytes(), 0U);
  }
}

// A row of K has 32 bytes, one of V 48.
TEST(HstuPlanRefusals, AStagingBufferThatHoldsNoKey) {
  const HstuProblem problem(Spec(true));
  const auto expect = [&](std::string_view variant, std::string_view what, int64_t least) {
    const HstuVariant& v = *FindHstuVariant(variant);
    for (const int64_t bytes : {least - 1, int64_t{0}, std::numeric_limits<int64_t>::min()}) {
      ExpectError([&] { PlanHstu(v, problem.batch(), 2, {.staging_bytes = bytes}); }, "staging_bytes",
                  fmt::format("staging_bytes = {} does not hold {}: give at least {}", bytes, what, least));
    }
    EXPECT_NO_THROW(PlanHstu(v, problem.batch(), 2, {.staging_bytes = least}));
  };
  EXPECT_EQ(HstuPlanOptions().staging_bytes, 16 << 10);
  expect("hstu_gather_serial", "a row of a key", 48);
  expect("hstu_gather_pipelined", "two rows of a key", 2 * 48);
}

TEST(HstuPlan, TakesWhatLiesOnTheBorder) {
  const auto sequences = [](std::vector<Lengths> lengths, bool paged = true) {
    HstuSpec spec = Spec(paged);
    spec.sequences = std::move(lengths);
    return spec;
  };
  for (const bool paged : {true, false}) {
    ExpectTaken(Spec(paged));
    ExpectTaken(sequences({{.queries = 7, .keys = 7}}, paged));
    ExpectTaken(sequences({{.queries = 7, .keys = 7, .targets = 7}}, paged));
    ExpectTaken(sequences({{.queries = 7, .keys = 9, .targets = 3, .contextuals = 6}}, paged));
    ExpectTaken(sequences({{.queries = 1, .keys = 4}, {}, {.queries = 2, .keys = 2}}, paged));
    ExpectTaken(sequences({}, paged));
    ExpectTaken(Spec(paged), [](HstuBatch& b) {
      b.params = {.alpha = 0, .silu_scale = -1, .window_left = kMost, .window_right = kMost};
    });
    ExpectTaken(Spec(paged), [](HstuBatch& b) {
      b.params = {.max_seq_len = kMost, .max_attn_len = kMost, .min_full_attn_seq_len = kMost};
    });
    ExpectTaken(Spec(paged), [](HstuBatch& b) { b.params = {.max_seq_len = 1, .target_group_size = kMost}; });
  }
  // A contiguous sequence may have more targets than rows of q.
  ExpectTaken(sequences({{.queries = 2, .keys = 9, .targets = 5}}, false));
}

TEST(HstuPlan, WithoutTargetsKAndVMayBeLeftOut) {
  HstuSpec spec = Spec(true);
  spec.sequences[0].targets = 0;
  const HstuProblem problem(spec);
  ASSERT_TRUE(problem.call().k.empty());
  for (const HstuVariant* variant : HstuVariants())
    EXPECT_NO_THROW(RunHstuVariant(*variant, problem, 2)) << variant->name;
}

// --- RunHstu

struct Launch {
  HstuCall call;
  std::span<std::byte> workspace;
};

struct CallRefusal {
  std::function<void(Launch&)> change;
  std::string_view field, text;  // "{have}", "{need}": bytes of workspace
};

void ExpectRunRefused(const HstuSpec& spec, const std::vector<CallRefusal>& refusals, int threads = 2) {
  const HstuProblem problem(spec);
  ThreadPool pool(threads);
  const int64_t rows = problem.call().q.shape[0];
  for (const HstuVariant* variant : HstuVariants()) {
    const HstuPlan plan = PlanHstu(*variant, problem.batch(), 2);
    for (const CallRefusal& refusal : refusals) {
      SCOPED_TRACE(fmt::format("{}: {}", variant->name, refusal.text));
      std::vector<float> out(rows * spec.q_heads * spec.head_dim_v, 77.0F);
      Buffer workspace(plan.workspace_bytes() + 64);
      Launch run = {problem.call(), workspace.span<std::byte>().first(plan.workspace_bytes())};
      run.call.out = TensorView::Dense(out.data(), DType::kF32, {rows, spec.q_heads, spec.head_dim_v});
      refusal.change(run);
      const std::string text = fmt::format(fmt::runtime(refusal.text), fmt::arg("have", run.workspace.size()),
                                           fmt::arg("need", plan.workspace_bytes()));
      ExpectError([&] { RunHstu(plan, run.call, run.workspace, pool); }, refusal.field, text);
      EXPECT_EQ(std::ranges::count(out, 77.0F), std::ssize(out));
    }
  }
}

TEST(HstuRunRefusals, TheCache) {
  std::vector<CallRefusal> refusals = {
      {[](Launch& r) { r.call.kv.dtype = DType::kBF16; }, "kv.dtype",
       "kv.dtype = bf16, but the plan was made for f32"},
      {[](Launch& r) { r.call.kv.page_size = 4; }, "kv.page_size",
       "kv.page_size = 4, but the plan was made for 16"},
      {[](Launch& r) { r.call.kv.v_head_stride = 13; }, "kv.v_head_stride",
       "kv.v_head_stride = 13, but the plan was made for 12"},
      {[](Launch& r) { r.call.kv.k = nullptr; }, "kv.k", "kv.k has no data"},
      {[](Launch& r) { r.call.kv.v = nullptr; }, "kv.v", "kv.v has no data"}};
  ExpectRunRefused(Spec(true), refusals);
}

TEST(HstuRunRefusals, QAndOut) {
  for (const bool paged : {true, false}) {
    ExpectRunRefused(
        Spec(paged),
        {{[](Launch& r) { r.call.q = {}; }, "q", "q is missing"},
         {[](Launch& r) { r.call.q.shape[0] = 5; }, "q.shape", "q.shape must be [4, 4, 8] as planned"},
         {[](Launch& r) { r.call.q.dtype = DType::kF16; }, "q", "q is f16, but the plan was made for f32"},
         {[](Launch& r) { r.call.q.strides[2] = 2; }, "q", "q must be dense in its last dimension"},
         {[](Launch& r) { r.call.q.data = nullptr; }, "q", "q has no data"},
         {[](Launch& r) { r.call.out = {}; }, "out", "out is missing"},
         {[](Launch& r) { r.call.out.shape[2] = 8; }, "out.shape", "out.shape must be [4, 4, 12] as planned"},
         {[](Launch& r) { r.call.out.dtype = DType::kI32; }, "out", "out must be f32, f16 or bf16"},
         {[](Launch& r) { r.call.out.strides[2] = 2; }, "out", "out must be dense in its last dimension"},
         {[](Launch& r) { r.call.out.data = nullptr; }, "out", "out has no data"}});
  }
}

TEST(HstuRunRefusals, KAndV) {
  for (const bool paged : {true, false}) {
    const int64_t rows = paged ? 4 : 27;
    const std::string k_shape = fmt::format("k.shape must be [{}, 2, 8] as planned", rows);
    const std::string v_shape = fmt::format("v.shape must be [{}, 2, 12] as planned", rows);
    ExpectRunRefused(
        Spec(paged),
        {{[](Launch& r) { r.call.k = {}; }, "k", "k is missing"},
         {[](Launch& r) { r.call.v = {}; }, "v", "v is missing"},
         {[](Launch& r) { r.call.k.shape[0] += 1; }, "k.shape", k_shape},
         {[](Launch& r) { r.call.v.shape[1] = 4; }, "v.shape", v_shape},
         {[](Launch& r) { r.call.k.dtype = DType::kBF16; }, "k", "k is bf16, but the plan was made for f32"},
         {[](Launch& r) { r.call.v.dtype = DType::kF16; }, "v", "v is f16, but the plan was made for f32"},
         {[](Launch& r) { r.call.k.data = nullptr; }, "k", "k has no data"},
         {[](Launch& r) { r.call.v.strides[2] = 0; }, "v", "v must be dense in its last dimension"}});
  }
  // Nobody reads them, but what is given has to fit.
  HstuSpec spec = Spec(true);
  spec.sequences[0].targets = 0;
  ExpectRunRefused(
      spec, {{[](Launch& r) { r.call.k = r.call.q; }, "k.shape", "k.shape must be [4, 2, 8] as planned"},
             {[](Launch& r) { r.call.v = r.call.q; }, "k", "k is missing"}});
}

TEST(HstuRunRefusals, BiasAndDenseMask) {
  constexpr std::string_view kRab = "rab must be [2 or 1, 4 or 1, 3 or more, 22 or more] of f32";
  ExpectRunRefused(Spec(true), {{[](Launch& r) { r.call.rab.dtype = DType::kF16; }, "rab", kRab},
                                {[](Launch& r) { r.call.rab.rank = 3; }, "rab", kRab},
                                {[](Launch& r) { r.call.rab.shape[0] = 3; }, "rab", kRab},
                                {[](Launch& r) { r.call.rab.shape[1] = 2; }, "rab", kRab},
                                {[](Launch& r) { r.call.rab.shape[2] = 2; }, "rab", kRab},
                                {[](Launch& r) { r.call.rab.shape[3] = 21; }, "rab", kRab},
                                {[](Launch& r) { r.call.rab.data = nullptr; }, "rab", "rab has no data"},
                                {[](Launch& r) { r.call.mask = r.call.rab; }, "mask",
                                 "mask is given, but the plan was made for a mask that is not dense"}});
  constexpr std::string_view kMask = "mask must be [2 or 1, 4 or 1, 3 or more, 22 or more] of f32";
  ExpectRunRefused(WithMask(HstuMask::kDense),
                   {{[](Launch& r) { r.call.mask = {}; }, "mask", "mask is missing; the mask is dense"},
                    {[](Launch& r) { r.call.mask.shape[3] = 21; }, "mask", kMask},
                    {[](Launch& r) { r.call.mask.dtype = DType::kI32; }, "mask", kMask},
                    {[](Launch& r) { r.call.mask.data = nullptr; }, "mask", "mask has no data"}});
}

TEST(HstuRunRefusals, WorkspaceAndPool) {
  ExpectRunRefused(Spec(true),
                   {{[](Launch& r) { r.workspace = r.workspace.first(r.workspace.size() - 1); }, "workspace",
                     "workspace has {have} bytes, the plan needs {need}"},
                    {[](Launch& r) { r.workspace = {r.workspace.data() + 4, r.workspace.size()}; },
                     "workspace", "workspace must be 64-byte aligned"}});
  ExpectRunRefused(Spec(true), {{[](Launch&) {}, "pool", "pool has 3 threads, but the plan was made for 2"}},
                   3);
}

}  // namespace
}  // namespace pagoda::testing

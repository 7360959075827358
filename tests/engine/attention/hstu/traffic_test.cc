// Holds each HSTU variant to the cost shape of its header comment: bytes of K and V that the kernels really
// read and write, tasks and launches, against its plan and against the comment's formula worked out here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "base/buffer.h"
#include "engine/attention/counting_kernels.h"
#include "engine/attention/hstu/problem.h"
#include "engine/attention/hstu/visible.h"

namespace pagoda::testing {
namespace {

int64_t Quotient(int64_t n, int64_t by) { return (n + by - 1) / by; }

// --- the formulas, from the problem alone

// Which keys a block of up to 256 rows per kv head sees.
struct SeenBlock {
  int64_t rows = 0;
  std::vector<bool> keys;

  int64_t count(int64_t begin, int64_t end) const {
    return std::count(keys.begin() + begin, keys.begin() + std::min(end, std::ssize(keys)), true);
  }
  int64_t count() const { return count(0, std::ssize(keys)); }
  int64_t first() const { return std::find(keys.begin(), keys.end(), true) - keys.begin(); }
  // One past the last.
  int64_t end() const { return keys.rend() - std::find(keys.rbegin(), keys.rend(), true); }
};

std::vector<int64_t> BoundsOf(const HstuProblem& problem, int64_t row) {
  const TensorView& t = problem.batch().interval_mask;
  std::vector<int64_t> bounds;
  for (int64_t f = 0; !t.empty() && f < t.shape[1]; ++f)
    bounds.push_back(static_cast<const int32_t*>(t.data)[row * t.strides[0] + f]);
  return bounds;
}

std::vector<SeenBlock> Blocks(const HstuProblem& problem) {
  const HstuSpec& spec = problem.spec();
  const int64_t group = spec.q_heads / spec.kv_heads;
  const int64_t queries = std::max<int64_t>(1, 256 / group);
  std::vector<SeenBlock> blocks;
  int64_t row = 0;
  for (const Lengths& s : spec.sequences) {
    for (int64_t a = 0; a < s.queries; ++a, ++row) {
      if (a % queries == 0) blocks.push_back({0, std::vector<bool>(s.keys, false)});
      blocks.back().rows += group;
      const std::vector<int64_t> bounds = BoundsOf(problem, row);
      for (int64_t j = 0; j < s.keys; ++j) {
        if (Visible(spec.params, s, s.keys - s.queries + a, j, bounds)) blocks.back().keys[j] = true;
      }
    }
  }
  return blocks;
}

int64_t KeyBytes(const HstuSpec& spec) {
  return spec.kv_heads * (spec.head_dim + spec.head_dim_v) * SizeOf(spec.dtype);
}

// Reads each seen key three times a block and writes it twice; one task per (block, kv head), one launch.
Traffic GatherFormula(const HstuProblem& problem) {
  Traffic t;
  for (const SeenBlock& block : Blocks(problem)) {
    t.kv_bytes_read += 3 * block.count() * KeyBytes(problem.spec());
    t.kv_bytes_written += 2 * block.count() * KeyBytes(problem.spec());
    t.tasks += problem.spec().kv_heads;
  }
  t.launches = t.tasks > 0 ? 1 : 0;
  return t;
}

// Reads each seen key once a block. Up to 8 rows: ranges of a 16th of the span of seen keys, in steps of 128
// from 128 to 512, over as many kv heads as make 256 rows. More rows: ranges of 2,112 keys, one kv head.
// Ranges without a seen key are left out; the sums of a cut block are added by one task per item's heads.
Traffic FusedFormula(const HstuProblem& problem) {
  const HstuSpec& spec = problem.spec();
  Traffic t;
  int64_t combines = 0;
  for (const SeenBlock& block : Blocks(problem)) {
    t.kv_bytes_read += block.count() * KeyBytes(spec);
    const bool few = block.rows <= 8;
    int64_t ranges = 0;
    if (block.count() > 0) {
      const int64_t span = block.end() - block.first();
      const int64_t step = few ? std::clamp<int64_t>(Quotient(span / 16, 128) * 128, 128, 512) : 2112;
      for (int64_t at = block.first() / step * step; at < block.end(); at += step)
        ranges += block.count(at, at + step) > 0 ? 1 : 0;
    }
    const int64_t heads = few ? std::min(spec.kv_heads, 256 / block.rows) : 1;
    t.tasks += std::max<int64_t>(1, ranges) * Quotient(spec.kv_heads, heads);
    if (ranges > 1) combines += Quotient(spec.kv_heads, heads);
  }
  t.launches = (t.tasks > 0 ? 1 : 0) + (combines > 0 ? 1 : 0);
  t.tasks += combines;
  return t;
}

struct Formula {
  const char* variant;
  Traffic (*traffic)(const HstuProblem&);
};

constexpr Formula kFormulas[] = {
    {"hstu_gather_serial", GatherFormula},
    {"hstu_gather_pipelined", GatherFormula},
    {"hstu_fused", FusedFormula},
};

// --- what really happens

struct Measured {
  Traffic planned;
  int64_t kv_bytes_read, kv_bytes_written, pool_tasks, launches, rows_asked_for;
};

Measured Measure(const HstuVariant& variant, const HstuProblem& problem, int threads) {
  HstuCall call = problem.call();
  const CountingKernels counting;
  const HstuPlan plan = PlanHstu(variant, problem.batch(), threads);
  const HstuSpec& spec = problem.spec();
  Buffer out(call.q.shape[0] * spec.q_heads * spec.head_dim_v * sizeof(float));
  Buffer workspace(plan.workspace_bytes());
  ThreadPool pool(threads);
  call.out = TensorView::Dense(out.data(), DType::kF32, {call.q.shape[0], spec.q_heads, spec.head_dim_v});
  RunHstu(plan, call, workspace.span<std::byte>(), pool);
  return {plan.impl().traffic,   counting.kv_bytes_read(), counting.kv_bytes_written(),
          pool.counters().tasks, pool.counters().launches, counting.rows_asked_for()};
}

std::vector<HstuSpec> Shapes() {
  std::vector<HstuSpec> shapes;
  const auto add = [&](std::vector<Lengths> sequences, const HstuParams& params, auto&& change) {
    HstuSpec spec;
    spec.sequences = std::move(sequences);
    spec.params = params;
    spec.head_dim = 16;
    spec.head_dim_v = 24;
    spec.dtype = DType::kBF16;
    change(spec);
    shapes.push_back(spec);
  };
  const auto as_is = [](HstuSpec&) {};
  const auto contiguous = [](HstuSpec& s) { s.paged = false; };
  const auto holes = [](HstuSpec& s) { s.bounds = {10, 2500, 2600, 8000, 8100}; };
  add({{1, 1000}, {1, 1000}}, {}, as_is);                       // one row each
  add({{1, 4500}, {3, 9000, 2}}, {}, as_is);                    // long, few rows
  add({{40, 4500, 30}}, {}, as_is);                             // long, many rows
  add({{40, 4500, 30}}, {.target_group_size = 4}, contiguous);  // the same without pages
  add({{1, 1}}, {}, as_is);                                     // one key
  add({{600, 600}}, {}, [](HstuSpec& s) { s.q_heads = 6; });    // all rows of a sequence
  add({{600, 700, 5}}, {.window_left = 40}, as_is);             // a window that moves with the blocks
  add({{300, 300, 9, 4}}, {.window_left = 0}, as_is);           // the diagonal, and contextual rows
  add({{2, 5000, 2}, {30, 5000, 30}}, {.max_attn_len = 100}, as_is);
  add({{4, 900}, {300, 900}}, {.mask = HstuMask::kNone, .window_left = 70, .window_right = 3}, as_is);
  add({{1, 9000}, {20, 9000}}, {.mask = HstuMask::kInterval}, holes);
  add({{2, 3000}, {20, 3000}}, {.mask = HstuMask::kInterval}, as_is);  // any keys at all
  add({{2, 300}, {20, 100}}, {.mask = HstuMask::kDense}, contiguous);  // every key
  add({{0, 0}, {0, 40}, {3, 3, 3}, {9, 40, 9}}, {}, as_is);            // empty ones, targets alone
  add({}, {}, as_is);                                                  // no batch
  add({{0, 50}}, {}, as_is);                                           // no queries
  add({{1, 800}, {1, 30}}, {}, [](HstuSpec& s) { s.kv_heads = 1, s.q_heads = 16; });       // MQA
  add({{8, 700}}, {}, [](HstuSpec& s) { s.kv_heads = s.q_heads = 40, s.page_size = 1; });  // heads cut
  add({{2, 700, 1}}, {}, [](HstuSpec& s) { s.hnd = true, s.dtype = DType::kF32; });        // HND
  return shapes;
}

TEST(HstuTraffic, IsPlannedCountedAndWorkedOutAlike) {
  for (const HstuSpec& spec : Shapes()) {
    const HstuProblem problem(spec);
    for (const Formula& formula : kFormulas) {
      const HstuVariant* variant = FindHstuVariant(formula.variant);
      ASSERT_NE(variant, nullptr);
      const Traffic want = formula.traffic(problem);
      for (const int threads : {1, 5}) {
        SCOPED_TRACE(fmt::format("{} on {} threads: {}", formula.variant, threads, spec.Describe()));
        const Measured got = Measure(*variant, problem, threads);
        EXPECT_EQ(got.kv_bytes_read, want.kv_bytes_read);
        EXPECT_EQ(got.kv_bytes_written, want.kv_bytes_written);
        EXPECT_EQ(got.launches, want.launches);
        EXPECT_EQ(got.pool_tasks, want.tasks);
        EXPECT_EQ(got.planned.kv_bytes_read, want.kv_bytes_read);
        EXPECT_EQ(got.planned.kv_bytes_written, want.kv_bytes_written);
        EXPECT_EQ(got.planned.launches, want.launches);
        EXPECT_EQ(got.planned.tasks, want.tasks);
      }
    }
  }
}

// Of 700 keys the pipeline asks for all but the first block while it multiplies, K and V of each kv head;
// serial for none.
TEST(HstuTraffic, ThePipelineAsksForTheNextBlockWhileItMultiplies) {
  for (const int64_t queries : {1, 40}) {
    for (const int64_t page_size : {16, 32, 100}) {
      HstuSpec spec;
      spec.sequences = {{queries, 700}};
      spec.params.mask = HstuMask::kNone;
      spec.page_size = page_size;
      const HstuProblem problem(spec);
      const int64_t asked = Measure(*FindHstuVariant("hstu_gather_pipelined"), problem, 2).rows_asked_for;
      const int64_t first_block = queries == 1 ? 192 : 96;
      const int64_t all = 2 * spec.kv_heads * (700 - first_block);
      EXPECT_LE(asked, all) << spec.Describe();
      EXPECT_GE(asked, all * 8 / 10) << spec.Describe();  // the ends of pages and of keys don't fill a block
      EXPECT_EQ(Measure(*FindHstuVariant("hstu_gather_serial"), problem, 2).rows_asked_for, 0);
    }
  }
}

TEST(HstuTraffic, EveryVariantHasAFormula) {
  std::set<std::string_view> names;
  for (const Formula& formula : kFormulas) names.insert(formula.variant);
  for (const HstuVariant* variant : HstuVariants()) {
    // hstu_auto has the traffic of what it takes.
    EXPECT_TRUE(variant == &kHstuAuto || names.contains(variant->name)) << variant->name;
  }
}

// The first reading and the first writing of a staging buffer of any size are the same bytes.
TEST(HstuTraffic, TheStagingBufferChangesNoTraffic) {
  HstuSpec spec;
  spec.sequences = {{2, 500, 1}, {20, 300}};
  const HstuProblem problem(spec);
  for (const HstuVariant* variant : HstuVariants()) {
    const Traffic want = PlanHstu(*variant, problem.batch(), 2).impl().traffic;
    for (const int64_t bytes : {1024, 5000, 1 << 22}) {
      const Traffic got = PlanHstu(*variant, problem.batch(), 2, {.staging_bytes = bytes}).impl().traffic;
      EXPECT_EQ(got.kv_bytes_read, want.kv_bytes_read) << variant->name << " " << bytes;
      EXPECT_EQ(got.kv_bytes_written, want.kv_bytes_written) << variant->name << " " << bytes;
    }
  }
}

}  // namespace
}  // namespace pagoda::testing

// Holds each variant to the cost shape of its header comment: bytes of K and V that the kernels really read
// and write, tasks and launches, against its plan and against the comment's formula worked out here.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/buffer.h"
#include "engine/attention/counting_kernels.h"
#include "engine/attention/problem.h"
#include "engine/attention/softmax/variants.h"
#include "engine/attention/variant.h"

namespace pagoda::testing {
namespace {

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
int64_t Quotient(int64_t n, int64_t by) { return (n + by - 1) / by; }

// --- the formulas, from the problem alone

struct Keys {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

// From the first to the last key that a row of [first, first + rows) of sequence b sees.
Keys Seen(const ProblemSpec& spec, int64_t b, int64_t first, int64_t rows) {
  const int64_t len = spec.contexts[b];
  Keys seen;
  for (int64_t a = first; a < first + rows; ++a) {
    const int64_t r = len - spec.queries[b] + a;
    for (int64_t j = 0; j < len; ++j) {
      if (spec.params.causal && j > r) continue;
      if (spec.params.window_left >= 0 && j < r - spec.params.window_left) continue;
      if (spec.params.window_right >= 0 && j > r + spec.params.window_right) continue;
      if (seen.count() == 0) {
        seen = {j, j + 1};
      } else {
        seen = {std::min(seen.begin, j), std::max(seen.end, j + 1)};
      }
    }
  }
  return seen;
}

int64_t KeyBytes(const ProblemSpec& spec) {
  return spec.kv_heads * (spec.head_dim + spec.head_dim_v) * SizeOf(spec.dtype);
}

// Calls f(sequence, seen keys, rows) for each block of up to `rows` / group queries.
template <typename F>
void ForEachBlock(const ProblemSpec& spec, int64_t rows, F&& f) {
  const int64_t queries = std::max<int64_t>(1, rows / (spec.q_heads / spec.kv_heads));
  for (size_t b = 0; b < spec.contexts.size(); ++b) {
    for (int64_t a = 0; a < spec.queries[b]; a += queries) {
      const int64_t count = std::min(queries, spec.queries[b] - a);
      f(static_cast<int64_t>(b), Seen(spec, static_cast<int64_t>(b), a, count));
    }
  }
}

// Reads K and V twice and writes them once; one task per 64 keys in whole pages, one per (block, kv head).
Traffic GatherFormula(const ProblemSpec& spec, int /*threads*/) {
  Traffic t;
  const int64_t step = std::max<int64_t>(1, 64 / spec.page_size) * spec.page_size;
  int64_t copies = 0;
  for (size_t b = 0; b < spec.contexts.size(); ++b) {
    if (spec.queries[b] == 0) continue;
    t.kv_bytes_written += spec.contexts[b] * KeyBytes(spec);
    copies += Quotient(spec.contexts[b], step);
  }
  t.kv_bytes_read = t.kv_bytes_written;
  int64_t blocks = 0;
  ForEachBlock(spec, 128, [&](int64_t, const Keys& seen) {
    t.kv_bytes_read += seen.count() * KeyBytes(spec);
    blocks += spec.kv_heads;
  });
  t.tasks = copies + blocks;
  t.launches = (copies > 0 ? 1 : 0) + (blocks > 0 ? 1 : 0);
  return t;
}

// Reads each seen key once per block; 24 tasks, one launch.
Traffic SpmdFormula(const ProblemSpec& spec, int /*threads*/) {
  Traffic t;
  ForEachBlock(spec, 128,
               [&](int64_t, const Keys& seen) { t.kv_bytes_read += seen.count() * KeyBytes(spec); });
  t.tasks = 24;
  t.launches = 1;
  return t;
}

// Reads each seen key once per block. A sequence of up to 256 rows is one block, cut into key ranges of a
// 16th, in steps of 128 from 128 to 512, times head parts until there are two items a thread; cut blocks are
// combined head by head. Longer ones are cut into blocks of 512, 256 or 128 rows, the largest that make four
// items a thread, and begin at a multiple of 32 keys.
Traffic HighperfFormula(const ProblemSpec& spec, int threads) {
  Traffic t;
  const auto step_of = [](int64_t keys) {
    return std::clamp<int64_t>(RoundUp(Quotient(keys, 16), 128), 128, 512);
  };
  const int64_t group = spec.q_heads / spec.kv_heads;
  const int64_t queries = std::max<int64_t>(1, 256 / group);
  int64_t estimate = 0;
  ForEachBlock(spec, 256, [&](int64_t b, const Keys& seen) {
    if (spec.queries[b] <= queries) estimate += 1 + seen.count() / step_of(seen.count());
  });
  int64_t parts = 1;
  while (estimate > 0 && parts < spec.kv_heads && estimate * parts < int64_t{2} * threads) parts *= 2;
  int64_t combines = 0;
  int64_t rows = 1024;
  for (int64_t items = 0; rows > 128 && items < int64_t{4} * threads;) {
    rows /= 2;
    items = 0;
    ForEachBlock(spec, rows, [&](int64_t b, const Keys&) {
      if (spec.queries[b] > queries) items += spec.kv_heads;
    });
  }
  ForEachBlock(spec, rows, [&](int64_t b, const Keys& seen) {
    if (spec.queries[b] <= queries) return;
    t.kv_bytes_read += (seen.end - seen.begin / 32 * 32) * KeyBytes(spec);
    t.tasks += spec.kv_heads;
  });
  ForEachBlock(spec, 256, [&](int64_t b, const Keys& seen) {
    if (spec.queries[b] > queries) return;
    t.kv_bytes_read += seen.count() * KeyBytes(spec);
    const int64_t step = step_of(seen.count());
    const int64_t ranges = seen.count() == 0 ? 1 : Quotient(seen.end, step) - seen.begin / step;
    const int64_t heads =
        std::min(Quotient(spec.kv_heads, parts), std::max<int64_t>(1, 256 / (spec.queries[b] * group)));
    t.tasks += ranges * Quotient(spec.kv_heads, heads);
    if (ranges > 1) combines += spec.kv_heads;
  });
  t.launches = (t.tasks > 0 ? 1 : 0) + (combines > 0 ? 1 : 0);
  t.tasks += combines;
  return t;
}

// Reads each seen key once per block of up to 128 rows and 4 MB of scores; four tasks per group of 64 pages
// and chain, one for a chain that sees nothing.
Traffic ChainFormula(const ProblemSpec& spec, int64_t chains_per_block) {
  Traffic t;
  const int64_t group = 64 * spec.page_size;
  for (size_t s = 0; s < spec.contexts.size(); ++s) {
    const auto b = static_cast<int64_t>(s);
    const int64_t keys = std::clamp<int64_t>(spec.contexts[b], 1, group);
    const int64_t most = std::max<int64_t>(1, 128 / (spec.q_heads / spec.kv_heads));
    const int64_t queries = std::clamp<int64_t>((4 << 20) / (4 * spec.q_heads * keys), 1, most);
    for (int64_t a = 0; a < spec.queries[b]; a += queries) {
      const Keys seen = Seen(spec, b, a, std::min(queries, spec.queries[b] - a));
      t.kv_bytes_read += seen.count() * KeyBytes(spec);
      const int64_t groups = seen.count() == 0 ? 0 : Quotient(seen.end, group) - seen.begin / group;
      t.tasks += chains_per_block * (groups == 0 ? 1 : 4 * groups);
    }
  }
  t.launches = 1;
  return t;
}

Traffic UnrollFormula(const ProblemSpec& spec, int /*threads*/) { return ChainFormula(spec, 1); }
Traffic Unroll4DimsFormula(const ProblemSpec& spec, int /*threads*/) {
  return ChainFormula(spec, spec.kv_heads);
}

struct Formula {
  const char* variant;
  Traffic (*traffic)(const ProblemSpec&, int threads);
  bool runs_a_flow;  // its tasks go through one pool task per thread
};

constexpr Formula kFormulas[] = {
    {"gather", GatherFormula, false},
    {"spmd_paged_attention", SpmdFormula, false},
    {"spmd_paged_attention_highperf", HighperfFormula, false},
    {"paged_attention_unroll", UnrollFormula, true},
    {"paged_attention_unroll_4dims", Unroll4DimsFormula, true},
};

// --- what really happens

struct Measured {
  Traffic planned;
  int64_t kv_bytes_read, kv_bytes_written, pool_tasks, launches;
};

Measured Measure(const SoftmaxVariant& variant, const Problem& problem, int threads) {
  const CountingKernels counting;
  const SoftmaxPlan plan = PlanSoftmax(variant, problem.batch(), threads);
  Buffer out(problem.out_floats() * sizeof(float));
  Buffer workspace(plan.workspace_bytes());
  ThreadPool pool(threads);
  RunSoftmax(plan, problem.Call(out.as<float>(), nullptr), workspace.span<std::byte>(), pool);
  return {plan.impl().traffic, counting.kv_bytes_read(), counting.kv_bytes_written(), pool.counters().tasks,
          pool.counters().launches};
}

std::vector<ProblemSpec> Shapes() {
  std::vector<ProblemSpec> shapes;
  const auto add = [&](std::vector<int64_t> contexts, std::vector<int64_t> queries, auto&& change) {
    ProblemSpec spec;
    spec.contexts = std::move(contexts);
    spec.queries = std::move(queries);
    spec.head_dim = 16;
    spec.head_dim_v = 24;
    spec.dtype = DType::kBF16;
    change(spec);
    shapes.push_back(spec);
  };
  const auto as_is = [](ProblemSpec&) {};
  add({1000, 1000}, {1, 1}, as_is);                                               // decode
  add({4500}, {1}, as_is);                                                        // long decode
  add({1}, {1}, as_is);                                                           // one key
  add({600}, {300}, [](ProblemSpec& s) { s.q_heads = 6; });                       // prefill
  add({300, 200}, {300, 200}, [](ProblemSpec& s) { s.params.causal = false; });   // all of it
  add({700, 1, 129, 64}, {1, 1, 5, 64}, as_is);                                   // ragged
  add({0, 40, 0, 5}, {0, 0, 3, 9}, as_is);                                        // empty ones
  add({}, {}, as_is);                                                             // no batch
  add({50}, {0}, as_is);                                                          // no queries
  add({0}, {3}, as_is);                                                           // no keys
  add({900, 300}, {1, 200}, [](ProblemSpec& s) { s.params.window_left = 100; });  // window
  add({900}, {4}, [](ProblemSpec& s) {                                            // both sides
    s.params.causal = false;
    s.params.window_left = 70;
    s.params.window_right = 3;
  });
  add({600}, {300}, [](ProblemSpec& s) {  // a window that moves with the blocks
    s.params.causal = false;
    s.params.window_left = 40;
    s.params.window_right = 3;
  });
  add({800, 30}, {1, 1}, [](ProblemSpec& s) { s.kv_heads = 1, s.q_heads = 16; });          // MQA
  add({300}, {9}, [](ProblemSpec& s) { s.page_size = 1; });                                // pages of 1
  add({700}, {1}, [](ProblemSpec& s) { s.page_size = 500, s.kv_heads = s.q_heads = 8; });  // MHA, big pages
  add({200}, {2}, [](ProblemSpec& s) { s.hnd = true, s.dtype = DType::kF32; });            // HND
  return shapes;
}

TEST(VariantTraffic, IsPlannedCountedAndWorkedOutAlike) {
  for (const ProblemSpec& spec : Shapes()) {
    const Problem problem(spec);
    for (const Formula& formula : kFormulas) {
      for (const int threads : {1, 2, 5}) {
        SCOPED_TRACE(fmt::format("{} on {} threads: {}", formula.variant, threads, spec.Describe()));
        const SoftmaxVariant* variant = FindSoftmaxVariant(formula.variant);
        ASSERT_NE(variant, nullptr);
        const Measured got = Measure(*variant, problem, threads);
        const Traffic want = formula.traffic(spec, threads);
        EXPECT_EQ(got.kv_bytes_read, want.kv_bytes_read);
        EXPECT_EQ(got.kv_bytes_written, want.kv_bytes_written);
        EXPECT_EQ(got.launches, want.launches);
        EXPECT_EQ(got.pool_tasks, formula.runs_a_flow ? threads : want.tasks);
        EXPECT_EQ(got.planned.kv_bytes_read, want.kv_bytes_read);
        EXPECT_EQ(got.planned.kv_bytes_written, want.kv_bytes_written);
        EXPECT_EQ(got.planned.launches, want.launches);
        EXPECT_EQ(got.planned.tasks, want.tasks);
      }
    }
  }
}

TEST(VariantTraffic, EveryVariantHasAFormula) {
  std::set<std::string_view> names;
  for (const Formula& formula : kFormulas) names.insert(formula.variant);
  for (const SoftmaxVariant* variant : SoftmaxVariants()) {
    // auto has the traffic of what it takes.
    EXPECT_TRUE(variant == &kAuto || names.contains(variant->name)) << variant->name;
  }
}

// One loop under two names would cost the same.
TEST(VariantTraffic, NoTwoVariantsHaveTheSameCostShape) {
  ProblemSpec decode;
  decode.contexts = {2000, 2000};
  decode.queries = {1, 1};
  decode.head_dim = decode.head_dim_v = 16;
  ProblemSpec prefill = decode;
  prefill.contexts = {700};
  prefill.queries = {512};
  for (const ProblemSpec& spec : {decode, prefill}) {
    const Problem problem(spec);
    std::set<std::tuple<int64_t, int64_t, int64_t, int64_t>> costs;
    for (const SoftmaxVariant* variant : SoftmaxVariants()) {
      if (variant == &kAuto) continue;
      const Measured got = Measure(*variant, problem, 2);
      const auto cost =
          std::make_tuple(got.kv_bytes_read, got.kv_bytes_written, got.planned.tasks, got.launches);
      EXPECT_TRUE(costs.insert(cost).second)
          << variant->name << " costs what another one does: " << ::testing::PrintToString(cost);
    }
  }
}

}  // namespace
}  // namespace pagoda::testing

// paged_attention_unroll and paged_attention_unroll_4dims: attention as a task graph over groups of N_UNROLL
// pages.
//
// A chain is (sequence, query block), for the 4-D form (sequence, query block, kv head). For each group of 64
// pages it runs four tasks: QK writes the group's scores, softmax turns them into weights in two passes
// (maximum, then exp and sum), PV multiplies them with V, update merges the group into the chain's running
// state; the last update writes the output. Groups of a chain are double-buffered: QK of one runs beside PV
// of the one before. The 4-D form has one buffer, so that its groups follow one another, and more chains
// instead. Reads Hk * (D + Dv) * sizeof(kv) per visible key and query block; writes no K or V, but scores of
// 4 bytes per (row, key), which go through the cache three times. FLOPs 2*Hq*(D + Dv) per (row, visible key).
// Tasks: four per group and one per chain without keys, in one launch. Wins: batches of sequences of one kv
// head, at least as many as cores, where a chain keeps a core busy and nothing is combined across cores;
// unroll also comes second on long contexts, 4dims before unroll with one sequence of one group and many kv
// heads, where unroll has one chain. Loses: unroll, one sequence of one group, which is a chain of four tasks
// on one core; 4dims, long contexts of many kv heads, whose rows it visits head by head
// (docs/performance.md).
#include <algorithm>

#include "engine/attention/softmax/plan.h"
#include "engine/attention/softmax/rows.h"
#include "engine/attention/softmax/task_flow.h"
#include "engine/attention/softmax/variants.h"

namespace pagoda {
namespace {

constexpr int64_t kUnroll = 64;  // pages of a group: N_UNROLL
constexpr int64_t kTileKeys = 64;
constexpr int64_t kMaxRows = 128;
constexpr int64_t kScoreBytes =
    4 << 20;  // scores of one group over all query heads, by which query blocks are cut

enum class Step : uint8_t { kScores, kWeights, kValues, kUpdate, kNothingVisible };

struct FlowTask {
  Step step;
  int32_t chain;
  int32_t group;
};

struct Chain {
  RowBlock block;
  KeyRange keys;
  int32_t slot;  // whose buffers it uses
  int32_t groups;
};

struct UnrollPlan : SoftmaxPlanImpl {
  TaskFlow flow;
  std::vector<FlowTask> tasks;
  std::vector<Chain> chains;
  RowLayout layout;
  int64_t group_keys = 0;
  int buffers = 1;
  // Bytes: of one buffer (a block's scratch, then its scores), of one slot (running state, then its buffers),
  // and where the slots begin.
  size_t buffer_bytes = 0, slot_bytes = 0, running_bytes = 0, slots_at = 0;
};

// Queries of a block of sequence b, by the sequence's own length alone.
int64_t QueriesOf(const NormalBatch& batch, int64_t b, int64_t group_keys) {
  const int64_t keys = std::clamp<int64_t>(batch.kv_len[b], 1, group_keys);
  const int64_t by_scores = kScoreBytes / (batch.q_heads * keys * static_cast<int64_t>(sizeof(float)));
  return std::clamp<int64_t>(by_scores, 1, QueriesPerBlock(batch.group, kMaxRows));
}

KeyRange GroupOf(const UnrollPlan& plan, const Chain& chain, int64_t group) {
  const int64_t first = chain.keys.begin / plan.group_keys + group;
  return {std::max(chain.keys.begin, first * plan.group_keys),
          std::min(chain.keys.end, (first + 1) * plan.group_keys)};
}

void AddChain(UnrollPlan* plan, const NormalBatch& batch, const RowBlock& block, int64_t slots,
              std::vector<int32_t>* last_of_slot) {
  Chain chain;
  chain.block = block;
  chain.keys = VisibleKeys(batch, block.sequence, block.first_query, block.queries);
  chain.slot = static_cast<int32_t>(static_cast<int64_t>(plan->chains.size()) % slots);
  const auto id = static_cast<int32_t>(plan->chains.size());
  const auto add = [plan, id](Step step, int32_t group, std::initializer_list<int32_t> after) {
    plan->tasks.push_back({step, id, group});
    return plan->flow.Add(after);
  };
  const int32_t slot_free = (*last_of_slot)[chain.slot];
  int32_t& last = (*last_of_slot)[chain.slot];
  if (chain.keys.empty()) {
    chain.groups = 0;
    last = add(Step::kNothingVisible, 0, {slot_free});
    plan->chains.push_back(chain);
    return;
  }
  chain.groups =
      static_cast<int32_t>((chain.keys.end - 1) / plan->group_keys - chain.keys.begin / plan->group_keys + 1);
  std::vector<int32_t> updates;
  for (int32_t g = 0; g < chain.groups; ++g) {
    const int32_t buffer_free = g >= plan->buffers ? updates[g - plan->buffers] : slot_free;
    const int32_t scores = add(Step::kScores, g, {buffer_free});
    const int32_t weights = add(Step::kWeights, g, {scores});
    const int32_t values = add(Step::kValues, g, {weights});
    updates.push_back(add(Step::kUpdate, g, {values, g > 0 ? updates[g - 1] : -1}));
  }
  last = updates.back();
  plan->traffic.kv_bytes_read += BytesOf(batch, block, chain.keys.end - chain.keys.begin);
  plan->chains.push_back(chain);
}

std::unique_ptr<SoftmaxPlanImpl> PlanChains(const NormalBatch& batch, int threads, int64_t heads,
                                            int buffers) {
  auto plan = std::make_unique<UnrollPlan>();
  plan->group_keys = kUnroll * batch.kv.page_size;
  plan->buffers = buffers;
  int64_t most_queries = 0;
  int64_t most_scores = 0;
  for (int64_t b = 0; b < batch.batch; ++b) {
    most_queries = std::max(most_queries, std::min(batch.q_len(b), QueriesOf(batch, b, plan->group_keys)));
  }
  plan->layout = RowLayout(batch, ActiveAttentionKernels(), most_queries, heads, kTileKeys);
  // Twice as many chains in flight as threads: enough for every thread to find a ready task.
  const int64_t slots = int64_t{2} * threads;
  std::vector<int32_t> last_of_slot(slots, -1);
  for (int64_t b = 0; b < batch.batch; ++b) {
    const int64_t queries = QueriesOf(batch, b, plan->group_keys);
    const int64_t keys = std::min(batch.kv_len[b], plan->group_keys);
    for (int64_t a = 0; a < batch.q_len(b); a += queries) {
      const int64_t count = std::min(queries, batch.q_len(b) - a);
      most_scores = std::max(most_scores, plan->layout.ScoreFloats(count * batch.group, heads, keys));
      for (int64_t h = 0; h < batch.kv_heads; h += heads) {
        AddChain(plan.get(), batch, {b, a, count, h, std::min(heads, batch.kv_heads - h)}, slots,
                 &last_of_slot);
      }
    }
  }
  plan->flow.Seal();
  plan->buffer_bytes = plan->layout.bytes() + RoundUp(static_cast<size_t>(most_scores) * sizeof(float), 64);
  plan->running_bytes = RoundUp(
      static_cast<size_t>(heads * most_queries * batch.group * plan->layout.partial_ld()) * sizeof(float),
      64);
  plan->slot_bytes = plan->running_bytes + static_cast<size_t>(buffers) * plan->buffer_bytes;
  plan->slots_at = RoundUp(plan->flow.state_bytes(), 64);
  plan->workspace_bytes = plan->slots_at + static_cast<size_t>(slots) * plan->slot_bytes;
  plan->traffic.tasks = plan->flow.tasks();
  plan->traffic.launches = 1;

  std::vector<double> flops;
  int64_t score_bytes = 0;
  int64_t pieces = 0;
  int32_t most_groups = 0;
  for (const Chain& chain : plan->chains) {
    const int64_t keys = chain.keys.end - chain.keys.begin;
    flops.push_back(FlopsOf(batch, chain.block, keys));
    score_bytes += chain.block.queries * batch.group * chain.block.heads * keys * SizeOf(DType::kF32);
    pieces += 2 * (keys / std::min(batch.kv.page_size, kTileKeys) + 1);
    most_groups = std::max(most_groups, chain.groups);
  }
  plan->work = WorkOfBlocks(batch, flops, heads, threads);
  // With two buffers two groups of a chain are under way at a time.
  const int ways = std::min({threads, buffers, static_cast<int>(most_groups)});
  plan->work.busiest_share = std::max(1.0 / threads, plan->work.busiest_share / std::max(1, ways));
  // Scores are written and read by three tasks.
  plan->work.moved_bytes = plan->traffic.kv_bytes_read - plan->work.memory_bytes + 5 * score_bytes;
  plan->work.moved_within = static_cast<int64_t>(plan->slot_bytes);
  plan->work.pieces = pieces;
  plan->work.rows = most_queries * batch.group;
  return plan;
}

void RunTask(const UnrollPlan& plan, const RowContext& context, const FlowTask& task, std::byte* workspace) {
  const Chain& chain = plan.chains[task.chain];
  std::byte* slot = workspace + plan.slots_at + static_cast<size_t>(chain.slot) * plan.slot_bytes;
  auto* running = reinterpret_cast<float*>(slot);
  std::byte* buffer =
      slot + plan.running_bytes + static_cast<size_t>(task.group % plan.buffers) * plan.buffer_bytes;
  if (task.step == Step::kNothingVisible) {
    RowWork::Start(context, plan.layout, chain.block, buffer).StoreOutput();
    return;
  }
  const KeyRange keys = GroupOf(plan, chain, task.group);
  RowWork work = task.step == Step::kScores ? RowWork::Start(context, plan.layout, chain.block, buffer)
                                            : RowWork::Resume(context, plan.layout, chain.block, buffer);
  const ScoreMatrix scores = plan.layout.Scores(reinterpret_cast<float*>(buffer + plan.layout.bytes()),
                                                work.rows(), keys.end - keys.begin);
  switch (task.step) {
    case Step::kScores:
      work.Scores(keys, scores);
      return;
    case Step::kWeights:
      work.Weights(keys, scores);
      return;
    case Step::kValues:
      work.Values(keys, scores);
      return;
    case Step::kUpdate:
      if (task.group > 0) work.MergePartials(running, 1, 0);
      if (task.group + 1 < chain.groups) {
        work.StorePartial(running);
      } else {
        work.StoreOutput();
      }
      return;
    case Step::kNothingVisible:
      return;
  }
}

void Run(const SoftmaxPlanImpl& base, const SoftmaxCall& call, std::span<std::byte> workspace,
         ThreadPool& pool) {
  const auto& plan = static_cast<const UnrollPlan&>(base);
  const RowContext context = MakeRowContext(ActiveAttentionKernels(), plan.batch, call);
  plan.flow.Run(pool, workspace.data(),
                [&](int32_t task, int) { RunTask(plan, context, plan.tasks[task], workspace.data()); });
}

std::unique_ptr<SoftmaxPlanImpl> Plan(const NormalBatch& batch, int threads) {
  return PlanChains(batch, threads, batch.kv_heads, 2);
}

std::unique_ptr<SoftmaxPlanImpl> Plan4Dims(const NormalBatch& batch, int threads) {
  return PlanChains(batch, threads, 1, 1);
}

}  // namespace

const SoftmaxVariant kPagedAttentionUnroll = {
    .name = "paged_attention_unroll",
    .summary =
        "task graph: per sequence and group of 64 pages QK, softmax, PV, update; groups double-buffered",
    .promises = kRepeatable | kThreadInvariant | kBatchInvariant,
    .supports = Support::Everything,
    .plan = Plan,
    .run = Run,
};

const SoftmaxVariant kPagedAttentionUnroll4Dims = {
    .name = "paged_attention_unroll_4dims",
    .summary = "the same graph with a chain per kv head and one buffer",
    .promises = kRepeatable | kThreadInvariant | kBatchInvariant,
    .supports = Support::Everything,
    .plan = Plan4Dims,
    .run = Run,
};

}  // namespace pagoda

// spmd_paged_attention: one launch of a fixed number of logical blocks, each taking work items by a static
// stride.
//
// An item is (sequence, query block, kv head); a block walks its items' pages one by one with online softmax,
// a page of more than kMaxTileKeys slots in pieces. Reads Hk * (D + Dv) * sizeof(kv) per visible key and
// query block, in runs of one head's row; writes no K or V. FLOPs 2*Hq*(D + Dv) per (row, visible key).
// Tasks: kBlocks, one launch. Wins: batches of sequences of like length with one kv head, where planning any
// further buys nothing. Loses: batch * Hk below the number of cores or not a multiple of it; pages of a few
// slots, where each one pays for a softmax step; sequences of many kv heads, whose rows it visits head by
// head (docs/performance.md).
#include <algorithm>

#include "engine/attention/softmax/plan.h"
#include "engine/attention/softmax/rows.h"
#include "engine/attention/softmax/variants.h"

namespace pagoda {
namespace {

constexpr int64_t kBlocks = 24;  // logical blocks, whatever the machine
constexpr int64_t kBlockRows = 128;
constexpr int64_t kMaxTileKeys = 256;

struct SpmdPlan : SoftmaxPlanImpl {
  std::vector<RowBlock> items;
  RowLayout layout;
  size_t sum_bytes = 0;
  int64_t tile_keys = 1;
};

std::unique_ptr<SoftmaxPlanImpl> Plan(const NormalBatch& batch, int threads) {
  auto plan = std::make_unique<SpmdPlan>();
  const int64_t queries = QueriesPerBlock(batch.group, kBlockRows);
  plan->items = CutRows(batch, queries, 1);
  plan->tile_keys = std::min(batch.kv.page_size, kMaxTileKeys);
  plan->layout = RowLayout(batch, ActiveAttentionKernels(), queries, 1, plan->tile_keys);
  plan->sum_bytes = RangeSum<RowWork>::Bytes(queries * batch.group, plan->layout.partial_ld());
  plan->workspace_bytes = static_cast<size_t>(threads) * (plan->sum_bytes + plan->layout.bytes());
  for (const RowBlock& item : plan->items) plan->traffic.kv_bytes_read += VisibleBytes(batch, item);
  plan->traffic.tasks = kBlocks;
  plan->traffic.launches = 1;

  std::vector<double> flops(kBlocks);
  int64_t pieces = 0;
  int64_t most_queries = 0;
  for (size_t i = 0; i < plan->items.size(); ++i) {
    const RowBlock& item = plan->items[i];
    const KeyRange keys = VisibleKeys(batch, item.sequence, item.first_query, item.queries);
    flops[i % kBlocks] += AttendedFlops(batch, item, keys);
    pieces += 2 * ((keys.end - keys.begin) / plan->tile_keys + 1);
    most_queries = std::max(most_queries, item.queries);
  }
  plan->work = WorkOfBlocks(batch, flops, 1, threads);
  plan->work.moved_bytes = plan->traffic.kv_bytes_read - plan->work.memory_bytes;
  plan->work.moved_within = plan->work.memory_bytes;
  plan->work.pieces = pieces;
  plan->work.rows = most_queries * batch.group;
  return plan;
}

void Run(const SoftmaxPlanImpl& base, const SoftmaxCall& call, std::span<std::byte> workspace,
         ThreadPool& pool) {
  const auto& plan = static_cast<const SpmdPlan&>(base);
  const NormalBatch& batch = plan.batch;
  const RowContext context = MakeRowContext(ActiveAttentionKernels(), batch, call);
  pool.Run(kBlocks, [&](int64_t block_index, int worker) {
    std::byte* sum = workspace.data() + worker * (plan.sum_bytes + plan.layout.bytes());
    for (size_t i = static_cast<size_t>(block_index); i < plan.items.size(); i += kBlocks) {
      const RowBlock& item = plan.items[i];
      RowWork work = RowWork::Start(context, plan.layout, item, sum + plan.sum_bytes);
      AttendKeys(work, sum, VisibleKeys(batch, item.sequence, item.first_query, item.queries), plan.tile_keys,
                 false);
      work.StoreOutput();
    }
  });
}

}  // namespace

const SoftmaxVariant kSpmdPagedAttention = {
    .name = "spmd_paged_attention",
    .summary =
        "one launch of a fixed number of blocks; (sequence, query block, kv head) by static stride, page by "
        "page",
    .promises = kRepeatable | kThreadInvariant | kBatchInvariant,
    .supports = Support::Everything,
    .plan = Plan,
    .run = Run,
};

}  // namespace pagoda

// gather: copy the pages of every sequence to a contiguous workspace, then dense attention over it.
//
// The workspace is [kv head][key of the batch][dim], so that the second launch reads long streams whatever
// the page layout. Reads K and V twice and writes them once, 3 * Hk * (D + Dv) * sizeof(kv) per key in all;
// with several query blocks per sequence each block reads its visible keys again. FLOPs 2*Hq*(D + Dv) per
// (row, visible key). Tasks: one per kCopyKeys keys (whole pages) and one per (query block, kv head), in two
// launches.
//
// Wins: long prefill chunks, where a key is copied once and then read by many query blocks: there it is ahead
// of all but highperf, and within 3% of that. Loses: decode, where each key is read once, so that the copy
// triples the traffic (docs/performance.md).
#include <algorithm>

#include "engine/attention/softmax/plan.h"
#include "engine/attention/softmax/rows.h"
#include "engine/attention/softmax/variants.h"

namespace pagoda {
namespace {

constexpr int64_t kCopyKeys = 64;    // keys of one copy task, at least one page
constexpr int64_t kBlockRows = 128;  // rows of a query block
constexpr int64_t kTileKeys = 64;

struct CopyTask {
  int64_t sequence;
  KeyRange keys;
};

struct GatherPlan : SoftmaxPlanImpl {
  std::vector<CopyTask> copies;
  std::vector<RowBlock> blocks;
  RowLayout layout;
  NormalBatch dense;  // the batch over the workspace: sequence b is "page" b
  size_t k_bytes = 0;
  size_t v_bytes = 0;
  size_t sum_bytes = 0;
};

std::unique_ptr<SoftmaxPlanImpl> Plan(const NormalBatch& batch, int threads) {
  auto plan = std::make_unique<GatherPlan>();
  const int64_t queries = QueriesPerBlock(batch.group, kBlockRows);
  plan->blocks = CutRows(batch, queries, 1);
  plan->layout = RowLayout(batch, ActiveAttentionKernels(), queries, 1, kTileKeys);

  const int64_t step = std::max<int64_t>(1, kCopyKeys / batch.kv.page_size) * batch.kv.page_size;
  NormalBatch& dense = plan->dense;
  dense = batch;
  dense.page_ids.clear();
  int64_t total = 0;
  int64_t longest = 1;
  for (int64_t b = 0; b < batch.batch; ++b) {
    dense.page_begin[b] = b;
    dense.page_ids.push_back(total);
    if (batch.q_len(b) == 0) continue;  // nobody looks at its keys
    for (int64_t at = 0; at < batch.kv_len[b]; at += step) {
      plan->copies.push_back({b, {at, std::min(at + step, batch.kv_len[b])}});
    }
    total += batch.kv_len[b];
    longest = std::max(longest, batch.kv_len[b]);
  }
  dense.page_begin[batch.batch] = batch.batch;
  PagedKvView& kv = dense.kv;
  kv.page_size = longest;
  kv.k_page_stride = kv.k_slot_stride = batch.head_dim;
  kv.v_page_stride = kv.v_slot_stride = batch.head_dim_v;
  kv.k_head_stride = total * batch.head_dim;
  kv.v_head_stride = total * batch.head_dim_v;

  const int64_t size = SizeOf(batch.kv.dtype);
  plan->k_bytes = static_cast<size_t>(RoundUp(batch.kv_heads * kv.k_head_stride * size, 64));
  plan->v_bytes = static_cast<size_t>(RoundUp(batch.kv_heads * kv.v_head_stride * size, 64));
  plan->sum_bytes = RangeSum<RowWork>::Bytes(queries * batch.group, plan->layout.partial_ld());
  plan->workspace_bytes =
      plan->k_bytes + plan->v_bytes + static_cast<size_t>(threads) * (plan->sum_bytes + plan->layout.bytes());

  Traffic& traffic = plan->traffic;
  traffic.kv_bytes_written = total * batch.kv_heads * (batch.head_dim + batch.head_dim_v) * size;
  traffic.kv_bytes_read = traffic.kv_bytes_written;
  for (const RowBlock& block : plan->blocks) traffic.kv_bytes_read += VisibleBytes(batch, block);
  traffic.tasks = static_cast<int64_t>(plan->copies.size() + plan->blocks.size());
  traffic.launches = (plan->copies.empty() ? 0 : 1) + (plan->blocks.empty() ? 0 : 1);

  std::vector<double> flops;
  int64_t most_queries = 0;
  int64_t tiles = 0;
  for (const RowBlock& block : plan->blocks) {
    const KeyRange keys = VisibleKeys(batch, block.sequence, block.first_query, block.queries);
    flops.push_back(AttendedFlops(batch, block, keys));
    tiles += (keys.end - keys.begin) / kTileKeys + 1;
    most_queries = std::max(most_queries, block.queries);
  }
  plan->work = WorkOfBlocks(batch, flops, batch.kv_heads, threads);
  plan->work.moved_bytes = traffic.kv_bytes_read + traffic.kv_bytes_written - plan->work.memory_bytes;
  plan->work.moved_within = static_cast<int64_t>(plan->k_bytes + plan->v_bytes);
  plan->work.pieces = 2 * (std::ssize(batch.page_ids) + tiles);
  plan->work.rows = most_queries * batch.group;
  return plan;
}

void Run(const SoftmaxPlanImpl& base, const SoftmaxCall& call, std::span<std::byte> workspace,
         ThreadPool& pool) {
  const auto& plan = static_cast<const GatherPlan&>(base);
  const NormalBatch& batch = plan.batch;
  const AttentionKernels& kernels = ActiveAttentionKernels();
  const RowContext paged = MakeRowContext(kernels, batch, call);
  RowContext dense = MakeRowContext(kernels, plan.dense, call);
  dense.kv.k = workspace.data();
  dense.kv.v = workspace.data() + plan.k_bytes;
  std::byte* scratch = workspace.data() + plan.k_bytes + plan.v_bytes;

  pool.Run(static_cast<int64_t>(plan.copies.size()), [&](int64_t task, int) {
    const CopyTask& copy = plan.copies[task];
    CopyKeys(paged, dense, copy.sequence, copy.keys);
  });
  pool.Run(static_cast<int64_t>(plan.blocks.size()), [&](int64_t task, int worker) {
    const RowBlock& block = plan.blocks[task];
    std::byte* sum = scratch + worker * (plan.sum_bytes + plan.layout.bytes());
    RowWork work = RowWork::Start(dense, plan.layout, block, sum + plan.sum_bytes);
    AttendKeys(work, sum, VisibleKeys(batch, block.sequence, block.first_query, block.queries), kTileKeys,
               true);
    work.StoreOutput();
  });
}

}  // namespace

const SoftmaxVariant kGather = {
    .name = "gather",
    .summary = "copies each sequence's pages to a contiguous workspace, then dense attention",
    .promises = kRepeatable | kThreadInvariant | kBatchInvariant,
    .supports = Support::Everything,
    .plan = Plan,
    .run = Run,
};

}  // namespace pagoda

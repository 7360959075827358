// spmd_paged_attention_highperf: planned work items, K and V read once in the order in which they lie in
// memory.
//
// The planner cuts a sequence of few rows (decode, short chunks) into ranges of keys, by its length alone,
// and into ranges of kv heads only when there would be fewer items than cores; prefill is cut into query
// blocks by kv head, as large as leaves every core enough of them. An item walks a few slots at a time over
// all its kv heads, so that the memory sees a few long streams, with all query heads of a group packed as
// rows; while one tile is multiplied the next is asked for through the page table. Partial results stay f32
// and unnormalised; a second launch combines them. Reads Hk * (D + Dv) * sizeof(kv) per visible key and query
// block, and of prefill up to 31 keys before them; writes no K or V, but 4 * (Dv + 2) bytes per row and key
// range. FLOPs 2*Hq*(D + Dv) per (row, visible key). Tasks: one per item and one per (cut block, kv head), in
// two launches; one launch where nothing is cut. Wins: contexts from 4,096 on, few sequences, ragged batches,
// prefill. Loses: batches of short sequences of one kv head, where a plain walk needs neither the second
// launch nor the partial results (docs/performance.md).
#include <algorithm>
#include <tuple>

#include "engine/attention/softmax/plan.h"
#include "engine/attention/softmax/rows.h"
#include "engine/attention/softmax/variants.h"

namespace pagoda {
namespace {

constexpr int64_t kCutRows = 256;         // a sequence of up to this many rows per kv head is cut by keys
constexpr int64_t kMostRows = 512;        // rows of a query block in prefill; their q and output stay near L2
constexpr int64_t kFewestRows = 128;      // ... where there would be too few blocks
constexpr int64_t kItemsPerThread = 4;    // wanted in prefill
constexpr int64_t kManyRowsTile = 96;     // keys of a loaded tile: a multiple of the GEMM's 6 and 12 rows
constexpr int64_t kTileBytes = 64 << 10;  // K of one tile of the few-row walk
constexpr int64_t kTargetSplits =
    16;  // key ranges of a long sequence; more only pay for their partial results

struct Item {
  RowBlock block;
  KeyRange keys;
  int64_t partial;  // floats from the start of the partials, or -1: writes the output
};

struct Combine {
  RowBlock block;  // one kv head
  int64_t partial;
  int64_t splits;
  int64_t stride;
};

struct HighperfPlan : SoftmaxPlanImpl {
  std::vector<Item> items;
  std::vector<Combine> combines;
  RowLayout layout;
  int64_t tile_keys = 0;
  size_t partial_bytes = 0;
  size_t sum_bytes = 0;
  size_t worker_bytes = 0;  // of one worker's sum and scratch
};

// Keys of one range of a sequence that sees `keys` keys: by its own length alone, so that neither the batch
// nor the number of threads changes a bit of the result.
int64_t SplitKeys(int64_t keys) {
  const int64_t even = (keys + kTargetSplits - 1) / kTargetSplits;
  return std::clamp<int64_t>((even + 127) / 128 * 128, 128, 512);
}

int64_t FewRowsTile(const NormalBatch& batch) {
  const int64_t key_bytes = batch.kv_heads * batch.head_dim * SizeOf(batch.kv.dtype);
  return std::clamp<int64_t>(kTileBytes / key_bytes / 16 * 16, 16, 128);
}

// Cuts one block of rows over all kv heads into key ranges and, for the sake of `wanted` items in all, head
// ranges.
void CutKeys(const NormalBatch& batch, const RowBlock& block, KeyRange keys, int64_t head_parts,
             HighperfPlan* plan, int64_t* partials) {
  const int64_t step = SplitKeys(keys.end - keys.begin);
  const int64_t first = keys.begin / step;
  const int64_t splits = keys.empty() ? 1 : (keys.end - 1) / step + 1 - first;
  const int64_t rows = block.queries * batch.group;
  const int64_t row_floats = rows * plan->layout.partial_ld();
  const int64_t stride = batch.kv_heads * row_floats;
  // All heads of a part of the cache at once, as long as their accumulators stay within L2.
  const int64_t heads =
      std::min((batch.kv_heads + head_parts - 1) / head_parts, std::max<int64_t>(1, kCutRows / rows));
  for (int64_t s = 0; s < splits; ++s) {
    const KeyRange range{std::max(keys.begin, (first + s) * step),
                         std::min(keys.end, (first + s + 1) * step)};
    for (int64_t h = 0; h < batch.kv_heads; h += heads) {
      RowBlock part = block;
      part.first_head = h;
      part.heads = std::min(heads, batch.kv_heads - h);
      plan->items.push_back({part, range, splits == 1 ? -1 : *partials + s * stride + h * row_floats});
    }
  }
  if (splits == 1) return;
  for (int64_t h = 0; h < batch.kv_heads; ++h) {
    RowBlock part = block;
    part.first_head = h;
    part.heads = 1;
    plan->combines.push_back({part, *partials + h * row_floats, splits, stride});
  }
  *partials += splits * stride;
}

// Queries of one prefill block. It decides how often K and V are loaded, and no bit of the result.
int64_t PrefillQueries(const NormalBatch& batch, int64_t cut_queries, int threads) {
  const auto items = [&](int64_t queries) {
    int64_t count = 0;
    for (int64_t b = 0; b < batch.batch; ++b) {
      if (batch.q_len(b) > cut_queries) count += (batch.q_len(b) - 1) / queries + 1;
    }
    return count * batch.kv_heads;
  };
  int64_t rows = kMostRows;
  while (rows > kFewestRows && items(QueriesPerBlock(batch.group, rows)) < kItemsPerThread * threads)
    rows /= 2;
  return QueriesPerBlock(batch.group, rows);
}

std::unique_ptr<SoftmaxPlanImpl> Plan(const NormalBatch& batch, int threads) {
  auto plan = std::make_unique<HighperfPlan>();
  const int64_t cut_queries = QueriesPerBlock(batch.group, kCutRows);
  const int64_t queries = PrefillQueries(batch, cut_queries, threads);
  int64_t most_queries = 0;  // of any block
  int64_t key_ranges = 0;
  for (int64_t b = 0; b < batch.batch; ++b) {
    const bool cut = batch.q_len(b) <= cut_queries;
    most_queries = std::max(most_queries, cut ? batch.q_len(b) : std::min(queries, batch.q_len(b)));
    if (!cut || batch.q_len(b) == 0) continue;
    const KeyRange keys = VisibleKeys(batch, b, 0, batch.q_len(b));
    key_ranges += 1 + (keys.end - keys.begin) / SplitKeys(keys.end - keys.begin);
  }
  int64_t head_parts = 1;
  while (key_ranges > 0 && head_parts < batch.kv_heads && key_ranges * head_parts < int64_t{2} * threads)
    head_parts *= 2;

  plan->tile_keys = most_queries * batch.group <= kFewRows ? FewRowsTile(batch)
                                                           : std::max(FewRowsTile(batch), kManyRowsTile);
  plan->layout = RowLayout(batch, ActiveAttentionKernels(), most_queries, batch.kv_heads, plan->tile_keys);
  int64_t partials = 0;
  for (int64_t b = 0; b < batch.batch; ++b) {
    const int64_t count = batch.q_len(b);
    if (count > 0 && count <= cut_queries) {
      CutKeys(batch, {b, 0, count, 0, batch.kv_heads}, VisibleKeys(batch, b, 0, count), head_parts,
              plan.get(), &partials);
      continue;
    }
    for (int64_t a = 0; a < count; a += queries) {
      for (int64_t h = 0; h < batch.kv_heads; ++h) {
        // Widened to the last block, however few rows that has, so that its bits don't depend on `queries`.
        // So does the first tile: it begins where one of another block may.
        RowBlock block{b, a, std::min(queries, count - a), h, 1, true};
        KeyRange keys = VisibleKeys(batch, b, a, block.queries);
        keys.begin -= keys.begin % kKeyChunk;
        plan->items.push_back({block, keys, -1});
      }
    }
  }
  // The longest items first, so that the last one to start is a short one.
  const auto work_of = [](const Item& item) {
    return (item.keys.end - item.keys.begin) * item.block.queries;
  };
  std::sort(plan->items.begin(), plan->items.end(), [&](const Item& a, const Item& b) {
    if (work_of(a) != work_of(b)) return work_of(a) > work_of(b);
    return std::tie(a.block.sequence, a.block.first_query, a.keys.begin, a.block.first_head) <
           std::tie(b.block.sequence, b.block.first_query, b.keys.begin, b.block.first_head);
  });
  plan->partial_bytes = static_cast<size_t>(RoundUp(partials * static_cast<int64_t>(sizeof(float)), 64));
  int64_t most_rows = 0;  // of any item, all its heads
  for (const Item& item : plan->items) {
    most_rows = std::max(most_rows, item.block.heads * item.block.queries * batch.group);
    plan->traffic.kv_bytes_read += BytesOf(batch, item.block, item.keys.end - item.keys.begin);
  }
  plan->sum_bytes = RangeSum<RowWork>::Bytes(most_rows, plan->layout.partial_ld());
  plan->worker_bytes = plan->sum_bytes + plan->layout.bytes();
  plan->workspace_bytes = plan->partial_bytes + static_cast<size_t>(threads) * plan->worker_bytes;
  plan->traffic.tasks = static_cast<int64_t>(plan->items.size() + plan->combines.size());
  plan->traffic.launches = (plan->items.empty() ? 0 : 1) + (plan->combines.empty() ? 0 : 1);

  std::vector<double> flops;
  int64_t most_heads = 1;
  int64_t pieces = 0;
  for (const Item& item : plan->items) {
    const int64_t keys = item.keys.end - item.keys.begin;
    const bool few = item.block.queries * batch.group <= kFewRows && !item.block.widen;
    const int64_t piece = std::min(batch.kv.page_size, few ? FewRowsTile(batch) : kManyRowsTile);
    flops.push_back(AttendedFlops(batch, item.block, item.keys));
    pieces += 2 * (few ? 1 : item.block.heads) * (keys / piece + 1);
    most_heads = std::max(most_heads, item.block.heads);
  }
  plan->work = WorkOfBlocks(batch, flops, most_heads, threads);
  const int64_t again = plan->traffic.kv_bytes_read - plan->work.memory_bytes;
  const auto partial_bytes = static_cast<int64_t>(plan->partial_bytes);
  plan->work.moved_bytes = again + 2 * partial_bytes;
  plan->work.moved_within = again > 0 ? plan->work.memory_bytes : partial_bytes;
  plan->work.pieces = pieces;
  plan->work.rows = most_queries * batch.group;
  plan->work.overlaps = true;
  return plan;
}

void Run(const SoftmaxPlanImpl& base, const SoftmaxCall& call, std::span<std::byte> workspace,
         ThreadPool& pool) {
  const auto& plan = static_cast<const HighperfPlan&>(base);
  const RowContext context = MakeRowContext(ActiveAttentionKernels(), plan.batch, call);
  auto* partials = reinterpret_cast<float*>(workspace.data());
  std::byte* scratch = workspace.data() + plan.partial_bytes;
  const int64_t few_tile = FewRowsTile(plan.batch);

  pool.Run(static_cast<int64_t>(plan.items.size()), [&](int64_t task, int worker) {
    const Item& item = plan.items[task];
    std::byte* sum = scratch + worker * plan.worker_bytes;
    RowWork work = RowWork::Start(context, plan.layout, item.block, sum + plan.sum_bytes);
    AttendKeys(work, sum, item.keys, work.few() ? few_tile : kManyRowsTile, true);
    if (item.partial < 0) {
      work.StoreOutput();
    } else {
      work.StorePartial(partials + item.partial);
    }
  });
  if (plan.combines.empty()) return;
  pool.Run(static_cast<int64_t>(plan.combines.size()), [&](int64_t task, int worker) {
    const Combine& combine = plan.combines[task];
    RowWork work =
        RowWork::StartEmpty(context, plan.layout, combine.block, scratch + worker * plan.worker_bytes);
    work.MergePartials(partials + combine.partial, combine.splits, combine.stride);
    work.StoreOutput();
  });
}

}  // namespace

const SoftmaxVariant kSpmdPagedAttentionHighperf = {
    .name = "spmd_paged_attention_highperf",
    .summary = "planned batch x head x key-range items, rows read once in memory order, partials combined",
    .promises = kRepeatable | kThreadInvariant | kBatchInvariant,
    .supports = Support::Everything,
    .plan = Plan,
    .run = Run,
};

}  // namespace pagoda

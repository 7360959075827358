// hstu_fused: pages and targets read in place, no copy of K or V.
//
// A sequence is cut into query blocks. A block of few rows is cut into ranges of keys, by their number alone,
// and an item walks a few slots at a time over all its kv heads, so that the memory sees a few long streams;
// a block of many rows takes one kv head an item and long ranges of keys, a tile loaded once for all its
// rows. While one tile is multiplied the next is asked for. Tiles that no row of the block sees are left out.
// Partial results are sums; a second launch adds them in order. Reads Hk * (D + Dv) * sizeof(kv) per key that
// a query block sees; writes no K or V, but 4 * Dv bytes per row and key range. FLOPs 2*Hq*(D + Dv) per (row,
// key) of those tiles. Tasks: one per item and one per (cut block, kv heads), in two launches; one launch
// where nothing is cut.
#include <algorithm>
#include <tuple>

#include "engine/attention/cost.h"
#include "engine/attention/hstu/plan.h"
#include "engine/attention/hstu/rows.h"
#include "engine/attention/hstu/variant.h"

namespace pagoda {
namespace {

constexpr int64_t kBlockRows = 256;  // of a query block and kv head; their accumulators stay near L2
constexpr int64_t kFewRowsTileBytes = 64 << 10;  // K of one tile of the few-row walk
constexpr int64_t kManyRowsTile = 96;            // keys: a multiple of the GEMM's 6 and 12 rows
constexpr int64_t kFewRowsRanges = 16;    // key ranges of a long sequence; more only pay for partial results
constexpr int64_t kManyRowsRange = 2048;  // keys; their arithmetic dwarfs a partial result

struct Block {
  HstuBlock rows;  // over all kv heads
  std::vector<KeyRange> seen;
};

struct Item {
  size_t block;
  int64_t first_head, heads;
  KeyRange keys;
  int64_t partial;  // floats from the start of the partial results, or -1: writes the output
};

struct Combine {
  size_t block;
  int64_t first_head, heads;
  int64_t partial;
  int64_t ranges;
  int64_t stride;
};

struct FusedPlan : HstuPlanImpl {
  std::vector<Block> blocks;
  std::vector<Item> items;
  std::vector<Combine> combines;
  HstuLayout layout;
  size_t partial_bytes = 0;
};

HstuBlock HeadsOf(const Block& block, int64_t first_head, int64_t heads) {
  HstuBlock part = block.rows;
  part.first_head = first_head;
  part.heads = heads;
  return part;
}

int64_t FewRowsTile(const NormalHstuBatch& batch) {
  const int64_t key_bytes = batch.kv_heads * batch.head_dim * SizeOf(batch.dtype);
  return std::clamp<int64_t>(kFewRowsTileBytes / key_bytes / 16 * 16, 16, 128);
}

int64_t TileOf(const NormalHstuBatch& batch, int64_t rows) {
  return rows <= kFewRows ? FewRowsTile(batch) : kManyRowsTile;
}

// All kv heads at once where rows are few, as long as their accumulators stay near L2.
int64_t HeadsOfItem(const NormalHstuBatch& batch, int64_t rows) {
  return rows <= kFewRows ? std::min(batch.kv_heads, kBlockRows / rows) : 1;
}

// Keys of one range of `keys`, by their number alone, so that neither the batch nor the number of threads
// changes a bit of the result.
int64_t RangeKeys(int64_t keys, int64_t rows) {
  if (rows > kFewRows) return RoundUp(kManyRowsRange, kManyRowsTile);
  return std::clamp<int64_t>(RoundUp(keys / kFewRowsRanges, 128), 128, 512);
}

void CutBlock(const NormalHstuBatch& batch, size_t index, FusedPlan& plan, int64_t& partials) {
  const Block& block = plan.blocks[index];
  const int64_t rows = block.rows.queries * batch.group;
  const KeyRange hull =
      block.seen.empty() ? KeyRange{} : KeyRange{block.seen.front().begin, block.seen.back().end};
  const int64_t step = RangeKeys(hull.end - hull.begin, rows);
  const int64_t first = hull.begin / step;
  std::vector<KeyRange> ranges;
  for (int64_t s = first; s * step < hull.end; ++s) {
    const KeyRange range{std::max(hull.begin, s * step), std::min(hull.end, (s + 1) * step)};
    if (BytesOf(batch, block.seen, range) > 0) ranges.push_back(range);
  }
  if (ranges.empty()) ranges.push_back({});  // writes zeros
  const int64_t heads = HeadsOfItem(batch, rows);
  const int64_t row_floats = rows * plan.layout.partial_ld();
  const int64_t stride = batch.kv_heads * row_floats;
  const bool cut = ranges.size() > 1;
  for (int64_t h = 0; h < batch.kv_heads; h += heads) {
    const int64_t count = std::min(heads, batch.kv_heads - h);
    const int64_t partial = partials + h * row_floats;
    for (size_t s = 0; s < ranges.size(); ++s) {
      plan.items.push_back(
          {index, h, count, ranges[s], cut ? partial + static_cast<int64_t>(s) * stride : -1});
      plan.traffic.kv_bytes_read += count * BytesOf(batch, block.seen, ranges[s]);
    }
    if (cut) plan.combines.push_back({index, h, count, partial, std::ssize(ranges), stride});
  }
  if (cut) partials += std::ssize(ranges) * stride;
}

Work WorkOf(const NormalHstuBatch& batch, const FusedPlan& plan, int threads) {
  Work work;
  work.overlaps = true;
  work.memory_bytes = SeenBytes(batch);
  const int64_t again = plan.traffic.kv_bytes_read - work.memory_bytes;
  const auto partial_bytes = static_cast<int64_t>(plan.partial_bytes);
  work.moved_bytes = again + 2 * partial_bytes;
  work.moved_within = again > 0 ? work.memory_bytes : partial_bytes;
  int64_t most_heads = 1;
  std::vector<double> flops;
  for (const Item& item : plan.items) {
    const Block& block = plan.blocks[item.block];
    const int64_t rows = block.rows.queries * batch.group;
    const int64_t keys = KeysWithin(block.seen, item.keys);
    flops.push_back(FlopsOf(batch, rows * keys * item.heads));
    work.flops += flops.back();
    const int64_t piece = PieceKeys(batch, TileOf(batch, rows));
    work.pieces += 2 * (rows <= kFewRows ? 1 : item.heads) * ((keys + piece - 1) / piece);
    work.rows = std::max(work.rows, rows);
    most_heads = std::max(most_heads, item.heads);
  }
  work.run_bytes = RunBytesOf(batch, most_heads);
  work.busiest_share = BusiestShare(flops, threads);
  return work;
}

std::unique_ptr<HstuPlanImpl> Plan(const NormalHstuBatch& batch, int threads, const HstuPlanOptions&) {
  auto plan = std::make_unique<FusedPlan>();
  const int64_t queries = QueriesPerBlock(batch.group, kBlockRows);
  int64_t most_rows = 0;
  int64_t most_all_rows = 0;
  for (int64_t b = 0; b < batch.batch; ++b) {
    for (int64_t a = 0; a < batch.q_len(b); a += queries) {
      const int64_t count = std::min(queries, batch.q_len(b) - a);
      plan->blocks.push_back({{b, a, count, 0, batch.kv_heads}, SeenKeys(batch, b, a, count)});
      const int64_t rows = count * batch.group;
      most_rows = std::max(most_rows, rows);
      most_all_rows = std::max(most_all_rows, rows * HeadsOfItem(batch, rows));
    }
  }
  plan->layout = HstuLayout(batch, ActiveAttentionKernels(), most_rows, most_all_rows,
                            std::max(FewRowsTile(batch), kManyRowsTile));
  int64_t partials = 0;
  for (size_t i = 0; i < plan->blocks.size(); ++i) CutBlock(batch, i, *plan, partials);
  // The longest items first, so that the last one to start is a short one.
  const auto order_of = [&](const Item& item) {
    const HstuBlock& rows = plan->blocks[item.block].rows;
    const int64_t work = (item.keys.end - item.keys.begin) * rows.queries * item.heads;
    return std::tuple(-work, item.block, item.keys.begin, item.first_head);
  };
  std::sort(plan->items.begin(), plan->items.end(),
            [&](const Item& a, const Item& b) { return order_of(a) < order_of(b); });
  plan->partial_bytes = static_cast<size_t>(RoundUp(partials * static_cast<int64_t>(sizeof(float)), 64));
  plan->workspace_bytes = plan->partial_bytes + static_cast<size_t>(threads) * plan->layout.bytes();
  plan->work = WorkOf(batch, *plan, threads);
  plan->traffic.tasks = std::ssize(plan->items) + std::ssize(plan->combines);
  plan->traffic.launches = (plan->items.empty() ? 0 : 1) + (plan->combines.empty() ? 0 : 1);
  return plan;
}

void Run(const HstuPlanImpl& base, const HstuCall& call, std::span<std::byte> workspace, ThreadPool& pool) {
  const auto& plan = static_cast<const FusedPlan&>(base);
  const HstuContext context = MakeHstuContext(plan.batch, call);
  auto* partials = reinterpret_cast<float*>(workspace.data());
  std::byte* scratch = workspace.data() + plan.partial_bytes;

  pool.Run(std::ssize(plan.items), [&](int64_t task, int worker) {
    const Item& item = plan.items[task];
    const Block& block = plan.blocks[item.block];
    HstuRows rows = HstuRows::Start(context, plan.layout, HeadsOf(block, item.first_head, item.heads),
                                    scratch + worker * plan.layout.bytes());
    ForEachTile(block.seen, item.keys, TileOf(plan.batch, rows.rows()),
                [&](KeyRange tile, KeyRange next) { rows.Attend(tile, next); });
    if (item.partial < 0) {
      rows.StoreOutput();
    } else {
      rows.StorePartial(partials + item.partial);
    }
  });
  if (plan.combines.empty()) return;
  pool.Run(std::ssize(plan.combines), [&](int64_t task, int worker) {
    const Combine& combine = plan.combines[task];
    HstuRows rows = HstuRows::StartEmpty(
        context, plan.layout, HeadsOf(plan.blocks[combine.block], combine.first_head, combine.heads),
        scratch + worker * plan.layout.bytes());
    rows.MergePartials(partials + combine.partial, combine.ranges, combine.stride);
    rows.StoreOutput();
  });
}

}  // namespace

const HstuVariant kHstuFused = {
    .name = "hstu_fused",
    .summary =
        "no copy: pages read in place, each tile once per kv head for all its rows, unseen tiles left out",
    .promises = kRepeatable | kThreadInvariant | kBatchInvariant,
    .same_bits_as = "",
    .plan = Plan,
    .run = Run,
};

}  // namespace pagoda

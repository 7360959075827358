// hstu_gather_serial, hstu_gather_pipelined: key block by key block, the pages of one kv head are copied
// through a small staging buffer to a workspace, and the block is computed from there.
//
// serial copies chunk by chunk, K then V, each to the staging buffer and on to the workspace before the next.
// pipelined splits the same buffer into two stages, which chunks of K and of V pass in turn: one is read into
// a stage while the one before is written from the other. While a tile is multiplied, pages of the next key
// block are asked for, and are copied when the tile is done, so that waiting for memory falls together with
// arithmetic. The order of the arithmetic is the same: so are the bits.
//
// Per key that a query block sees, Hk * (D + Dv) * sizeof(kv) bytes are read three times (page, staging,
// workspace) and written twice. FLOPs 2*Hq*(D + Dv) per (row, key) of the tiles. Tasks: one per (query block,
// kv head), one launch.
#include <fmt/format.h>

#include <algorithm>

#include "engine/attention/checks.h"
#include "engine/attention/cost.h"
#include "engine/attention/hstu/plan.h"
#include "engine/attention/hstu/rows.h"
#include "engine/attention/hstu/variant.h"
#include "engine/attention/range_sum.h"

namespace pagoda {
namespace {

constexpr int64_t kBlockRows = 256;  // of a query block
constexpr int64_t kTileKeys = 96;
constexpr int64_t kBlockTiles = 2;  // of a key block
static_assert(kRangeKeys % (kBlockTiles * kTileKeys) == 0, "a range ends where a key block does");

struct Task {
  HstuBlock rows;  // of one kv head
  size_t seen;
};

struct GatherPlan : HstuPlanImpl {
  std::vector<Task> tasks;
  std::vector<std::vector<KeyRange>> seen;
  HstuLayout layout;
  int64_t chunk_keys = 0;  // K or V of as many pass a stage at a time
  int64_t block_keys = 0;
  size_t stage_bytes = 0;    // of the staging buffer, or of one of its two stages
  size_t k_bytes = 0;        // K of one key block
  size_t block_bytes = 0;    // with V
  size_t sum_bytes = 0;      // of the ranges before
  size_t scratch_bytes = 0;  // of one worker
};

std::unique_ptr<HstuPlanImpl> Plan(const NormalHstuBatch& batch, int threads, const HstuPlanOptions& options,
                                   bool pipelined) {
  auto plan = std::make_unique<GatherPlan>();
  const int64_t size = SizeOf(batch.dtype);
  const int64_t k_row = batch.head_dim * size;
  const int64_t v_row = batch.head_dim_v * size;
  const int64_t row = std::max(k_row, v_row);
  const int64_t stages = pipelined ? 2 : 1;
  if (options.staging_bytes < stages * row) {
    Refuse("staging_bytes", fmt::format("= {} does not hold {}: give at least {}", options.staging_bytes,
                                        pipelined ? "two rows of a key" : "a row of a key", stages * row));
  }
  const int64_t queries = QueriesPerBlock(batch.group, kBlockRows);
  int64_t most_rows = 0;
  int64_t seen_bytes = 0;
  for (int64_t b = 0; b < batch.batch; ++b) {
    for (int64_t a = 0; a < batch.q_len(b); a += queries) {
      const int64_t count = std::min(queries, batch.q_len(b) - a);
      most_rows = std::max(most_rows, count * batch.group);
      plan->seen.push_back(SeenKeys(batch, b, a, count));
      seen_bytes += batch.kv_heads * BytesOf(batch, plan->seen.back(), {0, batch.kv_len[b]});
      for (int64_t h = 0; h < batch.kv_heads; ++h)
        plan->tasks.push_back({{b, a, count, h, 1}, plan->seen.size() - 1});
    }
  }
  plan->layout = HstuLayout(batch, ActiveAttentionKernels(), most_rows, most_rows, kTileKeys);
  // A pipeline holds two blocks. With many rows a tile is worth the copy of another, and two blocks of one
  // tile leave as much of L2 to the multiplication as serial's one of two.
  plan->block_keys = (pipelined && most_rows > kFewRows ? 1 : kBlockTiles) * kTileKeys;
  // Of a larger budget only what a key block needs is used.
  plan->chunk_keys = std::min(options.staging_bytes / (stages * row), plan->block_keys);
  plan->stage_bytes = static_cast<size_t>(RoundUp(plan->chunk_keys * row, 64));
  plan->k_bytes = static_cast<size_t>(RoundUp(plan->block_keys * k_row, 64));
  plan->block_bytes = plan->k_bytes + static_cast<size_t>(RoundUp(plan->block_keys * v_row, 64));
  plan->sum_bytes = RangeSum<HstuRows>::Bytes(most_rows, plan->layout.partial_ld());
  plan->scratch_bytes = static_cast<size_t>(stages) * (plan->stage_bytes + plan->block_bytes) +
                        plan->sum_bytes + plan->layout.bytes();
  plan->workspace_bytes = static_cast<size_t>(threads) * plan->scratch_bytes;
  plan->traffic.kv_bytes_read = 3 * seen_bytes;
  plan->traffic.kv_bytes_written = 2 * seen_bytes;
  plan->traffic.tasks = std::ssize(plan->tasks);
  plan->traffic.launches = plan->tasks.empty() ? 0 : 1;
  Work& work = plan->work;
  work.overlaps = pipelined;
  work.memory_bytes = SeenBytes(batch);
  work.moved_bytes = 5 * seen_bytes - work.memory_bytes;
  work.moved_within = static_cast<int64_t>(plan->scratch_bytes);
  work.run_bytes = RunBytesOf(batch, 1);
  work.rows = most_rows;
  // Each chunk of K or V is read by one call and written by another.
  const int64_t piece = PieceKeys(batch, plan->chunk_keys);
  std::vector<double> flops;
  for (const Task& task : plan->tasks) {
    const int64_t keys = KeysWithin(plan->seen[task.seen], {0, batch.kv_len[task.rows.sequence]});
    flops.push_back(FlopsOf(batch, task.rows.queries * batch.group * keys));
    work.flops += flops.back();
    work.pieces += 4 * ((keys + piece - 1) / piece);
  }
  work.busiest_share = BusiestShare(flops, threads);
  return plan;
}

// Copies the key blocks of one task.
class Copier {
 public:
  Copier(const HstuContext& context, const GatherPlan& plan, const HstuBlock& rows, std::byte* stages)
      : context_(context), plan_(plan), rows_(rows), stages_(stages) {}

  void CopySerially(const CopiedKeys& to) const {
    for (KeyRange left = to.keys; !left.empty();) {
      const KeyRange chunk = ReadChunk(left, false, stages_);
      WriteChunk(stages_, chunk, false, to);
      ReadChunk(chunk, true, stages_);
      WriteChunk(stages_, chunk, true, to);
      left.begin = chunk.end;
    }
  }

  // The pipeline. Start reads the first chunk; each Step reads the next and writes the one before. Chunks of
  // K and of V take turns.
  void Start(const CopiedKeys& to) {
    to_ = to;
    held_ = {to.keys.begin, to.keys.begin};
    value_ = true;
    Advance();
  }
  void Step() {
    const KeyRange before = held_;
    const bool value = value_;
    const std::byte* stage = Stage();
    Advance();
    WriteChunk(stage, before, value, to_);
  }

  // Steps until K and V of the keys before `end` are read, and written too where nothing is behind them.
  void StepTo(int64_t end) {
    while (!held_.empty() && (held_.end < end || !value_ || end == to_.keys.end)) Step();
  }

 private:
  std::byte* Stage() const { return stages_ + turn_ * plan_.stage_bytes; }

  // Reads the chunk behind the one that is held into the other stage.
  void Advance() {
    const KeyRange next = value_ ? KeyRange{held_.end, to_.keys.end} : held_;
    if (next.empty()) {
      held_ = {};
      return;
    }
    value_ = !value_;
    turn_ = 1 - turn_;
    held_ = ReadChunk(next, value_, Stage());
  }

  // The first chunk of `keys`, within a page; returns which keys it was.
  KeyRange ReadChunk(KeyRange keys, bool value, std::byte* stage) const {
    KeyRun run = RunOfKeys(context_, rows_.sequence, keys, rows_.first_head, 1, value);
    run.keys = std::min(run.keys, plan_.chunk_keys);
    context_.kernels.copy_rows(context_.batch.dtype, run, stage, run.dim, 0);
    return {keys.begin, keys.begin + run.keys};
  }

  void WriteChunk(const std::byte* stage, KeyRange keys, bool value, const CopiedKeys& to) const {
    const int64_t dim = value ? context_.batch.head_dim_v : context_.batch.head_dim;
    const KeyRun run = DenseRun(stage, keys.end - keys.begin, dim);
    std::byte* at = ElementAt(value ? to.v : to.k, (keys.begin - to.keys.begin) * dim, context_.batch.dtype);
    context_.kernels.copy_rows(context_.batch.dtype, run, at, dim, 0);
  }

  const HstuContext& context_;
  const GatherPlan& plan_;
  const HstuBlock& rows_;
  std::byte* stages_;
  CopiedKeys to_;
  KeyRange held_;       // what the stage whose turn it is holds
  bool value_ = false;  // of V
  int turn_ = 0;
};

CopiedKeys BlockAt(const GatherPlan& plan, KeyRange keys, std::byte* at) {
  return {keys, at, at + plan.k_bytes};
}

void RunSerial(const HstuPlanImpl& base, const HstuCall& call, std::span<std::byte> workspace,
               ThreadPool& pool) {
  const auto& plan = static_cast<const GatherPlan&>(base);
  const HstuContext context = MakeHstuContext(plan.batch, call);
  pool.Run(std::ssize(plan.tasks), [&](int64_t index, int worker) {
    const Task& task = plan.tasks[index];
    std::byte* stage = workspace.data() + worker * plan.scratch_bytes;
    std::byte* block = stage + plan.stage_bytes;
    const Copier copier(context, plan, task.rows, stage);
    std::byte* at = block + plan.block_bytes;
    HstuRows rows = HstuRows::Start(context, plan.layout, task.rows, at + plan.sum_bytes);
    RangeSum sum(rows, at);
    const KeyRange all{0, plan.batch.kv_len[task.rows.sequence]};
    ForEachTile(plan.seen[task.seen], all, plan.block_keys, [&](KeyRange keys, KeyRange) {
      const CopiedKeys copied = BlockAt(plan, keys, block);
      copier.CopySerially(copied);
      sum.Enter(keys.begin);
      ForEachTile({keys}, keys, kTileKeys, [&](KeyRange tile, KeyRange) { rows.Attend(tile, {}, &copied); });
    });
    sum.Finish();
    rows.StoreOutput();
  });
}

void RunPipelined(const HstuPlanImpl& base, const HstuCall& call, std::span<std::byte> workspace,
                  ThreadPool& pool) {
  const auto& plan = static_cast<const GatherPlan&>(base);
  const HstuContext context = MakeHstuContext(plan.batch, call);
  pool.Run(std::ssize(plan.tasks), [&](int64_t index, int worker) {
    const Task& task = plan.tasks[index];
    std::byte* stages = workspace.data() + worker * plan.scratch_bytes;
    std::byte* blocks = stages + 2 * plan.stage_bytes;
    Copier copier(context, plan, task.rows, stages);
    std::byte* at = blocks + 2 * plan.block_bytes;
    HstuRows rows = HstuRows::Start(context, plan.layout, task.rows, at + plan.sum_bytes);
    RangeSum sum(rows, at);
    const KeyRange all{0, plan.batch.kv_len[task.rows.sequence]};
    int turn = 0;
    bool first = true;
    ForEachTile(plan.seen[task.seen], all, plan.block_keys, [&](KeyRange keys, KeyRange next) {
      const CopiedKeys copied = BlockAt(plan, keys, blocks + turn * plan.block_bytes);
      turn = 1 - turn;
      sum.Enter(keys.begin);
      if (first) {
        copier.Start(copied);
        copier.StepTo(keys.end);
        first = false;
      }
      // A part of the next block arrives from memory while a tile is multiplied, and is copied then.
      KeyRange part{next.begin, next.begin};
      ForEachTile({keys}, keys, kTileKeys, [&](KeyRange tile, KeyRange following) {
        part = {part.end, following.empty() ? next.end : std::min(part.end + kTileKeys, next.end)};
        rows.Attend(tile, part, &copied);
        if (part.empty()) return;
        if (part.begin == next.begin) copier.Start(BlockAt(plan, next, blocks + turn * plan.block_bytes));
        copier.StepTo(part.end);
      });
    });
    sum.Finish();
    rows.StoreOutput();
  });
}

}  // namespace

const HstuVariant kHstuGatherSerial = {
    .name = "hstu_gather_serial",
    .summary = "copies each key block through a staging buffer, chunk by chunk, then computes it",
    .promises = kRepeatable | kThreadInvariant | kBatchInvariant,
    .same_bits_as = "",
    .plan = [](const NormalHstuBatch& batch, int threads,
               const HstuPlanOptions& options) { return Plan(batch, threads, options, false); },
    .run = RunSerial,
};

const HstuVariant kHstuGatherPipelined = {
    .name = "hstu_gather_pipelined",
    .summary =
        "the same copy in two stages: the next chunk is read while one is written, the next block while one "
        "is computed",
    .promises = kRepeatable | kThreadInvariant | kBatchInvariant,
    .same_bits_as = "hstu_gather_serial",
    .plan = [](const NormalHstuBatch& batch, int threads,
               const HstuPlanOptions& options) { return Plan(batch, threads, options, true); },
    .run = RunPipelined,
};

}  // namespace pagoda

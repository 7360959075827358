// Validation at the boundary: from what a caller passed to a NormalHstuBatch.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
#include "engine/attention/checks.h"
#include "engine/attention/hstu/mask.h"
#include "engine/attention/hstu/variant.h"
#include "engine/kv/page_table.h"

namespace pagoda {
namespace {

std::string_view NameOf(HstuMask mask) {
  switch (mask) {
    case HstuMask::kNone:
      return "none";
    case HstuMask::kCausal:
      return "causal";
    case HstuMask::kDense:
      return "dense";
    case HstuMask::kInterval:
      return "interval";
  }
  return "?";
}

void CheckNotNegative(int64_t value, std::string_view field) {
  if (value < 0) Refuse(field, fmt::format("= {} must not be negative (0: off)", value));
}

// Each parameter by itself.
void CheckParams(const HstuParams& p) {
  if (!std::isfinite(p.alpha)) Refuse("alpha", fmt::format("= {} must be finite", p.alpha));
  if (!std::isfinite(p.silu_scale)) Refuse("silu_scale", fmt::format("= {} must be finite", p.silu_scale));
  if (p.max_seq_len < 0) Refuse("max_seq_len", fmt::format("= {} must not be negative", p.max_seq_len));
  if (p.silu_scale == 0 && p.max_seq_len == 0) {
    Refuse("max_seq_len", "is missing: give it or silu_scale, which is 1 / max_seq_len otherwise");
  }
  CheckAtLeastOne(p.target_group_size, "target_group_size");
  CheckWindow(p.window_left, "window_left");
  CheckWindow(p.window_right, "window_right");
  CheckNotNegative(p.max_attn_len, "max_attn_len");
  CheckNotNegative(p.min_full_attn_seq_len, "min_full_attn_seq_len");
}

// Combinations to which no system gives a meaning.
void CheckTogether(const HstuParams& p) {
  const bool window = p.window_left >= 0 || p.window_right >= 0;
  const std::string_view window_field = p.window_left >= 0 ? "window_left" : "window_right";
  if (p.max_attn_len > 0 && window) {
    Refuse(window_field, "and max_attn_len are both given; both say how far a row sees");
  }
  if (p.max_attn_len > 0 && p.target_group_size > 1) {
    Refuse("target_group_size",
           fmt::format(
               "= {} and max_attn_len are both given, which has no meaning: max_attn_len puts all targets "
               "at one place",
               p.target_group_size));
  }
  if (p.mask == HstuMask::kCausal) return;
  const auto only_causal = [&](bool given, std::string_view field) {
    if (given) {
      Refuse(field,
             fmt::format("has no meaning with mask {}, which decides alone; use mask causal or leave it out",
                         NameOf(p.mask)));
    }
  };
  only_causal(p.target_group_size > 1, "target_group_size");
  only_causal(p.max_attn_len > 0, "max_attn_len");
  only_causal(p.mask != HstuMask::kNone && window, window_field);
}

// [B] counts of a tensor that may be left out, all of them at least 0.
std::vector<int64_t> ReadCounts(const TensorView& counts, int64_t batch, std::string_view field) {
  std::vector<int64_t> out(static_cast<size_t>(batch), 0);
  if (counts.empty()) return out;
  const IndexReader reader(counts, field, batch);
  for (int64_t b = 0; b < batch; ++b) {
    out[b] = reader[b];
    if (out[b] < 0) Refuse(fmt::format("{}[{}]", field, b), fmt::format("= {} must not be negative", out[b]));
  }
  return out;
}

void ResolvePages(const HstuBatch& in, const std::vector<int64_t>& targets, NormalHstuBatch& out) {
  CheckCacheShape(in.kv);
  const auto same = [](int64_t got, int64_t want, std::string_view field, std::string_view of) {
    if (got != want) Refuse(field, fmt::format("= {}, but {} is {}", got, of, want));
  };
  if (in.kv.dtype != in.dtype) {
    Refuse("kv.dtype",
           fmt::format("= {}, but q is {}", pagoda::NameOf(in.kv.dtype), pagoda::NameOf(in.dtype)));
  }
  same(in.kv.kv_heads, in.kv_heads, "kv.kv_heads", "kv_heads");
  same(in.kv.head_dim, in.head_dim, "kv.head_dim", "head_dim");
  same(in.kv.head_dim_v, in.head_dim_v, "kv.head_dim_v", "head_dim_v");
  if (!in.seq_offsets_k.empty())
    Refuse("seq_offsets_k", "is given, but the pages say how many keys there are; remove it");
  ResolvedTable table = ResolveTable(in.table, out.batch, in.kv.page_size, in.kv.num_pages);
  out.paged = true;
  out.kv = in.kv;
  out.cached = std::move(table.kv_len);
  out.page_begin = std::move(table.page_begin);
  out.page_ids = std::move(table.page_ids);
  out.total_k = out.total_q;
  for (int64_t b = 0; b < out.batch; ++b) {
    if (targets[b] > out.q_len(b)) {
      Refuse(fmt::format("num_targets[{}]", b),
             fmt::format("= {} is more than the {} rows of sequence {}; targets are its last rows",
                         targets[b], out.q_len(b), b));
    }
    out.history.push_back(out.cached[b]);
    out.kv_len.push_back(AddOrThrow(out.cached[b], targets[b], "num_targets"));
    out.k_begin.push_back(out.q_begin[b + 1] - targets[b]);
  }
}

// A cache or a part of a table without the table: taken for contiguous keys, k and v would be read as if they
// were all there is.
void CheckNoPages(const HstuBatch& in) {
  const auto refuse = [](std::string_view given) {
    Refuse(given, "is given, but neither kv_indptr nor block_table: give one, or leave the pages out");
  };
  if (in.kv.k != nullptr || in.kv.v != nullptr || in.kv.num_pages != 0 || in.kv.page_size != 0) refuse("kv");
  if (!in.table.indices.empty()) refuse("kv_indices");
  if (!in.table.last_page_len.empty()) refuse("kv_last_page_len");
  if (!in.table.context_lens.empty()) refuse("context_lens");
}

void ResolveContiguous(const HstuBatch& in, const std::vector<int64_t>& targets, NormalHstuBatch& out) {
  CheckNoPages(in);
  std::vector<int64_t> begin = out.q_begin;
  const bool own = !in.seq_offsets_k.empty();
  if (own) begin = ResolveOffsets(in.seq_offsets_k, "seq_offsets_k");
  if (std::ssize(begin) != out.batch + 1) {
    Refuse("seq_offsets_k", fmt::format("has {} entries, expected {}", begin.size(), out.batch + 1));
  }
  out.total_k = begin.back();
  CheckTotalRows(out.total_k, "k", out.batch, "seq_offsets_k");
  out.cached.assign(static_cast<size_t>(out.batch), 0);
  for (int64_t b = 0; b < out.batch; ++b) {
    const int64_t keys = begin[b + 1] - begin[b];
    if (targets[b] > keys) {
      Refuse(fmt::format("num_targets[{}]", b),
             fmt::format("= {} is more than the {} keys of sequence {}", targets[b], keys, b));
    }
    out.kv_len.push_back(keys);
    out.history.push_back(keys - targets[b]);
    out.k_begin.push_back(begin[b]);
  }
}

void CheckSequences(const NormalHstuBatch& batch) {
  for (int64_t b = 0; b < batch.batch; ++b) {
    if (batch.q_len(b) > batch.kv_len[b]) {
      Refuse(fmt::format("seq_offsets[{}]", b + 1),
             fmt::format("gives sequence {} {} rows, more than its {} keys", b, batch.q_len(b),
                         batch.kv_len[b]));
    }
    if (batch.contextual[b] > 0 && batch.mask != HstuMask::kCausal) {
      Refuse(fmt::format("num_contextuals[{}]", b),
             fmt::format("= {} has no meaning with mask {}, which decides alone", batch.contextual[b],
                         NameOf(batch.mask)));
    }
    if (batch.contextual[b] > batch.history[b]) {
      Refuse(fmt::format("num_contextuals[{}]", b),
             fmt::format("= {} is more than the {} keys of history of sequence {}", batch.contextual[b],
                         batch.history[b], b));
    }
  }
}

void ResolveIntervals(const TensorView& mask, NormalHstuBatch& out) {
  if (out.mask != HstuMask::kInterval) {
    if (!mask.empty()) Refuse("interval_mask", "is given, but the mask is not interval");
    return;
  }
  if (mask.empty()) Refuse("interval_mask", "is missing; the mask is interval");
  if (!IsIndex(mask.dtype) || mask.rank != 2 || mask.shape[0] != out.total_q || mask.shape[1] % 2 != 1) {
    Refuse("interval_mask", fmt::format("must be [{}, F] of i32 or i64 with F odd", out.total_q));
  }
  CheckData(mask, "interval_mask");
  out.interval_begin.push_back(0);
  for (int64_t b = 0; b < out.batch; ++b) {
    const int64_t keys = out.kv_len[b];
    for (int64_t row = out.q_begin[b]; row < out.q_begin[b + 1]; ++row) {
      TensorView bounds = TensorView::Dense(mask.data, mask.dtype, {mask.shape[1]});
      bounds.data = ElementAt(mask.data, row * mask.strides[0], mask.dtype);
      bounds.strides[0] = mask.strides[1];
      const IndexReader f(bounds, "interval_mask", -1);
      std::vector<KeyRange> ranges;
      for (int64_t i = 0; i < f.size(); i += 2) {
        ranges.push_back(
            {std::clamp<int64_t>(i == 0 ? 0 : f[i - 1], 0, keys), std::clamp<int64_t>(f[i], 0, keys)});
      }
      ranges = Merged(std::move(ranges));
      out.intervals.insert(out.intervals.end(), ranges.begin(), ranges.end());
      out.interval_begin.push_back(std::ssize(out.intervals));
    }
  }
}

}  // namespace

NormalHstuBatch Normalise(const HstuBatch& in) {
  CheckParams(in.params);
  CheckTogether(in.params);
  if (!IsFloat(in.dtype))
    Refuse("dtype", fmt::format("= {} must be f32, f16 or bf16", pagoda::NameOf(in.dtype)));
  CheckAtLeastOne(in.kv_heads, "kv_heads");
  CheckAtLeastOne(in.head_dim, "head_dim");
  CheckAtLeastOne(in.head_dim_v, "head_dim_v");
  CheckHeads(in.q_heads, in.kv_heads, "k");
  CheckRowElements(in.q_heads, in.head_dim, "head_dim");
  CheckRowElements(in.q_heads, in.head_dim_v, "head_dim_v");

  NormalHstuBatch out;
  out.q_begin = ResolveOffsets(in.seq_offsets, "seq_offsets");
  out.batch = std::ssize(out.q_begin) - 1;
  out.total_q = out.q_begin.back();
  CheckTotalRows(out.total_q, "q", out.batch, "seq_offsets");
  out.q_heads = in.q_heads;
  out.kv_heads = in.kv_heads;
  out.group = in.q_heads / in.kv_heads;
  out.head_dim = in.head_dim;
  out.head_dim_v = in.head_dim_v;
  out.dtype = in.dtype;
  out.mask = in.params.mask;
  out.alpha = in.params.alpha;
  out.scale =
      in.params.silu_scale != 0 ? in.params.silu_scale : 1.0F / static_cast<float>(in.params.max_seq_len);
  out.group_size = in.params.target_group_size;
  out.window_left = in.params.window_left;
  out.window_right = in.params.window_right;
  out.max_attn_len = in.params.max_attn_len;
  out.min_full_attn_seq_len = in.params.min_full_attn_seq_len;

  const std::vector<int64_t> targets = ReadCounts(in.num_targets, out.batch, "num_targets");
  out.contextual = ReadCounts(in.num_contextuals, out.batch, "num_contextuals");
  if (in.paged()) {
    ResolvePages(in, targets, out);
  } else {
    ResolveContiguous(in, targets, out);
  }
  for (int64_t b = 0; b < out.batch; ++b) {
    out.longest_q = std::max(out.longest_q, out.q_len(b));
    out.longest_k = std::max(out.longest_k, out.kv_len[b]);
    out.any_target = out.any_target || targets[b] > 0;
  }
  CheckSequences(out);
  ResolveIntervals(in.interval_mask, out);
  return out;
}

}  // namespace pagoda

// Validation at the boundary: from what a caller passed to a NormalBatch.
#include <fmt/format.h>

#include <cmath>

#include "engine/attention/checks.h"
#include "engine/attention/variant.h"
#include "engine/kv/page_table.h"

namespace pagoda {
namespace {

void CheckParams(const SoftmaxParams& params) {
  if (params.scale && !std::isfinite(*params.scale)) {
    Refuse("scale", fmt::format("= {} must be finite", *params.scale));
  }
  if (!std::isfinite(params.softcap) || params.softcap < 0) {
    Refuse("softcap", fmt::format("= {} must be finite and at least 0 (0: none)", params.softcap));
  }
  CheckWindow(params.window_left, "window_left");
  CheckWindow(params.window_right, "window_right");
}

}  // namespace

NormalBatch Normalise(const SoftmaxBatch& in) {
  CheckCacheShape(in.kv);
  CheckParams(in.params);
  CheckHeads(in.q_heads, in.kv.kv_heads, "k_cache");
  CheckRowElements(in.q_heads, in.kv.head_dim, "kv.head_dim");
  CheckRowElements(in.q_heads, in.kv.head_dim_v, "kv.head_dim_v");
  NormalBatch out;
  out.q_begin = ResolveOffsets(in.q_indptr, "q_indptr");
  out.batch = static_cast<int64_t>(out.q_begin.size()) - 1;
  out.total_q = out.q_begin.back();
  CheckTotalRows(out.total_q, "q", out.batch, "q_indptr");
  ResolvedTable table = ResolveTable(in.table, out.batch, in.kv.page_size, in.kv.num_pages);
  out.kv_len = std::move(table.kv_len);
  out.page_begin = std::move(table.page_begin);
  out.page_ids = std::move(table.page_ids);
  out.kv = in.kv;
  out.q_heads = in.q_heads;
  out.kv_heads = in.kv.kv_heads;
  out.group = in.q_heads / in.kv.kv_heads;
  out.head_dim = in.kv.head_dim;
  out.head_dim_v = in.kv.head_dim_v;
  out.scale = in.params.scale.value_or(1.0F / std::sqrt(static_cast<float>(in.kv.head_dim)));
  out.causal = in.params.causal;
  out.window_left = in.params.window_left;
  out.window_right = in.params.window_right;
  out.softcap = in.params.softcap;
  return out;
}

}  // namespace pagoda

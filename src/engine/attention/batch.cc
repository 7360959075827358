// Validation at the boundary: from what a caller passed to a NormalBatch.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "engine/attention/variant.h"
#include "engine/kv/page_table.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

[[noreturn]] void Refuse(std::string_view field, const std::string& complaint) {
  throw Error(ErrorCode::kInvalidArgument, field, complaint);
}

void CheckCache(const PagedKvView& kv) {
  const auto at_least_one = [](int64_t value, std::string_view field) {
    if (value < 1) Refuse(field, fmt::format("= {} must be at least 1", value));
  };
  if (!IsFloat(kv.dtype)) Refuse("kv.dtype", fmt::format("= {} must be f32, f16 or bf16", NameOf(kv.dtype)));
  if (kv.num_pages < 0) Refuse("kv.num_pages", fmt::format("= {} must not be negative", kv.num_pages));
  at_least_one(kv.page_size, "kv.page_size");
  at_least_one(kv.kv_heads, "kv.kv_heads");
  at_least_one(kv.head_dim, "kv.head_dim");
  at_least_one(kv.head_dim_v, "kv.head_dim_v");
}

void CheckParams(const SoftmaxParams& params) {
  if (params.scale && !std::isfinite(*params.scale)) {
    Refuse("scale", fmt::format("= {} must be finite", *params.scale));
  }
  if (!std::isfinite(params.softcap) || params.softcap < 0) {
    Refuse("softcap", fmt::format("= {} must be finite and at least 0 (0: none)", params.softcap));
  }
  if (params.window_left < -1) {
    Refuse("window_left", fmt::format("= {} must be at least -1 (-1: unbounded)", params.window_left));
  }
  if (params.window_right < -1) {
    Refuse("window_right", fmt::format("= {} must be at least -1 (-1: unbounded)", params.window_right));
  }
}

}  // namespace

NormalBatch Normalise(const SoftmaxBatch& in) {
  CheckCache(in.kv);
  CheckParams(in.params);
  if (in.q_heads < 1 || in.q_heads % in.kv.kv_heads != 0) {
    Refuse("q_heads",
           fmt::format("= {} must be a multiple of the {} heads of k_cache", in.q_heads, in.kv.kv_heads));
  }
  NormalBatch out;
  out.q_begin = ResolveOffsets(in.q_indptr, "q_indptr");
  out.batch = static_cast<int64_t>(out.q_begin.size()) - 1;
  out.total_q = out.q_begin.back();
  // q itself is not here to compare with, and plans hold a few words for each block of rows.
  constexpr int64_t kMaxRows = std::numeric_limits<int32_t>::max();
  if (out.total_q > kMaxRows) {
    Refuse(fmt::format("q_indptr[{}]", out.batch),
           fmt::format("= {} rows of q are more than the {} that a plan holds", out.total_q, kMaxRows));
  }
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

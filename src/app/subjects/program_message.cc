#include "app/subjects/program_message.h"

#include <nlohmann/json.hpp>

namespace pagoda::app {
namespace {

using nlohmann::json;

json Encode(const FilePlace& place) { return {{"path", place.path}, {"offset", place.offset}}; }

json Encode(const std::vector<FilePlace>& pools, int64_t page_stride, int64_t slot_stride,
            int64_t head_stride) {
  json offsets = json::array();
  for (const FilePlace& pool : pools) offsets.push_back(pool.offset);
  return {{"path", pools.front().path},
          {"offsets", std::move(offsets)},
          {"page_stride", page_stride},
          {"slot_stride", slot_stride},
          {"head_stride", head_stride}};
}

json FloatsOrNull(const TensorView& t) {
  if (t.empty()) return nullptr;
  const auto* const values = static_cast<const float*>(t.data);
  return std::vector<float>(values, values + t.elements());
}

}  // namespace

std::string PrepareMessage(const NormalBatch& batch, const SoftmaxCall& call, int threads,
                           const ProgramTensors& tensors) {
  const PagedKvView& kv = batch.kv;
  return json{{"prepare",
               {{"threads", threads},
                {"batch", batch.batch},
                {"total_q", batch.total_q},
                {"q_heads", batch.q_heads},
                {"kv_heads", batch.kv_heads},
                {"head_dim", batch.head_dim},
                {"head_dim_v", batch.head_dim_v},
                {"page_size", kv.page_size},
                {"num_pages", kv.num_pages},
                {"dtype", NameOf(kv.dtype)},
                {"scale", batch.scale},
                {"causal", batch.causal},
                {"window_left", batch.window_left},
                {"window_right", batch.window_right},
                {"softcap", batch.softcap},
                {"alibi_slopes", FloatsOrNull(call.alibi_slopes)},
                {"sinks", FloatsOrNull(call.sinks)},
                {"q_begin", batch.q_begin},
                {"kv_len", batch.kv_len},
                {"page_begin", batch.page_begin},
                {"page_ids", batch.page_ids},
                {"q", Encode(tensors.q)},
                {"k", Encode(tensors.k, kv.k_page_stride, kv.k_slot_stride, kv.k_head_stride)},
                {"v", Encode(tensors.v, kv.v_page_stride, kv.v_slot_stride, kv.v_head_stride)},
                {"out", Encode(tensors.out)},
                {"lse", tensors.lse ? Encode(*tensors.lse) : json()}}}}
      .dump();
}

}  // namespace pagoda::app

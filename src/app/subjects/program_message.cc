#include "app/subjects/program_message.h"

#include <nlohmann/json.hpp>

#include "judge/bench/suite.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

using nlohmann::json;

json Encode(const FilePlace& place) { return {{"path", place.path}, {"offset", place.offset}}; }

json EncodeOrNull(const std::vector<FilePlace>& places) {
  if (places.empty()) return nullptr;
  return Encode(places.front());
}

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

json EncodeRab(const std::vector<FilePlace>& place, const TensorView& rab) {
  if (place.empty()) return nullptr;
  const std::array<int64_t, 4> strides = StridesOfRab(rab);
  json encoded = Encode(place.front());
  encoded.update({{"batch_stride", strides[0]},
                  {"head_stride", strides[1]},
                  {"row_stride", strides[2]},
                  {"key_stride", strides[3]}});
  return encoded;
}

json FloatsOrNull(const TensorView& t) {
  if (t.empty()) return nullptr;
  const auto* const values = static_cast<const float*>(t.data);
  return std::vector<float>(values, values + t.elements());
}

const char* NameOfMask(const NormalHstuBatch& batch) {
  if (batch.mask == HstuMask::kCausal) return "causal";
  if (batch.mask == HstuMask::kNone) return "none";
  throw Error(ErrorCode::kUnsupported, "mask", "of an external program must be causal or none");
}

// What all operators have.
template <typename Normal>
json Encode(const Normal& batch, judge::CaseOp op, int threads, const ProgramTensors& tensors) {
  const PagedKvView& kv = batch.kv;
  const auto& inputs = tensors.inputs;
  return {{"op", NameOf(op)},
          {"threads", threads},
          {"batch", batch.batch},
          {"total_q", batch.total_q},
          {"q_heads", batch.q_heads},
          {"kv_heads", batch.kv_heads},
          {"head_dim", batch.head_dim},
          {"head_dim_v", batch.head_dim_v},
          {"page_size", kv.page_size},
          {"num_pages", kv.num_pages},
          {"dtype", NameOf(kv.dtype)},
          {"window_left", batch.window_left},
          {"window_right", batch.window_right},
          {"q_begin", batch.q_begin},
          {"kv_len", batch.kv_len},
          {"page_begin", batch.page_begin},
          {"page_ids", batch.page_ids},
          {"q", Encode(inputs[kInputQ].front())},
          {"k", Encode(inputs[kInputK], kv.k_page_stride, kv.k_slot_stride, kv.k_head_stride)},
          {"v", Encode(inputs[kInputV], kv.v_page_stride, kv.v_slot_stride, kv.v_head_stride)},
          {"out", Encode(tensors.out)}};
}

std::string Message(json prepare) { return json{{"prepare", std::move(prepare)}}.dump(); }

}  // namespace

std::string PrepareMessage(const NormalBatch& batch, const SoftmaxCall& call, int threads,
                           const ProgramTensors& tensors) {
  json prepare = Encode(batch, judge::CaseOp::kSoftmaxPaged, threads, tensors);
  prepare.update({{"scale", batch.scale},
                  {"causal", batch.causal},
                  {"softcap", batch.softcap},
                  {"alibi_slopes", FloatsOrNull(call.alibi_slopes)},
                  {"sinks", FloatsOrNull(call.sinks)},
                  {"lse", tensors.lse ? Encode(*tensors.lse) : json()}});
  return Message(std::move(prepare));
}

std::string PrepareMessage(const NormalHstuBatch& batch, const HstuCall& call, int threads,
                           const ProgramTensors& tensors) {
  if (!batch.paged) throw Error(ErrorCode::kUnsupported, "table", "is missing: a program gets paged keys");
  json prepare = Encode(batch, judge::CaseOp::kHstuPaged, threads, tensors);
  prepare.update({{"mask", NameOfMask(batch)},
                  {"alpha", batch.alpha},
                  {"silu_scale", batch.scale},
                  {"target_group", batch.group_size},
                  {"max_attn_len", batch.max_attn_len},
                  {"min_full_attn_seq_len", batch.min_full_attn_seq_len},
                  {"history", batch.history},
                  {"contextual", batch.contextual},
                  {"target_k", EncodeOrNull(tensors.inputs[kInputTargetK])},
                  {"target_v", EncodeOrNull(tensors.inputs[kInputTargetV])},
                  {"rab", EncodeRab(tensors.inputs[kInputRab], call.rab)}});
  return Message(std::move(prepare));
}

}  // namespace pagoda::app

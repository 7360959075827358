// A plug-in for `pagoda bench`: one variant of softmax attention, as plain as it can be. Copy this file, make
// it fast, and have it judged:
//   g++ -std=c++20 -O3 -march=native -shared -fPIC -I include examples/plugin.cc -o mine.so
//   pagoda bench llm --variants spmd_paged_attention_highperf,./mine.so
#include "pagoda/plugin.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

float Load(const void* data, pagoda_dtype dtype, int64_t i) {
  if (dtype == PAGODA_F32) return static_cast<const float*>(data)[i];
  return std::bit_cast<float>(static_cast<uint32_t>(static_cast<const uint16_t*>(data)[i]) << 16);
}

void Store(void* data, pagoda_dtype dtype, int64_t i, float x) {
  if (dtype == PAGODA_F32) {
    static_cast<float*>(data)[i] = x;
    return;
  }
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t to_nearest_even = 0x7fff + ((bits >> 16) & 1);
  static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>((bits + to_nearest_even) >> 16);
}

struct Work {
  const pagoda_softmax_batch* batch;
  const pagoda_softmax_call* call;
};

// One row of one head: scores, softmax, weighted sum of V, with a running maximum.
void Attend(const Work& work, int64_t b, int64_t row, int64_t head) {
  const pagoda_softmax_batch& s = *work.batch;
  const pagoda_softmax_call& c = *work.call;
  const int64_t kv_head = head / (s.q_heads / s.kv_heads);
  const int64_t keys = s.kv_len[b];
  const int64_t position = keys - (s.q_begin[b + 1] - s.q_begin[b]) + (row - s.q_begin[b]);
  int64_t first = 0, end = keys;
  if (s.causal != 0 && end > position + 1) end = position + 1;
  if (s.window_left >= 0 && s.window_left < position) first = position - s.window_left;
  if (s.window_right >= 0 && s.window_right < keys - position - 1) {
    end = end < position + s.window_right + 1 ? end : position + s.window_right + 1;
  }

  float largest = c.sinks != nullptr ? c.sinks[head] : -std::numeric_limits<float>::infinity();
  float sum = c.sinks != nullptr ? 1.0F : 0.0F;
  std::vector<float> out(static_cast<size_t>(s.head_dim_v), 0.0F);
  const int64_t q_at = row * c.q_row_stride + head * c.q_head_stride;
  for (int64_t j = first; j < end; ++j) {
    const int64_t page = s.page_ids[s.page_begin[b] + j / s.page_size];
    const int64_t slot = j % s.page_size;
    const int64_t k_at = page * s.k_page_stride + slot * s.k_slot_stride + kv_head * s.k_head_stride;
    const int64_t v_at = page * s.v_page_stride + slot * s.v_slot_stride + kv_head * s.v_head_stride;
    float dot = 0;
    for (int64_t d = 0; d < s.head_dim; ++d)
      dot += Load(c.q, s.dtype, q_at + d) * Load(c.k, s.dtype, k_at + d);
    float score = s.scale * dot;
    if (s.softcap > 0) score = s.softcap * std::tanh(score / s.softcap);
    if (c.alibi_slopes != nullptr) score += c.alibi_slopes[head] * static_cast<float>(j - position);
    if (score > largest) {
      const float shrink = std::exp(largest - score);
      sum *= shrink;
      for (float& x : out) x *= shrink;
      largest = score;
    }
    const float weight = std::exp(score - largest);
    sum += weight;
    for (int64_t d = 0; d < s.head_dim_v; ++d)
      out[static_cast<size_t>(d)] += weight * Load(c.v, s.dtype, v_at + d);
  }
  const int64_t out_at = row * c.out_row_stride + head * c.out_head_stride;
  for (int64_t d = 0; d < s.head_dim_v; ++d) {
    Store(c.out, c.out_dtype, out_at + d, sum > 0 ? out[static_cast<size_t>(d)] / sum : 0.0F);
  }
  if (c.lse != nullptr) c.lse[row * c.lse_row_stride + head * c.lse_head_stride] = largest + std::log(sum);
}

void Task(void* arg, int64_t index, int32_t /*worker*/) {
  const Work& work = *static_cast<const Work*>(arg);
  const int64_t row = index / work.batch->q_heads;
  int64_t b = 0;
  while (work.batch->q_begin[b + 1] <= row) ++b;
  Attend(work, b, row, index % work.batch->q_heads);
}

const char* Supports(const pagoda_softmax_batch* batch) {
  return batch->dtype == PAGODA_F16 ? "f16 is not done yet, only f32 and bf16" : nullptr;
}

const char* Run(const void* /*plan*/, const pagoda_softmax_batch* batch, const pagoda_softmax_call* call) {
  if (call->out_dtype == PAGODA_F16) return "the output can't be f16";
  Work work = {batch, call};
  call->pool->run(call->pool->pool, batch->total_q * batch->q_heads, Task, &work);
  return nullptr;
}

const pagoda_softmax_variant kVariants[] = {{
    .name = "plain",
    .summary = "one task for each row and head, one key after the other",
    .promises = PAGODA_REPEATABLE | PAGODA_THREAD_INVARIANT | PAGODA_BATCH_INVARIANT,
    .supports = Supports,
    .plan = nullptr,
    .run = Run,
    .destroy = nullptr,
}};

const pagoda_plugin_info kPlugin = {PAGODA_PLUGIN_ABI, 1, kVariants};

}  // namespace

extern "C" const pagoda_plugin_info* pagoda_plugin(void) { return &kPlugin; }

#include "app/subjects/shared_call.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "app/subjects/fault.h"

namespace pagoda::app {
namespace {

// From the first to the last byte of one of the two; of interleaved pages this holds the other's too.
size_t CacheBytes(const PagedKvView& kv, int64_t page_stride, int64_t slot_stride, int64_t head_stride,
                  int64_t dim) {
  if (kv.num_pages == 0) return 0;
  const int64_t last_row =
      (kv.num_pages - 1) * page_stride + (kv.page_size - 1) * slot_stride + (kv.kv_heads - 1) * head_stride;
  return static_cast<size_t>((last_row + dim) * SizeOf(kv.dtype));
}

size_t KeyBytes(const PagedKvView& kv) {
  return CacheBytes(kv, kv.k_page_stride, kv.k_slot_stride, kv.k_head_stride, kv.head_dim);
}
size_t ValueBytes(const PagedKvView& kv) {
  return CacheBytes(kv, kv.v_page_stride, kv.v_slot_stride, kv.v_head_stride, kv.head_dim_v);
}

// Calls f(row of the tensor, the same row of a dense copy, bytes) for each row of [rows, heads, dim].
template <typename F>
void ForEachRow(const TensorView& t, std::byte* dense, F f) {
  const auto bytes = static_cast<size_t>(t.shape[2] * SizeOf(t.dtype));
  auto* const strided = static_cast<std::byte*>(t.data);
  for (int64_t row = 0; row < t.shape[0]; ++row) {
    for (int64_t head = 0; head < t.shape[1]; ++head, dense += bytes) {
      f(strided + (row * t.strides[0] + head * t.strides[1]) * SizeOf(t.dtype), dense, bytes);
    }
  }
}

// The LSE as rows of one element.
TensorView AsRows(const TensorView& lse) {
  TensorView rows = lse;
  rows.rank = 3;
  rows.shape[2] = 1;
  rows.strides[2] = 1;
  return rows;
}

void RequireSame(bool same, const char* name) {
  if (!same) throw Fault(fmt::format("an input was written to: {}", name));
}

}  // namespace

void RequireWholeGuards(const Buffer& buffer, const char* name) {
  if (const auto damage = buffer.FindDamage()) {
    throw Fault(fmt::format("out-of-bounds write at the {}: {}", name, damage->Describe(buffer.size())));
  }
}

SharedCall::SharedCall(const NormalBatch& batch, bool with_lse) : with_lse_(with_lse) {
  const int64_t cells = batch.total_q * batch.q_heads;
  const int64_t size = SizeOf(batch.kv.dtype);
  q_ = Buffer(cells * batch.head_dim * size, Guards::kNone, Memory::kShared);
  k_ = Buffer(KeyBytes(batch.kv), Guards::kNone, Memory::kShared);
  v_ = Buffer(ValueBytes(batch.kv), Guards::kNone, Memory::kShared);
  out_ = Buffer(cells * batch.head_dim_v * size, Guards::kBoth, Memory::kShared);
  lse_ = Buffer(with_lse ? cells * sizeof(float) : 0, Guards::kBoth, Memory::kShared);
}

ProgramTensors SharedCall::tensors() const {
  ProgramTensors tensors{.q = q_.PlaceOf(q_.data()),
                         .k = {k_.PlaceOf(k_.data())},
                         .v = {v_.PlaceOf(v_.data())},
                         .out = out_.PlaceOf(out_.data()),
                         .lse = {}};
  if (with_lse_) tensors.lse = lse_.PlaceOf(lse_.data());
  return tensors;
}

void SharedCall::Fill(const SoftmaxCall& call) {
  ForEachRow(call.q, q_.data(),
             [](const std::byte* from, std::byte* to, size_t n) { std::memcpy(to, from, n); });
  if (k_.size() > 0) std::memcpy(k_.data(), call.kv.k, k_.size());
  if (v_.size() > 0) std::memcpy(v_.data(), call.kv.v, v_.size());
  for (Buffer* buffer : {&out_, &lse_}) {
    if (buffer->size() > 0) std::memset(buffer->data(), 0xff, buffer->size());
    buffer->RestoreGuards();
  }
}

void SharedCall::RequireUndamaged(const SoftmaxCall& call) const {
  RequireWholeGuards(out_, "output");
  RequireWholeGuards(lse_, "lse");
  bool same_q = true;
  ForEachRow(call.q, const_cast<std::byte*>(q_.data()),
             [&](const std::byte* a, const std::byte* b, size_t n) {
               same_q = same_q && std::memcmp(a, b, n) == 0;
             });
  RequireSame(same_q, "q");
  RequireSame(std::memcmp(k_.data(), call.kv.k, k_.size()) == 0, "K");
  RequireSame(std::memcmp(v_.data(), call.kv.v, v_.size()) == 0, "V");
}

void SharedCall::TakeOutput(const SoftmaxCall& call) const {
  const auto take = [](std::byte* to, const std::byte* from, size_t n) { std::memcpy(to, from, n); };
  ForEachRow(call.out, const_cast<std::byte*>(out_.data()), take);
  if (with_lse_ && !call.lse.empty()) {
    ForEachRow(AsRows(call.lse), const_cast<std::byte*>(lse_.data()), take);
  }
}

}  // namespace pagoda::app

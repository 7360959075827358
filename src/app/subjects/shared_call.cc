#include "app/subjects/shared_call.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "app/subjects/fault.h"

namespace pagoda::app {
namespace {

// Calls f(row of the tensor, the same row of a dense copy, bytes) for each row of [rows, heads, dim].
template <typename F>
void ForEachRow(const TensorView& t, std::byte* dense, F f) {
  const auto bytes = static_cast<size_t>(t.shape[2] * SizeOf(t.dtype));
  if (bytes == 0) return;
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

// Unless it has that size already; shared memory has an address even of 0 bytes.
void MakeShared(Buffer& buffer, size_t bytes, Guards guards) {
  if (buffer.data() != nullptr && buffer.size() == bytes) return;
  buffer = Buffer(bytes, guards, Memory::kShared);
}

}  // namespace

void RequireWholeGuards(const Buffer& buffer, const char* name) {
  if (const auto damage = buffer.FindDamage()) {
    throw Fault(fmt::format("out-of-bounds write at the {}: {}", name, damage->Describe(buffer.size())));
  }
}

void SharedCall::MakeRoom(const CallInputs& inputs, const OutputShape& out, bool with_lse) {
  for (size_t i = 0; i < kCallInputs; ++i) {
    const TensorView& t = inputs[i];
    if (t.empty()) {
      inputs_[i] = Buffer();
    } else {
      MakeShared(inputs_[i], static_cast<size_t>(t.elements() * SizeOf(t.dtype)), Guards::kNone);
    }
  }
  const int64_t cells = out.rows * out.heads;
  const int64_t out_bytes = cells * out.dim * SizeOf(inputs[kInputQ].dtype);
  MakeShared(out_, static_cast<size_t>(out_bytes), Guards::kBoth);
  if (with_lse) MakeShared(lse_, static_cast<size_t>(cells) * sizeof(float), Guards::kBoth);
}

ProgramTensors SharedCall::tensors() const {
  ProgramTensors tensors;
  for (size_t i = 0; i < kCallInputs; ++i) {
    const Buffer& input = inputs_[i];
    if (input.data() != nullptr) tensors.inputs[i].push_back(input.PlaceOf(input.data()));
  }
  tensors.out = out_.PlaceOf(out_.data());
  if (lse_.data() != nullptr) tensors.lse = lse_.PlaceOf(lse_.data());
  return tensors;
}

void SharedCall::Fill(const CallInputs& inputs) {
  for (size_t i = 0; i < kCallInputs; ++i) {
    ForEachRow(inputs[i], inputs_[i].data(),
               [](const std::byte* from, std::byte* to, size_t n) { std::memcpy(to, from, n); });
  }
  for (Buffer* buffer : {&out_, &lse_}) {
    if (buffer->size() > 0) std::memset(buffer->data(), 0xff, buffer->size());
    buffer->RestoreGuards();
  }
}

void SharedCall::RequireUndamaged(const CallInputs& inputs) const {
  RequireWholeGuards(out_, "output");
  RequireWholeGuards(lse_, "lse");
  for (size_t i = 0; i < kCallInputs; ++i) {
    bool same = true;
    ForEachRow(
        inputs[i], const_cast<std::byte*>(inputs_[i].data()),
        [&](const std::byte* a, const std::byte* b, size_t n) { same = same && std::memcmp(a, b, n) == 0; });
    if (!same) throw Fault(fmt::format("an input was written to: {}", NameOf(static_cast<CallInput>(i))));
  }
}

void SharedCall::TakeOutput(const TensorView& out, const TensorView& lse) const {
  const auto take = [](std::byte* to, const std::byte* from, size_t n) { std::memcpy(to, from, n); };
  ForEachRow(out, const_cast<std::byte*>(out_.data()), take);
  if (lse_.data() != nullptr && !lse.empty()) {
    ForEachRow(AsRows(lse), const_cast<std::byte*>(lse_.data()), take);
  }
}

}  // namespace pagoda::app

#include "app/subjects/guarded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "app/subjects/elements.h"

namespace pagoda::app {
namespace {

// All bits set is NaN in every float type.
void FillWithNaN(Buffer& buffer) {
  if (buffer.size() > 0) std::memset(buffer.data(), 0xff, buffer.size());
}

std::string NameOfElement(const TensorView& t, int64_t flat) {
  if (t.rank == 2) return fmt::format("lse[{}][{}]", flat / t.shape[1], flat % t.shape[1]);
  const int64_t row = flat / (t.shape[1] * t.shape[2]);
  return fmt::format("o[{}][{}][{}]", row, flat / t.shape[2] % t.shape[1], flat % t.shape[2]);
}

double At(const TensorView& t, int64_t flat) { return ReadElement(t.data, t.dtype, flat); }

}  // namespace

GuardedOutput::GuardedOutput(const OutputShape& shape, DType out_dtype, bool with_lse,
                             size_t workspace_bytes) {
  const int64_t cells = shape.rows * shape.heads;
  out_data_ = Buffer(cells * shape.dim * SizeOf(out_dtype), Guards::kBoth);
  lse_data_ = Buffer(with_lse ? cells * SizeOf(DType::kF32) : 0, Guards::kBoth);
  workspace_ = Buffer(workspace_bytes, Guards::kBoth);
  out_ = TensorView::Dense(out_data_.data(), out_dtype, {shape.rows, shape.heads, shape.dim});
  if (with_lse) lse_ = TensorView::Dense(lse_data_.data(), DType::kF32, {shape.rows, shape.heads});
}

void GuardedOutput::Poison() {
  FillWithNaN(out_data_);
  FillWithNaN(lse_data_);
  FillWithNaN(workspace_);
}

std::vector<const TensorView*> GuardedOutput::Outputs() const {
  if (lse_.empty()) return {&out_};
  return {&out_, &lse_};
}

std::vector<std::byte> GuardedOutput::OutputBytes() const {
  std::vector<std::byte> bytes(out_data_.data(), out_data_.data() + out_data_.size());
  bytes.insert(bytes.end(), lse_data_.data(), lse_data_.data() + lse_data_.size());
  return bytes;
}

bool GuardedOutput::HasOutputOf(const std::vector<std::byte>& bytes) const {
  return bytes.size() == out_data_.size() + lse_data_.size() &&
         std::equal(out_data_.data(), out_data_.data() + out_data_.size(), bytes.data());
}

std::optional<std::string> GuardedOutput::Damage() const {
  const std::pair<const char*, const Buffer*> buffers[] = {
      {"output", &out_data_}, {"lse", &lse_data_}, {"workspace", &workspace_}};
  for (const auto& [name, buffer] : buffers) {
    if (const auto damage = buffer->FindDamage()) {
      return fmt::format("out-of-bounds write at the {}: {}", name, damage->Describe(buffer->size()));
    }
  }
  return std::nullopt;
}

std::optional<std::string> GuardedOutput::FirstNotFinite() const {
  for (const TensorView* t : Outputs()) {
    for (int64_t i = 0; i < t->elements(); ++i) {
      const double value = At(*t, i);
      if (std::isnan(value)) return NameOfElement(*t, i) + " is NaN";
      // The LSE of a row without a key is.
      if (t == &out_ && std::isinf(value)) return NameOfElement(*t, i) + " is infinite";
    }
  }
  return std::nullopt;
}

std::optional<std::string> GuardedOutput::FirstUnwritten() const {
  for (const TensorView* t : Outputs()) {
    const auto size = static_cast<size_t>(SizeOf(t->dtype));
    const auto* bytes = static_cast<const std::byte*>(t->data);
    for (int64_t i = 0; i < t->elements(); ++i) {
      const bool poison = std::all_of(bytes + i * size, bytes + (i + 1) * size,
                                      [](std::byte byte) { return byte == std::byte{0xff}; });
      if (poison) return NameOfElement(*t, i);
    }
  }
  return std::nullopt;
}

std::string GuardedOutput::FirstDifference(const std::vector<std::byte>& bytes) const {
  size_t start = 0;
  for (const TensorView* t : Outputs()) {
    const auto size = static_cast<size_t>(SizeOf(t->dtype));
    for (int64_t i = 0; i < t->elements(); ++i) {
      alignas(double) std::byte before[sizeof(double)] = {};
      std::memcpy(before, bytes.data() + start + i * size, size);
      if (std::memcmp(static_cast<const std::byte*>(t->data) + i * size, before, size) == 0) continue;
      return fmt::format("not the same bits: {} = {:.9g}, before {:.9g}", NameOfElement(*t, i), At(*t, i),
                         ReadElement(before, t->dtype, 0));
    }
    start += t->elements() * size;
  }
  return "not the same bits";
}

std::optional<std::string> GuardedOutput::FirstDifference(const GuardedOutput& whole,
                                                          std::span<const int64_t> rows) const {
  const std::pair<const TensorView*, const TensorView*> pairs[] = {{&out_, &whole.out_},
                                                                   {&lse_, &whole.lse_}};
  for (const auto& [mine, theirs] : pairs) {
    const auto size = static_cast<size_t>(SizeOf(mine->dtype));
    const int64_t per_row = mine->strides[0];
    for (int64_t row = 0; row < std::ssize(rows); ++row) {
      for (int64_t i = 0; i < per_row; ++i) {
        const int64_t a = row * per_row + i;
        const int64_t b = rows[row] * per_row + i;
        if (std::memcmp(static_cast<const std::byte*>(mine->data) + a * size,
                        static_cast<const std::byte*>(theirs->data) + b * size, size) == 0) {
          continue;
        }
        return fmt::format("not the same bits: {} = {:.9g}, {} = {:.9g}", NameOfElement(*mine, a),
                           At(*mine, a), NameOfElement(*theirs, b), At(*theirs, b));
      }
    }
  }
  return std::nullopt;
}

}  // namespace pagoda::app

#include "engine/kv/cache.h"

#include <fmt/format.h>

#include <cstring>

namespace pagoda::testing {
namespace {

// [.., rows of `dim`] with `gap` elements behind each row, slot group and page.
TensorView Strided(std::byte* data, DType dtype, std::initializer_list<int64_t> shape, int64_t gap) {
  TensorView view = TensorView::Dense(data, dtype, shape);
  int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.strides[d] = stride;
    stride = stride * view.shape[d] + gap;
  }
  return view;
}

int64_t Extent(const TensorView& view) { return view.strides[0] * view.shape[0]; }

}  // namespace

std::string CacheShape::Describe() const {
  return fmt::format("{} pages of {} x {} heads, dims {}/{}, hnd={} combined={} {} gap {}", pages, page_size,
                     heads, dim, dim_v, hnd, combined, NameOf(dtype), gap);
}

std::vector<CacheShape> EveryCacheShape() {
  std::vector<CacheShape> shapes;
  for (const bool hnd : {false, true}) {
    for (const bool combined : {false, true}) {
      for (const DType dtype : {DType::kF32, DType::kBF16}) {
        for (const int64_t gap : {0, 3}) {
          CacheShape shape;
          shape.hnd = hnd;
          shape.combined = combined;
          shape.dtype = dtype;
          shape.gap = gap;
          if (combined) shape.dim_v = shape.dim;
          shapes.push_back(shape);
        }
      }
    }
  }
  return shapes;
}

Cache::Cache(const CacheShape& s) : shape_(s) {
  const auto layout = s.hnd ? KvLayout::kHND : KvLayout::kNHD;
  const int64_t outer = s.hnd ? s.heads : s.page_size;
  const int64_t inner = s.hnd ? s.page_size : s.heads;
  const int64_t size = SizeOf(s.dtype);
  if (s.combined) {
    const auto build = [&](std::byte* data) {
      return Strided(data, s.dtype, {s.pages, 2, outer, inner, s.dim}, s.gap);
    };
    const int64_t elements = Extent(build(nullptr));
    memory_.resize(elements * size);
    view_ = PagedKvView::Combined(build(memory_.data()), layout);
    v_begin_ = (static_cast<std::byte*>(view_.v) - memory_.data()) / size;
  } else {
    const auto build = [&](std::byte* data, int64_t dim) {
      return Strided(data, s.dtype, {s.pages, outer, inner, dim}, s.gap);
    };
    v_begin_ = Extent(build(nullptr, s.dim));
    memory_.resize((v_begin_ + Extent(build(nullptr, s.dim_v))) * size);
    view_ = PagedKvView::Split(build(memory_.data(), s.dim), build(memory_.data() + v_begin_ * size, s.dim_v),
                               layout);
  }
  for (int64_t i = 0; i < static_cast<int64_t>(memory_.size()) / size; ++i)
    Set(i, static_cast<uint32_t>(i + 1));
}

const std::vector<uint32_t>& Cache::bits() const {
  const int64_t size = SizeOf(shape_.dtype);
  bits_.assign(memory_.size() / size, 0);
  for (size_t i = 0; i < bits_.size(); ++i) std::memcpy(&bits_[i], memory_.data() + i * size, size);
  return bits_;
}

int64_t Cache::At(bool value, int64_t page, int64_t slot, int64_t head, int64_t d) const {
  return value ? v_begin_ + page * view_.v_page_stride + slot * view_.v_slot_stride +
                     head * view_.v_head_stride + d
               : page * view_.k_page_stride + slot * view_.k_slot_stride + head * view_.k_head_stride + d;
}

void Cache::Set(int64_t at, uint32_t bits) {
  const int64_t size = SizeOf(shape_.dtype);
  std::memcpy(memory_.data() + at * size, &bits, size);
}

}  // namespace pagoda::testing

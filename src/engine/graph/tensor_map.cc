#include "engine/graph/tensor_map.h"

#include <bit>

namespace pagoda::graph {
namespace {

constexpr size_t kFirstSlots = 64;

// Bases are aligned and close together: the multiplication spreads what differs in them over the upper bits.
size_t SlotOf(const void* base, size_t slots) {
  const uint64_t hash = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(base)) * 0x9E3779B97F4A7C15;
  return static_cast<size_t>(hash >> (64 - std::countr_zero(slots)));
}

}  // namespace

TensorMap::Buffer& TensorMap::BufferAt(const void* base) {
  if (2 * static_cast<size_t>(used_) >= by_base_.size()) Grow();
  size_t slot = SlotOf(base, by_base_.size());
  while (by_base_[slot] != nullptr && by_base_[slot]->base != base) slot = (slot + 1) & (by_base_.size() - 1);
  if (by_base_[slot] == nullptr) {
    by_base_[slot] = &buffers_.emplace_back(Buffer{.base = base});
    ++used_;
  }
  return *by_base_[slot];
}

void TensorMap::Clear() {
  buffers_.clear();
  by_base_.clear();
  used_ = accesses_ = 0;
}

void TensorMap::Grow() {
  by_base_.assign(by_base_.empty() ? kFirstSlots : 2 * by_base_.size(), nullptr);
  for (Buffer& buffer : buffers_) {
    size_t slot = SlotOf(buffer.base, by_base_.size());
    while (by_base_[slot] != nullptr) slot = (slot + 1) & (by_base_.size() - 1);
    by_base_[slot] = &buffer;
  }
}

void TensorMap::Insert(Access& access, Buffer& buffer) {
  Access*& newest = access.writes ? buffer.writes : buffer.reads;
  access.buffer_ = &buffer;
  access.newer_ = nullptr;
  access.older_ = newest;
  if (newest != nullptr) newest->newer_ = &access;
  newest = &access;
  ++accesses_;
}

void TensorMap::Remove(Access& access) {
  if (access.buffer_ == nullptr) return;
  Access*& newest = access.writes ? access.buffer_->writes : access.buffer_->reads;
  (access.newer_ == nullptr ? newest : access.newer_->older_) = access.older_;
  if (access.older_ != nullptr) access.older_->newer_ = access.newer_;
  access.buffer_ = nullptr;
  --accesses_;
}

}  // namespace pagoda::graph

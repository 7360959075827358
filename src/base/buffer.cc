#include "base/buffer.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "pagoda/status.h"

namespace pagoda {
namespace {

// Differs from byte to byte, so that a fill with any one value is seen, and so is a copy of the neighbour.
constexpr std::byte GuardByte(int64_t offset) {
  const auto mixed = static_cast<uint64_t>(offset) * 0x9e3779b97f4a7c15U;
  return static_cast<std::byte>(mixed >> 56);
}

}  // namespace

std::string GuardDamage::Describe(size_t size) const {
  if (offset < 0) return fmt::format("byte {} before the start of {} was overwritten", -offset, size);
  return fmt::format("byte {} past the end of {} was overwritten", offset - static_cast<int64_t>(size), size);
}

void Buffer::FreeAligned::operator()(std::byte* p) const { std::free(p); }

Buffer::Buffer(size_t size, Guards guards, Memory memory)
    : size_(size), guard_bytes_(guards == Guards::kBoth ? kGuardBytes : 0) {
  constexpr size_t kMost = std::numeric_limits<ptrdiff_t>::max() - 4 * kGuardBytes;
  if (memory == Memory::kShared) {
    shared_ = sys::SharedMemory(size <= kMost ? size + 2 * guard_bytes_ : size);
    data_ = shared_.data() + guard_bytes_;
  } else if (size >= sys::kHugePage) {
    map_ = sys::AnonymousMap(guard_bytes_, size <= kMost ? size + guard_bytes_ : size);
    data_ = map_.data();
  } else {
    size_t whole = size + 2 * guard_bytes_;
    whole = (whole + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    if (whole == 0) whole = kBufferAlignment;
    small_.reset(static_cast<std::byte*>(std::aligned_alloc(kBufferAlignment, whole)));
    if (small_ == nullptr) {
      throw Error(ErrorCode::kInvalidArgument, "buffer",
                  fmt::format("of {} bytes could not be allocated; free memory", size));
    }
    std::memset(small_.get(), 0, whole);
    data_ = small_.get() + guard_bytes_;
  }
  RestoreGuards();
}

Buffer::Buffer(Buffer&& other) noexcept
    : small_(std::move(other.small_)),
      map_(std::move(other.map_)),
      shared_(std::move(other.shared_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      guard_bytes_(std::exchange(other.guard_bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(small_, other.small_);
  std::swap(map_, other.map_);
  std::swap(shared_, other.shared_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(guard_bytes_, other.guard_bytes_);
  return *this;
}

Buffer::~Buffer() = default;

FilePlace Buffer::PlaceOf(const void* p) const {
  return {shared_.path(), static_cast<const std::byte*>(p) - shared_.data()};
}

void Buffer::RestoreGuards() {
  const auto guard = static_cast<int64_t>(guard_bytes_);
  const auto end = static_cast<int64_t>(size_);
  for (int64_t i = -guard; i < 0; ++i) data_[i] = GuardByte(i);
  for (int64_t i = end; i < end + guard; ++i) data_[i] = GuardByte(i);
}

std::optional<GuardDamage> Buffer::FindDamage() const {
  const auto guard = static_cast<int64_t>(guard_bytes_);
  const auto end = static_cast<int64_t>(size_);
  for (int64_t i = -guard; i < 0; ++i) {
    if (data_[i] != GuardByte(i)) return GuardDamage{i};
  }
  for (int64_t i = end; i < end + guard; ++i) {
    if (data_[i] != GuardByte(i)) return GuardDamage{i};
  }
  return std::nullopt;
}

}  // namespace pagoda

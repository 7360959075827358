#include "base/sys/anonymous_map.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "base/round_up.h"
#include "pagoda/status.h"

namespace pagoda::sys {
namespace {

constexpr size_t kPage = 4096;

[[noreturn]] void ThrowNoRoom(size_t bytes, const char* why) {
  throw Error(ErrorCode::kInvalidArgument, "buffer",
              fmt::format("of {} bytes could not be mapped ({}); ask for less or free memory", bytes, why));
}

}  // namespace

AnonymousMap::AnonymousMap(size_t before, size_t bytes) {
  constexpr size_t kMost = std::numeric_limits<ptrdiff_t>::max() - 4 * kHugePage;
  if (bytes > kMost || before > kHugePage) ThrowNoRoom(bytes, "more than the address space");
  const size_t head = RoundUp(before, kPage);
  const size_t length = RoundUp(bytes, kPage);
  const size_t asked = head + length + kHugePage;
  void* map = mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) ThrowNoRoom(bytes, std::strerror(errno));

  auto* const begin = static_cast<std::byte*>(map);
  const size_t skip = RoundUp(reinterpret_cast<uintptr_t>(begin) + head, kHugePage) -
                      reinterpret_cast<uintptr_t>(begin) - head;
  base_ = begin + skip;
  mapped_ = head + length;
  data_ = base_ + head;
  if (skip > 0) munmap(begin, skip);
  const size_t left_over = asked - skip - mapped_;
  if (left_over > 0) munmap(base_ + mapped_, left_over);
  huge_pages_asked_ = madvise(data_, length, MADV_HUGEPAGE) == 0;
}

AnonymousMap::AnonymousMap(AnonymousMap&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      huge_pages_asked_(std::exchange(other.huge_pages_asked_, false)) {}

AnonymousMap& AnonymousMap::operator=(AnonymousMap&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(mapped_, other.mapped_);
  std::swap(data_, other.data_);
  std::swap(huge_pages_asked_, other.huge_pages_asked_);
  return *this;
}

AnonymousMap::~AnonymousMap() {
  if (base_ != nullptr) munmap(base_, mapped_);
}

}  // namespace pagoda::sys

// Zeroed memory straight from the kernel.
#pragma once

#include <cstddef>

namespace pagoda::sys {

inline constexpr size_t kHugePage = size_t{2} << 20;

// Maps [data - before, data + bytes), with data on a multiple of 2 MB, and asks for huge pages. Pages get
// memory when they are first written.
class AnonymousMap {
 public:
  AnonymousMap() = default;
  // Throws Error(buffer) when the system has no room.
  AnonymousMap(size_t before, size_t bytes);
  AnonymousMap(AnonymousMap&& other) noexcept;
  AnonymousMap& operator=(AnonymousMap&& other) noexcept;
  ~AnonymousMap();

  std::byte* data() const { return data_; }
  bool huge_pages_asked() const { return huge_pages_asked_; }  // and not refused

 private:
  std::byte* base_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  bool huge_pages_asked_ = false;
};

}  // namespace pagoda::sys

// Owning, aligned, zeroed memory, with guard bytes that tell of writes out of bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/sys/anonymous_map.h"
#include "base/sys/shared_memory.h"

namespace pagoda {

inline constexpr size_t kBufferAlignment = 64;

enum class Guards : uint8_t { kNone, kBoth };
enum class Memory : uint8_t { kPrivate, kShared };

// Where another process finds a place in shared memory.
struct FilePlace {
  std::string path;
  int64_t offset = 0;  // bytes from the start of the file
};

// The first guard byte that does not hold what was put there.
struct GuardDamage {
  int64_t offset = 0;                       // from data(): negative before the buffer, >= size() behind it
  std::string Describe(size_t size) const;  // "byte 5 past the end of 128 was overwritten"
};

// `size` bytes, aligned to 64 bytes. From 2 MB on they are mapped on their own, aligned to 2 MB, with huge
// pages asked for, and pages that were never written take no memory. Shared memory is a file of its own,
// guards included.
class Buffer {
 public:
  static constexpr size_t kGuardBytes =
      4096;  // on either side: a page of head dim 512 in f32 run past its end

  Buffer() = default;
  // Throws Error(buffer) when there is no such room.
  explicit Buffer(size_t size, Guards guards = Guards::kNone, Memory memory = Memory::kPrivate);
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;
  ~Buffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  bool huge_pages_asked() const { return map_.huge_pages_asked(); }

  // Of a byte of this buffer, which must be of shared memory.
  FilePlace PlaceOf(const void* p) const;

  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }
  // As many whole T as fit.
  template <typename T>
  std::span<T> span() {
    return {as<T>(), size_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> span() const {
    return {as<T>(), size_ / sizeof(T)};
  }

  // Nothing when both guards are whole, or when there are none.
  std::optional<GuardDamage> FindDamage() const;
  // Puts the guard bytes back.
  void RestoreGuards();

 private:
  struct FreeAligned {
    void operator()(std::byte* p) const;
  };

  std::unique_ptr<std::byte, FreeAligned> small_;
  sys::AnonymousMap map_;
  sys::SharedMemory shared_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t guard_bytes_ = 0;
};

}  // namespace pagoda

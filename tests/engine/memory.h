// Memory that shows where a kernel should not have gone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pagoda::testing {

// An anonymous mapping; unmapped at the end.
class Mapping {
 public:
  Mapping() = default;
  explicit Mapping(size_t bytes);  // not accessible yet
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// `bytes` zeroed bytes that end where the next access faults. Aligned to the largest power of two that
// divides `bytes`.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes);

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  Mapping mapping_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Address space of which only what is touched takes memory.
class SparseMemory {
 public:
  explicit SparseMemory(size_t bytes);
  std::byte* data() const { return mapping_.data(); }

 private:
  Mapping mapping_;
};

}  // namespace pagoda::testing

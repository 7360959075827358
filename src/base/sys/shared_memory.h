// Zeroed memory that another process can map by a path.
#pragma once

#include <cstddef>
#include <string>

namespace pagoda::sys {

// A file without a name, mapped whole. It is gone with the last process that has it open, however that ends,
// and its size can't be changed by others, so that no access of this process faults. Pages get memory when
// they are first touched.
class SharedMemory {
 public:
  SharedMemory() = default;
  // Throws Error(shared memory) when the system has no room. At least one page is mapped.
  explicit SharedMemory(size_t bytes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  std::byte* data() const { return data_; }
  // Opens the file for a process of the same user, as long as this object lives.
  std::string path() const;

 private:
  int fd_ = -1;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace pagoda::sys

#include "engine/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace pagoda::testing {
namespace {

void Check(bool ok, const char* what) {
  if (!ok) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Mapping::Mapping(size_t bytes) : size_(bytes) {
  void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  Check(at != MAP_FAILED, "mmap");
  data_ = static_cast<std::byte*>(at);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

GuardedMemory::GuardedMemory(size_t bytes) : size_(bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t inside = (bytes + page - 1) / page * page;
  mapping_ = Mapping(inside + 2 * page);
  std::byte* first = mapping_.data() + page;
  if (inside > 0) Check(mprotect(first, inside, PROT_READ | PROT_WRITE) == 0, "mprotect");
  data_ = first + inside - bytes;
}

SparseMemory::SparseMemory(size_t bytes) : mapping_(bytes) {
  // A huge page for each row that is touched would be memory after all. Kernels without huge pages refuse.
  madvise(mapping_.data(), bytes, MADV_NOHUGEPAGE);
  Check(mprotect(mapping_.data(), bytes, PROT_READ | PROT_WRITE) == 0, "mprotect");
}

}  // namespace pagoda::testing

#include "app/subjects/placed.h"

namespace pagoda::app {

Placed::Placed(int64_t count, int64_t bytes, Random& random, const InputOptions& options) {
  constexpr int64_t kMostSteps = 64;  // one small page of 4 KB
  const bool shared = options.memory == Memory::kShared;
  const size_t apart = (static_cast<size_t>(bytes) / kBufferAlignment + 1 + kMostSteps) * kBufferAlignment;
  if (shared) buffers_.emplace_back(count * apart, Guards::kNone, Memory::kShared);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t steps = options.random_offsets ? random.Between(0, kMostSteps - 1) : 0;
    const size_t offset = static_cast<size_t>(steps) * kBufferAlignment;
    if (!shared) buffers_.emplace_back(static_cast<size_t>(bytes) + offset);
    std::byte* const start = shared ? buffers_[0].data() + i * apart : buffers_.back().data();
    contents_.emplace_back(start + offset, static_cast<size_t>(bytes));
  }
}

std::optional<FilePlace> Placed::PlaceOf(const void* p) const {
  const std::byte* const begin = buffers_[0].data();
  if (p < begin || p >= begin + buffers_[0].size()) return std::nullopt;
  return buffers_[0].PlaceOf(p);
}

}  // namespace pagoda::app

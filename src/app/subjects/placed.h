// Inputs at places that vary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/random.h"

namespace pagoda::app {

struct InputOptions {
  uint64_t seed = 0;
  // Shares the first page of the first sequence with the others, or within it: legal, and a gate's business
  // only, as it makes a case cheaper.
  bool repeat_pages = false;
  // Copies of the K/V pools are made until they hold this many bytes: calls that rotate over them find the
  // caches cold.
  int64_t least_pool_bytes = 0;
  // Shifts every buffer by a multiple of 64 bytes drawn from the seed.
  bool random_offsets = false;
  // Of q and the pools, so that external programs can map them.
  Memory memory = Memory::kPrivate;
};

// Inputs of equal size, each at a random multiple of 64 bytes: in a buffer of its own or, shared, all one
// after the other in one.
class Placed {
 public:
  Placed() = default;
  Placed(int64_t count, int64_t bytes, Random& random, const InputOptions& options);

  std::span<std::byte> operator[](size_t i) const { return contents_[i]; }
  const std::vector<std::span<std::byte>>& all() const { return contents_; }
  // Of shared memory: where other processes find a byte, if it is here.
  std::optional<FilePlace> PlaceOf(const void* p) const;

 private:
  std::vector<Buffer> buffers_;
  std::vector<std::span<std::byte>> contents_;
};

}  // namespace pagoda::app

// Who touched which part of which buffer: from this the tasks that a new one has to wait for are inferred.
//
// One thread submits; nothing here is shared. An access stays in the map until its task has retired or a
// later write covers it: whoever comes then waits for that write, which itself waits for the access.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/graph/region.h"
#include "pagoda/tensor.h"

namespace pagoda::graph {

enum class Hazard : uint8_t {
  kReadAfterWrite,
  kWriteAfterRead,
  kWriteAfterWrite,
};

class TensorMap {
  struct Buffer;

 public:
  // One access of one task to one tensor; it and the tensor are the caller's and stay where they are while it
  // is in the map.
  struct Access {
    int64_t task = 0;
    const void* base = nullptr;  // of the buffer that the tensor is a part of
    const TensorView* tensor = nullptr;
    bool reads = false;
    bool writes = false;

   private:
    friend class TensorMap;
    ByteRange bytes_;
    Buffer* buffer_ = nullptr;  // null: not in the map
    Access* newer_ = nullptr;
    Access* older_ = nullptr;
  };

  TensorMap() = default;
  TensorMap(const TensorMap&) = delete;
  TensorMap& operator=(const TensorMap&) = delete;

  // Calls found(earlier access, hazard) for each access of another task that this one has to wait for, the
  // newest of a buffer first, then takes `access` in. The accesses of one task are added one after the other,
  // all before those of the next.
  template <class Found>
  void Add(Access& access, Found found) {
    access.buffer_ = nullptr;
    access.bytes_ = BytesOf(*access.tensor);
    if (access.bytes_.empty()) return;
    Buffer& buffer = BufferAt(access.base);
    for (Access* earlier = buffer.writes; earlier != nullptr;) {
      Access* const next = earlier->older_;
      Meet(*earlier, access, access.reads ? Hazard::kReadAfterWrite : Hazard::kWriteAfterWrite, found);
      earlier = next;
    }
    if (access.writes) {
      for (Access* earlier = buffer.reads; earlier != nullptr;) {
        Access* const next = earlier->older_;
        Meet(*earlier, access, Hazard::kWriteAfterRead, found);
        earlier = next;
      }
    }
    Insert(access, buffer);
  }

  // Takes an access out; nothing happens when it isn't in the map any more.
  void Remove(Access& access);
  // Forgets every access without touching it, and every buffer.
  void Clear();

  int64_t accesses() const { return accesses_; }
  int64_t buffers() const { return used_; }  // that have been seen

 private:
  // Newest first.
  struct Buffer {
    const void* base = nullptr;
    Access* writes = nullptr;  // with or without a read
    Access* reads = nullptr;
  };

  template <class Found>
  void Meet(Access& earlier, Access& access, Hazard hazard, Found& found) {
    if (!earlier.bytes_.Overlaps(access.bytes_)) return;
    const Relation relation = RelationOf(*access.tensor, *earlier.tensor);
    if (relation == Relation::kNone) return;
    if (earlier.task != access.task) found(static_cast<const Access&>(earlier), hazard);
    if (access.writes && relation == Relation::kCovers) Remove(earlier);
  }

  Buffer& BufferAt(const void* base);
  void Grow();
  void Insert(Access& access, Buffer& buffer);

  std::deque<Buffer> buffers_;    // whose addresses stay
  std::vector<Buffer*> by_base_;  // open addressing; a power of two, or none
  int64_t used_ = 0;
  int64_t accesses_ = 0;
};

}  // namespace pagoda::graph

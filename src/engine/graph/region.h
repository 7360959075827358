// What part of memory a tensor is, and how two such parts lie to each other.
#pragma once

#include <cstdint>

#include "pagoda/tensor.h"

namespace pagoda::graph {

// [begin, end) from a tensor's first byte to its last, whatever the signs of its strides; empty where it has
// no element.
struct ByteRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool empty() const { return begin == end; }
  bool Overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
  bool Holds(const ByteRange& other) const { return begin <= other.begin && other.end <= end; }
};
ByteRange BytesOf(const TensorView& tensor);

enum class Relation : uint8_t {
  kNone,      // no byte in common
  kOverlaps,  // maybe some bytes
  kCovers,    // the second lies within the first
};

// How `b` lies to `a`. Exact as to kNone where both have the same type, rank and strides and these nest, as
// those of slices of one array do: then they are boxes of one lattice. Else by their first and last bytes,
// which finds an overlap too many (of two columns, say) and never one too few. kCovers is said only where it
// is so.
Relation RelationOf(const TensorView& a, const TensorView& b);

}  // namespace pagoda::graph

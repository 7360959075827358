#include "engine/graph/region.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace pagoda::graph {
namespace {

// A dimension in which at least one of two tensors has several elements, with a stride above 0.
struct Dim {
  int64_t stride;
  int64_t a, b;  // elements of each
};

// Two boxes of one lattice, the widest stride first.
struct Lattice {
  std::array<Dim, kMaxRank> dims;
  int count = 0;
  // Of the dimensions from i on: from the first to the last element, in elements.
  std::array<int64_t, kMaxRank + 1> span_a{}, span_b{};
};

// Whether the strides nest: a step of one dimension leads past all elements of those inside it.
bool MakeLattice(const TensorView& a, const TensorView& b, Lattice& lattice) {
  for (int i = 0; i < a.rank; ++i) {
    // A dimension of one element has no step, and one of stride 0 leads nowhere.
    if (a.strides[i] == 0 || (a.shape[i] == 1 && b.shape[i] == 1)) continue;
    int at = lattice.count++;
    const int64_t stride = std::abs(a.strides[i]);
    for (; at > 0 && lattice.dims[at - 1].stride < stride; --at) lattice.dims[at] = lattice.dims[at - 1];
    lattice.dims[at] = {stride, a.shape[i], b.shape[i]};
  }
  for (int i = lattice.count - 1; i >= 0; --i) {
    const Dim& dim = lattice.dims[i];
    if (dim.stride <= std::max(lattice.span_a[i + 1], lattice.span_b[i + 1])) return false;
    lattice.span_a[i] = lattice.span_a[i + 1] + (dim.a - 1) * dim.stride;
    lattice.span_b[i] = lattice.span_b[i + 1] + (dim.b - 1) * dim.stride;
  }
  return true;
}

// How the boxes lie in the dimensions from i on, the first element of b `offset` elements behind that of a.
// Every common element says by how many steps of each dimension b is shifted; the steps inside a dimension
// are shorter than one of its own, so that there are two numbers of them to try.
Relation InLattice(const Lattice& lattice, int i, int64_t offset, bool covered) {
  if (offset > lattice.span_a[i] || -offset > lattice.span_b[i]) return Relation::kNone;
  if (i == lattice.count) return covered ? Relation::kCovers : Relation::kOverlaps;
  const Dim& dim = lattice.dims[i];
  int64_t steps = offset / dim.stride;
  if (steps * dim.stride > offset) --steps;
  Relation most = Relation::kNone;
  for (const int64_t shift : {steps, steps + 1}) {
    if (shift >= dim.a || -shift >= dim.b) continue;
    const bool inside = shift >= 0 && shift + dim.b <= dim.a;
    most = std::max(most, InLattice(lattice, i + 1, offset - shift * dim.stride, covered && inside));
  }
  return most;
}

// The stride of a dimension of one element is no part of a tensor.
bool SameStrides(const TensorView& a, const TensorView& b) {
  if (a.dtype != b.dtype || a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i) {
    if (a.strides[i] != b.strides[i] && (a.shape[i] != 1 || b.shape[i] != 1)) return false;
  }
  return true;
}

}  // namespace

ByteRange BytesOf(const TensorView& tensor) {
  int64_t first = 0;
  int64_t last = 0;
  for (int i = 0; i < tensor.rank; ++i) {
    if (tensor.shape[i] == 0) return {};
    const int64_t span = (tensor.shape[i] - 1) * tensor.strides[i];
    (span < 0 ? first : last) += span;
  }
  const auto data = reinterpret_cast<uintptr_t>(tensor.data);
  const auto size = static_cast<uintptr_t>(SizeOf(tensor.dtype));
  return {data + static_cast<uintptr_t>(first) * size, data + (static_cast<uintptr_t>(last) + 1) * size};
}

Relation RelationOf(const TensorView& a, const TensorView& b) {
  const ByteRange of_a = BytesOf(a);
  const ByteRange of_b = BytesOf(b);
  if (of_a.empty() || of_b.empty() || !of_a.Overlaps(of_b)) return Relation::kNone;
  if (a.dense() && of_a.Holds(of_b)) return Relation::kCovers;
  const auto offset = static_cast<int64_t>(of_b.begin - of_a.begin);
  Lattice lattice;
  if (SameStrides(a, b) && offset % SizeOf(a.dtype) == 0 && MakeLattice(a, b, lattice))
    return InLattice(lattice, 0, offset / SizeOf(a.dtype), true);
  return Relation::kOverlaps;
}

}  // namespace pagoda::graph

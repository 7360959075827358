#include "engine/graph/region.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "engine/graph/elements.h"

namespace pagoda::graph::testing {
namespace {

constexpr uintptr_t kBase = 1 << 20;
constexpr uintptr_t kFloat = sizeof(float);

TensorView Slice(std::vector<int64_t> array, std::vector<int64_t> from, std::vector<int64_t> shape) {
  TensorView t;
  t.rank = static_cast<int>(array.size());
  int64_t stride = 1;
  int64_t offset = 0;
  for (int d = t.rank - 1; d >= 0; --d) {
    t.shape[d] = shape[d];
    t.strides[d] = stride;
    offset += from[d] * stride;
    stride *= array[d];
  }
  t.data = Address(kBase + static_cast<uintptr_t>(offset * SizeOf(t.dtype)));
  return t;
}

TEST(Region, BytesReachFromTheFirstElementToTheLast) {
  const TensorView rows = Slice({10, 8}, {2, 3}, {4, 2});
  EXPECT_EQ(BytesOf(rows).begin, kBase + kFloat * (2 * 8 + 3));
  EXPECT_EQ(BytesOf(rows).end, kBase + kFloat * (5 * 8 + 4) + kFloat);
  TensorView backwards = rows;
  backwards.data = Address(kBase + kFloat * (5 * 8 + 4));
  backwards.strides = {-8, -1};
  EXPECT_EQ(BytesOf(backwards).begin, BytesOf(rows).begin);
  EXPECT_EQ(BytesOf(backwards).end, BytesOf(rows).end);
  EXPECT_TRUE(BytesOf(Slice({10, 8}, {2, 3}, {4, 0})).empty());
}

TEST(Region, BoxesOfOneArray) {
  const std::vector<int64_t> array = {10, 8};
  const TensorView left = Slice(array, {0, 0}, {10, 4});
  EXPECT_EQ(RelationOf(left, Slice(array, {0, 4}, {10, 4})), Relation::kNone);
  EXPECT_EQ(RelationOf(left, Slice(array, {3, 3}, {2, 2})), Relation::kOverlaps);
  EXPECT_EQ(RelationOf(left, Slice(array, {3, 1}, {2, 2})), Relation::kCovers);
  EXPECT_EQ(RelationOf(left, left), Relation::kCovers);
  EXPECT_EQ(RelationOf(Slice(array, {3, 1}, {2, 2}), left), Relation::kOverlaps);
}

TEST(Region, WhatCantBeComparedOverlapsWhereBytesDo) {
  const TensorView column = Slice({10, 8}, {0, 0}, {10, 1});
  TensorView next = Slice({20, 4}, {0, 1}, {20, 1});  // another lattice, no element in common
  EXPECT_EQ(RelationOf(column, next), Relation::kOverlaps);
  next.data = Address(kBase + kFloat * 80);
  EXPECT_EQ(RelationOf(column, next), Relation::kNone);
}

// A tensor that fills its bytes covers whatever lies in them.
TEST(Region, ADenseTensorCoversAnyLattice) {
  const TensorView all = Slice({10, 8}, {0, 0}, {10, 8});
  TensorView other = Slice({20, 4}, {0, 1}, {20, 1});
  EXPECT_EQ(RelationOf(all, other), Relation::kCovers);
  other.dtype = DType::kF16;
  EXPECT_EQ(RelationOf(all, other), Relation::kCovers);
}

std::vector<int64_t> ArbitraryArray() {
  std::vector<int64_t> array(*rc::gen::inRange<size_t>(1, 5));
  for (int64_t& n : array) n = *rc::gen::inRange<int64_t>(1, 6);
  return array;
}

// The same elements, the first dimension backwards.
void Reverse(TensorView& t) {
  const int64_t span = (t.shape[0] - 1) * t.strides[0] * SizeOf(t.dtype);
  t.data = Address(reinterpret_cast<uintptr_t>(t.data) + static_cast<uintptr_t>(span));
  t.strides[0] = -t.strides[0];
}

TEST(Region, IsExactForSlicesOfOneArray) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<int64_t> array = ArbitraryArray();
    TensorView a = ArbitrarySlice(kBase, DType::kF32, array, false);
    TensorView b = ArbitrarySlice(kBase, DType::kF32, array, false);
    if (*rc::gen::arbitrary<bool>()) {
      Reverse(a);
      Reverse(b);
    }
    const auto of_a = AddressesOf(a);
    const auto of_b = AddressesOf(b);
    RC_ASSERT((RelationOf(a, b) != Relation::kNone) == AnyCommon(of_a, of_b));
  }));
}

// Whatever two tensors are: never an overlap too few, and covered only what is.
TEST(Region, IsNeverTooSure) {
  EXPECT_TRUE(rc::check([] {
    const auto tensor = [] {
      const DType dtype = *rc::gen::element(DType::kF32, DType::kF16, DType::kI64);
      const uintptr_t base = kBase + *rc::gen::inRange<uintptr_t>(0, 40);
      TensorView t = ArbitrarySlice(base, dtype, ArbitraryArray(), true);
      // Strides that are no array's: repeated, crossing, shorter than what they step over.
      for (int d = 0; d < t.rank; ++d) {
        if (*rc::gen::inRange(0, 5) == 0) t.strides[d] = *rc::gen::inRange<int64_t>(-3, 8);
      }
      return *rc::gen::arbitrary<bool>() ? Transposed(t) : t;
    };
    const TensorView a = tensor();
    TensorView b = tensor();
    if (*rc::gen::arbitrary<bool>()) {
      b.dtype = a.dtype;
      b.rank = a.rank;
      b.strides = a.strides;
      for (int d = 0; d < b.rank; ++d) b.shape[d] = std::max<int64_t>(b.shape[d], 1);
    }
    const auto of_a = AddressesOf(a);
    const auto of_b = AddressesOf(b);
    const Relation relation = RelationOf(a, b);
    if (AnyCommon(of_a, of_b)) RC_ASSERT(relation != Relation::kNone);
    if (relation == Relation::kCovers)
      RC_ASSERT(std::includes(of_a.begin(), of_a.end(), of_b.begin(), of_b.end()));
  }));
}

}  // namespace
}  // namespace pagoda::graph::testing

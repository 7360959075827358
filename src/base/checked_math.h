// Sums and products of int64 that notice when they overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pagoda/status.h"

namespace pagoda {

constexpr std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

constexpr std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The empty product is 1. A zero factor makes 0 whatever the others are.
constexpr std::optional<int64_t> CheckedProduct(std::span<const int64_t> factors) {
  int64_t product = 1;
  bool overflow = false;
  for (const int64_t factor : factors) {
    if (factor == 0) return 0;
    overflow = __builtin_mul_overflow(product, factor, &product) || overflow;
  }
  if (overflow) return std::nullopt;
  return product;
}

// The same, or Error naming the field.
inline int64_t AddOrThrow(int64_t a, int64_t b, std::string_view field) {
  if (const auto sum = CheckedAdd(a, b)) return *sum;
  throw Error(ErrorCode::kInvalidArgument, field,
              "= " + std::to_string(a) + " + " + std::to_string(b) + " does not fit into 64 bits");
}

inline int64_t MulOrThrow(int64_t a, int64_t b, std::string_view field) {
  if (const auto product = CheckedMul(a, b)) return *product;
  throw Error(ErrorCode::kInvalidArgument, field,
              "= " + std::to_string(a) + " * " + std::to_string(b) + " does not fit into 64 bits");
}

}  // namespace pagoda

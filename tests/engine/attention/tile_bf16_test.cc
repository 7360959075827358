// The bf16 kernels for tiles on any machine: the unit here is arrays with the instructions' meaning, and says
// when shapes don't fit each other.
#include "engine/attention/kernels/tile_bf16.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "engine/attention/keys.h"
#include "engine/attention/tiles.h"

namespace pagoda::testing {
namespace {

using amx::TileShapes;

struct Unit {
  struct Word {
    uint16_t half[2];
  };
  static_assert(sizeof(TileShapes) == 64);
  static inline TileShapes shapes;
  static inline bool configured = false;
  static inline uint32_t tiles[8][16][16];

  static void Configure(const TileShapes& to) {
    shapes = to;
    configured = true;
    std::memset(tiles, 0, sizeof tiles);
  }
  static void Release() { configured = false; }
  template <int kTile>
  static void Zero() {
    ASSERT_TRUE(configured);
    std::memset(tiles[kTile], 0, sizeof tiles[kTile]);
  }
  template <int kTile>
  static void Load(const void* from, int64_t stride) {
    Zero<kTile>();
    for (int r = 0; r < shapes.rows[kTile]; ++r)
      std::memcpy(tiles[kTile][r], static_cast<const char*>(from) + r * stride, shapes.row_bytes[kTile]);
  }
  template <int kTile>
  static void Store(void* to, int64_t stride) {
    for (int r = 0; r < shapes.rows[kTile]; ++r)
      std::memcpy(static_cast<char*>(to) + r * stride, tiles[kTile][r], shapes.row_bytes[kTile]);
  }
  template <int kSum, int kLeft, int kRight>
  static void Dot() {
    ASSERT_EQ(shapes.rows[kSum], shapes.rows[kLeft]);
    ASSERT_EQ(shapes.row_bytes[kSum], shapes.row_bytes[kRight]);
    ASSERT_EQ(shapes.row_bytes[kLeft], 4 * shapes.rows[kRight]);
    for (int m = 0; m < shapes.rows[kSum]; ++m) {
      for (int k = 0; k < shapes.rows[kRight]; ++k) {
        for (int n = 0; n < shapes.row_bytes[kSum] / 4; ++n) {
          const auto left = std::bit_cast<Word>(tiles[kLeft][m][k]);
          const auto right = std::bit_cast<Word>(tiles[kRight][k][n]);
          auto sum = std::bit_cast<float>(tiles[kSum][m][n]);
          for (int i = 0; i < 2; ++i) sum += BF16ToF32(left.half[i]) * BF16ToF32(right.half[i]);
          tiles[kSum][m][n] = std::bit_cast<uint32_t>(sum);
        }
      }
    }
  }

  static void Scale(float* row, float factor) {
    for (int i = 0; i < 16; ++i) row[i] *= factor;
  }
  // Element d of a key: word d / 2 of the even ones, or 16 further of the odd ones.
  static void StoreHalf(const uint16_t* row, int64_t count, int half, float* to) {
    for (int64_t d = 0; d < 32; ++d) {
      float& at = to[d / 2 + d % 2 * 16];
      auto word = std::bit_cast<Word>(at);
      word.half[half] = d < count ? row[d] : uint16_t{0};
      at = std::bit_cast<float>(word);
    }
  }
  static void StorePair(const uint16_t* first, const uint16_t* second, int64_t count, float* to) {
    StoreHalf(first, count, 0, to);
    StoreHalf(second, count, 1, to);
  }
  static void StoreFirst(const uint16_t* first, int64_t count, float* to) {
    std::memset(to, 0, 32 * sizeof(float));
    StoreHalf(first, count, 0, to);
  }
  static void StoreSecond(const uint16_t* second, int64_t count, float* to) {
    StoreHalf(second, count, 1, to);
  }
  static void SplitColumns(const float* weights, int64_t ld, int64_t keys, uint32_t* upper, uint32_t* rest) {
    for (int row = 0; row < 16; ++row) {
      for (int64_t p = 0; p < 16; ++p) {
        Word u = {};
        Word r = {};
        for (int64_t i = 0; i < 2 && 2 * p + i < keys; ++i) {
          const float weight = weights[(2 * p + i) * ld + row];
          u.half[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(weight) >> 16);
          r.half[i] = std::isfinite(weight) ? F32ToBF16(weight - BF16ToF32(u.half[i])) : uint16_t{0};
        }
        upper[row * 16 + p] = std::bit_cast<uint32_t>(u);
        rest[row * 16 + p] = std::bit_cast<uint32_t>(r);
      }
    }
  }
};

constexpr int64_t kLanes = 32;
int64_t Padded(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// A tile of K in the form of dot_bf16.h: rows padded with zeros.
TEST(TileBf16, ScoresAreEveryDotProduct) {
  Random random(1);
  for (const int64_t dim : {1, 31, 32, 33, 64, 100, 256}) {
    for (const int64_t rows : {1, 15, 16, 17, 32, 33, 48, 49, 70}) {
      for (const int64_t keys : {1, 15, 16, 17, 31, 32, 47, 63, 64, 96, 100}) {
        const std::string where = fmt::format("dim {} rows {} keys {}", dim, rows, keys);
        const int64_t ld = Padded(dim) + kLanes * random.Between(0, 1);
        Elements k(keys * ld, 0);
        Elements q(Padded(rows) * Padded(dim), 0);
        const auto put = [](float* words, int64_t element, float value) {
          reinterpret_cast<uint16_t*>(words)[element] = F32ToBF16(value);
        };
        const auto at = [](const float* words, int64_t element) {
          return BF16ToF32(reinterpret_cast<const uint16_t*>(words)[element]);
        };
        const auto q_at = [&](int64_t row, int64_t d) {
          return (row / kLanes * kLanes * Padded(dim) + d / 2 * kLanes + row % kLanes) * 2 + d % 2;
        };
        for (int64_t d = 0; d < dim; ++d) {
          for (int64_t j = 0; j < keys; ++j) put(k.floats() + j * ld, d, static_cast<float>(random.Normal()));
          for (int64_t r = 0; r < rows; ++r) put(q.floats(), q_at(r, d), static_cast<float>(random.Normal()));
        }
        const int64_t written = (rows + 15) / 16 * 16;
        const Elements scores(keys * written);
        amx::QkTile<Unit>(k.floats(), ld, keys, q.floats(), kLanes * Padded(dim), rows, dim, 0.5F,
                          scores.floats(), written, {});
        ASSERT_FALSE(Unit::configured) << where;
        for (int64_t j = 0; j < keys; ++j) {
          for (int64_t r = 0; r < rows; ++r) {
            double want = 0;
            for (int64_t d = 0; d < dim; ++d)
              want += 0.5 * at(k.floats() + j * ld, d) * at(q.floats(), q_at(r, d));
            ASSERT_NEAR(scores.at(j * written + r), want, 1e-4) << where;
          }
        }
      }
    }
  }
}

// V in runs that begin at any key, weights beside the rows NaN, and V behind the keys too.
TEST(TileBf16, OutputsAreEveryWeightedRow) {
  Random random(2);
  for (const int64_t dim : {1, 31, 32, 33, 64, 100, 256}) {
    for (const int64_t rows : {1, 15, 16, 17, 32, 33, 48, 49, 64, 70}) {
      for (const int64_t keys : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 96, 128, 129, 140}) {
        const std::string where = fmt::format("dim {} rows {} keys {}", dim, rows, keys);
        const int64_t tile_keys = keys + random.Between(0, 2);
        Tile v(random, DType::kBF16, tile_keys, 1, dim);
        for (int64_t j = keys; j < tile_keys; ++j) {
          for (int64_t d = 0; d < dim; ++d) v.Set(j, 0, d, kNaN);
        }
        const Elements loaded(tile_keys * Padded(dim));
        for (int64_t key = 0; key < tile_keys;) {
          KeyRun run = v.run;
          run.base = ElementAt(const_cast<void*>(v.run.base), key * run.slot_stride, DType::kBF16);
          run.keys = std::min(random.Between(1, 5), tile_keys - key);
          amx::LoadV<Unit>(run, loaded.floats(), tile_keys, key);
          key += run.keys;
        }
        const int64_t ld = (rows + 15) / 16 * 16;
        Elements weights(keys * ld);
        for (int64_t j = 0; j < keys; ++j) {
          for (int64_t r = 0; r < rows; ++r) weights.Set(j * ld + r, static_cast<float>(random.Normal()));
        }
        const int64_t acc_ld = Padded(dim) + kLanes * random.Between(0, 1);
        const Elements acc((rows - 1) * acc_ld + Padded(dim), 7.0F);
        amx::PvTile<Unit>(weights.floats(), ld, keys, loaded.floats(), tile_keys, rows, dim, acc.floats(),
                          acc_ld, {});
        ASSERT_FALSE(Unit::configured) << where;
        for (int64_t i = 0; i < acc.count(); ++i) {
          const int64_t r = i / acc_ld;
          const int64_t x = i % acc_ld;
          if (x >= Padded(dim)) {
            ASSERT_EQ(acc.at(i), 7.0F) << where;
            continue;
          }
          const int64_t d = x / kLanes * kLanes + 2 * (x % 16) + x % kLanes / 16;  // evens, then odds
          double want = 7;
          double magnitude = 7;
          for (int64_t j = 0; j < keys && d < dim; ++j) {
            const double product = double{weights.at(j * ld + r)} * v.at(j, 0, d);
            want += product;
            magnitude += std::abs(product);
          }
          ASSERT_NEAR(acc.at(i), want, SumError(keys, magnitude) + 0x1p-16 * magnitude) << where;
        }
      }
    }
  }
}

// An infinite weight stays infinite: nothing is left of it beside its upper half.
TEST(TileBf16, AnInfiniteWeightIsNoNaN) {
  Random random(3);
  Tile v(random, DType::kBF16, 2, 1, 32);
  for (int64_t d = 0; d < 32; ++d) {
    v.Set(0, 0, d, 1.0F);
    v.Set(1, 0, d, 2.0F);
  }
  const Elements loaded(2 * 32);
  amx::LoadV<Unit>(v.run, loaded.floats(), 2, 0);
  Elements weights(2 * 16, 0.0F);
  weights.Set(0, kInfinity);
  const Elements acc(32, 0.0F);
  amx::PvTile<Unit>(weights.floats(), 16, 2, loaded.floats(), 2, 1, 32, acc.floats(), 32, {});
  for (int64_t i = 0; i < 32; ++i) ASSERT_EQ(acc.at(i), kInfinity);
}

}  // namespace
}  // namespace pagoda::testing

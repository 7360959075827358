// The bf16 dot-product kernels on any machine: its vector operations here are arrays with the instruction's
// meaning.
#include "engine/attention/kernels/dot_bf16.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/random.h"

namespace pagoda {
namespace {

struct Vec {
  struct F32 {
    float lane[16];
  };
  struct Pairs {
    uint16_t element[32];
  };

  static F32 Zero() { return {}; }
  static Pairs LoadFirst(const uint16_t* p, int64_t count) {
    Pairs v = {};
    std::memcpy(v.element, p, static_cast<size_t>(count) * sizeof(*p));
    return v;
  }
  static Pairs Load(const uint16_t* p) { return LoadFirst(p, 32); }
  static void Store(const Pairs& v, uint16_t* p) { std::memcpy(p, v.element, sizeof(v.element)); }
  static Pairs Broadcast(const float* word) {
    Pairs v;
    for (size_t i = 0; i < 16; ++i) std::memcpy(v.element + 2 * i, word, sizeof(*word));
    return v;
  }
  static void StoreF32(const F32& v, float* p) { std::memcpy(p, v.lane, sizeof(v.lane)); }
  static F32 Scale(F32 v, float factor) {
    for (float& x : v.lane) x *= factor;
    return v;
  }
  static F32 Dot(F32 acc, const Pairs& a, const Pairs& b) {
    for (int i = 0; i < 32; ++i) acc.lane[i / 2] += BF16ToF32(a.element[i]) * BF16ToF32(b.element[i]);
    return acc;
  }
  static float Sum(const F32& v) {
    float sum = 0;
    for (const float x : v.lane) sum += x;
    return sum;
  }
  static void StoreSums4(const F32& a, const F32& b, const F32& c, const F32& d, float scale, float* out) {
    const F32* all[] = {&a, &b, &c, &d};
    for (int i = 0; i < 4; ++i) out[i] = scale * Sum(*all[i]);
  }
};

// Rows of K stand apart with NaN between them; nothing but the rows may reach a score.
TEST(DotBf16, ScoresOfEveryShape) {
  Random random(2026);
  for (const int64_t dim : {1, 8, 31, 32, 33, 64, 80, 128, 192}) {
    for (int64_t rows = 1; rows <= 9; ++rows) {
      for (const int64_t keys : {1, 3, 4, 7, 8, 9, 17}) {
        for (const bool heads_outside : {false, true}) {
          constexpr int64_t kHeads = 3;
          const int64_t row = dim + 5;
          const int64_t slot_stride = heads_outside ? row : kHeads * row;
          const int64_t head_stride = heads_outside ? keys * row : row;
          std::vector<uint16_t> k(kHeads * keys * row, F32ToBF16(std::numeric_limits<float>::quiet_NaN()));
          const int64_t pad = (dim + 31) / 32 * 32;
          std::vector<uint16_t> q(kHeads * rows * dim);
          for (uint16_t& x : q) x = F32ToBF16(static_cast<float>(random.Normal()));
          for (int64_t h = 0; h < kHeads; ++h) {
            for (int64_t j = 0; j < keys; ++j) {
              for (int64_t d = 0; d < dim; ++d) {
                k[h * head_stride + j * slot_stride + d] = F32ToBF16(static_cast<float>(random.Normal()));
              }
            }
          }
          std::vector<float> packed(kHeads * rows * pad, std::numeric_limits<float>::quiet_NaN());
          for (int64_t i = 0; i < kHeads * rows; ++i) {
            avx512bf16::DotPackRow(q.data() + i * dim, dim, pad, packed.data() + i * pad);
          }
          KeyRun run;
          run.base = k.data();
          run.slot_stride = slot_stride;
          run.head_stride = head_stride;
          run.keys = keys;
          run.heads = kHeads;
          run.dim = dim;
          std::vector<float> scores(kHeads * rows * keys);
          avx512bf16::DotQk<Vec>(run, packed.data(), rows, pad, 0.5F, scores.data(), keys);
          for (int64_t h = 0; h < kHeads; ++h) {
            for (int64_t r = 0; r < rows; ++r) {
              for (int64_t j = 0; j < keys; ++j) {
                double want = 0;
                for (int64_t d = 0; d < dim; ++d) {
                  want += 0.5 * BF16ToF32(q[(h * rows + r) * dim + d]) *
                          BF16ToF32(k[h * head_stride + j * slot_stride + d]);
                }
                ASSERT_NEAR(scores[(h * rows + r) * keys + j], want, 1e-4)
                    << "dim " << dim << " rows " << rows << " keys " << keys << " at " << h << "," << r << ","
                    << j;
              }
            }
          }
        }
      }
    }
  }
}

float NormalBf16(Random& random) { return BF16ToF32(F32ToBF16(static_cast<float>(random.Normal()))); }

// [keys][dim] in two runs with NaN between the rows, so that pairs of keys straddle them.
struct Rows {
  Rows(Random& random, int64_t keys, int64_t dim)
      : stride(dim + 3), raw(keys * stride, F32ToBF16(std::numeric_limits<float>::quiet_NaN())) {
    for (int64_t j = 0; j < keys; ++j) {
      for (int64_t d = 0; d < dim; ++d) raw[j * stride + d] = F32ToBF16(NormalBf16(random));
    }
    const int64_t first = random.Between(0, keys);
    for (const auto& [begin, end] : {std::pair(int64_t{0}, first), std::pair(first, keys)}) {
      KeyRun run;
      run.base = raw.data() + begin * stride;
      run.slot_stride = stride;
      run.keys = end - begin;
      run.heads = 1;
      run.dim = dim;
      runs.push_back(run);
    }
  }
  float at(int64_t key, int64_t d) const { return BF16ToF32(raw[key * stride + d]); }

  int64_t stride;
  std::vector<uint16_t> raw;
  std::vector<KeyRun> runs;
};

TEST(DotBf16, TilesOfEveryShape) {
  Random random(2029);
  for (const int64_t dim : {1, 2, 15, 16, 17, 31, 32, 33, 48, 80, 128}) {
    for (const int64_t rows : {1, 9, 16, 17, 32, 33, 50}) {
      for (const int64_t keys : {1, 2, 3, 12, 13, 30}) {
        const int64_t pad = (dim + 31) / 32 * 32;
        const int64_t ld = (rows + 15) / 16 * 16;
        const std::string where = fmt::format("dim {} rows {} keys {}", dim, rows, keys);
        const Rows k(random, keys, dim);
        std::vector<float> k_tile(keys * pad, std::numeric_limits<float>::quiet_NaN());
        int64_t key = 0;
        for (const KeyRun& run : k.runs) {
          avx512bf16::DotLoadK<Vec>(run, k_tile.data() + key * pad, pad);
          key += run.keys;
        }
        std::vector<float> panels((rows + 31) / 32 * 32 * pad, 0.0F);
        std::vector<float> q(rows * dim);
        for (int64_t r = 0; r < rows; ++r) {
          std::vector<uint16_t> row(dim);
          for (int64_t d = 0; d < dim; ++d) {
            q[r * dim + d] = NormalBf16(random);
            row[d] = F32ToBF16(q[r * dim + d]);
          }
          avx512bf16::DotPackLane(row.data(), dim, r % 32, panels.data() + r / 32 * 32 * pad);
        }
        std::vector<float> scores(keys * ld);
        avx512bf16::DotQkTile<Vec>(k_tile.data(), pad, keys, panels.data(), 32 * pad, rows, dim, 0.5F,
                                   scores.data(), ld, {});
        for (int64_t j = 0; j < keys; ++j) {
          for (int64_t r = 0; r < rows; ++r) {
            double want = 0;
            for (int64_t d = 0; d < dim; ++d) want += 0.5 * q[r * dim + d] * k.at(j, d);
            ASSERT_NEAR(scores[j * ld + r], want, 1e-4) << where;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace pagoda

// The bf16 dot-product kernel on any machine: its vector operations here are arrays with the instruction's
// meaning.
#include "engine/attention/kernels/dot_bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
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

}  // namespace
}  // namespace pagoda

// Every kernel but the softmax ones against its meaning in kernels.h, in double: on the instruction set that
// PAGODA_ISA names, with inputs and outputs that end where memory ends and NaN in every gap.
#include "engine/attention/kernels/kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <numeric>
#include <thread>
#include <vector>

#include "engine/attention/keys.h"
#include "engine/attention/tiles.h"

namespace pagoda::testing {
namespace {

constexpr float kUntouched = -12345.0F;

std::vector<int64_t> Dims() {
  std::vector<int64_t> dims(70);
  std::iota(dims.begin(), dims.end(), 1);
  dims.insert(dims.end(), {96, 112, 128, 192, 576});
  return dims;
}

const AttentionKernels& Kernels() { return ActiveAttentionKernels(); }

bool MultipliesInTiles(DType dtype) { return dtype == DType::kBF16 && Kernels().isa == Isa::kAmx; }

// The table's own form of bf16 may be no f32 at all: that of a packed row, and that of a tile of K.
bool PacksToF32(DType dtype) { return dtype != DType::kBF16 || Kernels().isa != Isa::kAvx512Bf16; }
bool WidensTiles(DType dtype) { return PacksToF32(dtype) && !MultipliesInTiles(dtype); }

// What is lost of weights that are multiplied as two bf16.
double SplitError(DType dtype, double magnitude) {
  return MultipliesInTiles(dtype) ? 0x1p-16 * magnitude : 0;
}

void ExpectNear(double got, double want, double tolerance, const std::string& where) {
  ASSERT_LE(std::abs(got - want), tolerance) << where << ": " << got << ", expected " << want;
}

// Rows of q, packed; `rows_of` holds them as stored.
struct PackedQ {
  PackedQ(Random& random, DType dtype, int64_t rows, int64_t dim)
      : ld(Kernels().dim_pad(dim) + Kernels().lanes * random.Between(0, 1)),
        values(rows * dim),
        packed(rows == 0 ? 0 : (rows - 1) * ld + Kernels().dim_pad(dim)) {
    for (int64_t r = 0; r < rows; ++r) {
      Elements row(dtype, dim, 0);
      for (int64_t d = 0; d < dim; ++d) {
        row.Set(d, static_cast<float>(random.Normal()));
        values[r * dim + d] = row.at(d);
      }
      Kernels().pack_row(row.data(), dtype, dim, packed.floats() + r * ld);
    }
  }
  int64_t ld;
  std::vector<float> values;  // [rows, dim]
  Elements packed;
};

TEST(Kernels, PackedRowsAreTheRowAndZeros) {
  Random random(1);
  for (const DType dtype : kFloatTypes) {
    if (!PacksToF32(dtype)) continue;
    for (const int64_t dim : Dims()) {
      const PackedQ q(random, dtype, 1, dim);
      const int64_t pad = Kernels().dim_pad(dim);
      // In natural order for f32 and f16; bf16 may be shuffled within the row.
      std::vector<float> got(q.packed.floats(), q.packed.floats() + pad);
      std::vector<float> want = q.values;
      want.resize(pad, 0.0F);
      if (dtype == DType::kBF16) {
        std::ranges::sort(got);
        std::ranges::sort(want);
      }
      ASSERT_EQ(got, want) << NameOf(dtype) << " dim " << dim;
    }
  }
}

TEST(Kernels, StoreRowUndoesTheOrderOfPackRow) {
  Random random(2);
  for (const DType dtype : kFloatTypes) {
    if (!PacksToF32(dtype)) continue;
    for (const int64_t dim : Dims()) {
      const PackedQ q(random, dtype, 1, dim);
      Elements out(dim);
      Kernels().store_row(q.packed.floats(), dtype, dim, 2.0F, DType::kF32, out.data());
      for (int64_t d = 0; d < dim; ++d)
        ASSERT_EQ(out.at(d), 2 * q.values[d]) << NameOf(dtype) << " dim " << dim;
    }
  }
}

TEST(Kernels, QkIsEveryDotProduct) {
  Random random(3);
  for (const DType dtype : kFloatTypes) {
    for (const int64_t dim : Dims()) {
      for (int repeat = 0; repeat < 2; ++repeat) {
        const int64_t rows = random.Between(1, 20);
        const int64_t keys = random.Between(0, 70);
        const int64_t heads = random.Between(1, 3);
        const std::string where = fmt::format("{} dim {} rows {} keys {} heads {} (repeat {})", NameOf(dtype),
                                              dim, rows, keys, heads, repeat);
        const Tile k(random, dtype, keys, heads, dim);
        const PackedQ q(random, dtype, heads * rows, dim);
        const int64_t ld = keys + random.Between(0, 5);
        const float scale = random.Chance(0.5) ? 1.0F : 0.125F;
        Elements scores(keys == 0 ? 0 : (heads * rows - 1) * ld + keys, kUntouched);
        Kernels().qk(dtype, k.run, q.packed.floats(), rows, q.ld, scale, scores.floats(), ld);
        for (int64_t i = 0; i < scores.count(); ++i) {
          const int64_t row = i / ld;
          const int64_t key = i % ld;
          if (key >= keys) {
            ASSERT_EQ(scores.at(i), kUntouched) << where;
            continue;
          }
          double want = 0;
          double magnitude = 0;
          for (int64_t d = 0; d < dim; ++d) {
            const double product = double{scale} * q.values[row * dim + d] * k.at(key, row / rows, d);
            want += product;
            magnitude += std::abs(product);
          }
          ASSERT_NO_FATAL_FAILURE(ExpectNear(scores.at(i), want, SumError(dim, magnitude), where));
        }
      }
    }
  }
}

// Which rows and keys a call takes together is the variant's matter: cuts into pages and tiles must not show
// in the bits.
TEST(Kernels, AScoreHasTheSameBitsInAnyCompany) {
  constexpr int64_t kRows = 8;
  constexpr int64_t kKeys = 13;
  Random random(12);
  for (const DType dtype : kFloatTypes) {
    for (const int64_t dim : {1, 24, 64, 100, 128}) {
      const PackedQ q(random, dtype, kRows, dim);
      Elements k(dtype, kKeys * dim, 0);
      for (int64_t i = 0; i < kKeys * dim; ++i) k.Set(i, static_cast<float>(random.Normal()));
      const auto score = [&](int64_t row, int64_t key, int64_t rows, int64_t keys) {
        const int64_t first_row = std::min(row, kRows - rows);
        const int64_t first_key = std::min(key, kKeys - keys);
        KeyRun run = DenseRun(ElementAt(k.data(), first_key * dim, dtype), keys, dim);
        std::vector<float> scores(rows * keys);
        Kernels().qk(dtype, run, q.packed.floats() + first_row * q.ld, rows, q.ld, 0.37F, scores.data(),
                     keys);
        return scores[(row - first_row) * keys + key - first_key];
      };
      for (int64_t rows = 1; rows <= kRows; ++rows) {
        for (int64_t keys = 1; keys <= kKeys; ++keys) {
          const int64_t row = random.Between(0, kRows - 1);
          const int64_t key = random.Between(0, kKeys - 1);
          ASSERT_EQ(score(row, key, rows, keys), score(row, key, 1, 1))
              << NameOf(dtype) << " dim " << dim << ", one of " << rows << " rows and " << keys << " keys";
        }
      }
    }
  }
}

TEST(Kernels, PvAddsEveryWeightedRow) {
  Random random(4);
  for (const DType dtype : kFloatTypes) {
    for (const int64_t dim : Dims()) {
      for (int repeat = 0; repeat < 2; ++repeat) {
        const int64_t rows = random.Between(1, 20);
        const int64_t keys = random.Between(0, 70);
        const int64_t heads = random.Between(1, 3);
        const std::string where = fmt::format("{} dim {} rows {} keys {} heads {} (repeat {})", NameOf(dtype),
                                              dim, rows, keys, heads, repeat);
        const int64_t p_ld = keys + random.Between(0, 5);
        const int64_t acc_pad = Kernels().dim_pad(dim);
        const int64_t acc_ld = acc_pad + Kernels().lanes * random.Between(0, 1);
        Elements acc((heads * rows - 1) * acc_ld + acc_pad, 0.0F);
        std::vector<double> want(heads * rows * dim);
        std::vector<double> magnitude(want.size());
        // Twice: the second adds to what the first left.
        for (int pass = 0; pass < 2; ++pass) {
          const Tile v(random, dtype, keys, heads, dim);
          Elements p(keys == 0 ? 0 : (heads * rows - 1) * p_ld + keys);
          for (int64_t row = 0; row < heads * rows; ++row) {
            for (int64_t j = 0; j < keys; ++j) {
              p.Set(row * p_ld + j, static_cast<float>(random.Uniform()));
              for (int64_t d = 0; d < dim; ++d) {
                const double product = double{p.at(row * p_ld + j)} * v.at(j, row / rows, d);
                want[row * dim + d] += product;
                magnitude[row * dim + d] += std::abs(product);
              }
            }
          }
          Kernels().pv(dtype, v.run, p.floats(), rows, p_ld, acc.floats(), acc_ld);
        }
        for (int64_t row = 0; row < heads * rows; ++row) {
          Elements out(dim);
          Kernels().store_row(acc.floats() + row * acc_ld, dtype, dim, 1.0F, DType::kF32, out.data());
          for (int64_t d = 0; d < dim; ++d) {
            ASSERT_NO_FATAL_FAILURE(ExpectNear(out.at(d), want[row * dim + d],
                                               SumError(2 * keys, magnitude[row * dim + d]), where));
          }
        }
      }
    }
  }
}

// f32 values that round in every way there is: all halves, their midpoints, one step to either side, NaN with
// payloads, infinities, and anything.
std::vector<float> ValuesThatRound(Random& random) {
  std::vector<float> values;
  for (const auto widen : {F16ToF32, BF16ToF32}) {
    for (int bits = 0; bits < 0xffff; bits += 5) {
      const float low = widen(static_cast<uint16_t>(bits));
      const float middle = low + (widen(static_cast<uint16_t>(bits + 1)) - low) / 2;
      for (const float x :
           {low, middle, std::nextafter(middle, kInfinity), std::nextafter(middle, -kInfinity)}) {
        values.push_back(x);
      }
    }
  }
  for (int i = 0; i < 20000; ++i)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random.Bits())));
  for (const uint32_t bits : {0x7f800001U, 0x7fbfffffU, 0x7fc00000U, 0x7fffffffU, 0xff800001U, 0xffc12345U,
                              0x7f800000U, 0xff800000U, 0x80000000U, 0x477fefffU, 0x477ff000U, 0x7f7fffffU,
                              0x7f7f8000U, 0x00000001U, 0x33000000U, 0x33000001U, 0x387fffffU}) {
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

TEST(Kernels, StoreRowRoundsAsHalfDoes) {
  Random random(5);
  const std::vector<float> values = ValuesThatRound(random);
  for (const DType out_dtype : {DType::kF16, DType::kBF16}) {
    size_t at = 0;
    for (int64_t dim = 1; at < values.size(); dim = dim % 70 + 1) {
      const int64_t n = std::min<int64_t>(dim, static_cast<int64_t>(values.size() - at));
      Elements row(Kernels().dim_pad(n), 0.0F);
      std::copy_n(values.begin() + static_cast<int64_t>(at), n, row.floats());
      Elements out(out_dtype, n, 0.0F);
      Kernels().store_row(row.floats(), DType::kF32, n, 1.0F, out_dtype, out.data());
      for (int64_t d = 0; d < n; ++d) {
        const float x = values[at + d];
        // The factor's product makes a signalling NaN quiet first, as any f32 arithmetic does.
        const float y = std::isnan(x) ? std::bit_cast<float>(std::bit_cast<uint32_t>(x) | 0x400000U) : x;
        ASSERT_EQ(static_cast<uint16_t*>(out.data())[d],
                  out_dtype == DType::kF16 ? F32ToF16(y) : F32ToBF16(y))
            << NameOf(out_dtype) << " of " << x << fmt::format(" ({:#x})", std::bit_cast<uint32_t>(x));
      }
      at += n;
    }
  }
}

TEST(Kernels, StoreRowAppliesTheFactorBeforeItRounds) {
  Elements row(Kernels().lanes, 3.0F);
  Elements out(DType::kBF16, 5, 0.0F);
  Kernels().store_row(row.floats(), DType::kF32, 5, 1.0F / 3, DType::kBF16, out.data());
  for (int64_t d = 0; d < 5; ++d) EXPECT_EQ(out.at(d), 1.0F);
}

TEST(Kernels, RowsAreScaledAndAdded) {
  Random random(6);
  for (int64_t n = Kernels().lanes; n <= 576; n += Kernels().lanes) {
    Elements row(n);
    Elements from(n);
    std::vector<float> want(n);
    for (int64_t i = 0; i < n; ++i) {
      row.Set(i, static_cast<float>(random.Between(-1000, 1000)));
      from.Set(i, static_cast<float>(random.Between(-1000, 1000)));
      want[i] = row.at(i) * 0.5F + from.at(i) * -3.0F;  // small integers: exact
    }
    Kernels().scale_row(row.floats(), n, 0.5F);
    Kernels().add_scaled_row(from.floats(), n, -3.0F, row.floats());
    ASSERT_EQ(std::vector<float>(row.floats(), row.floats() + n), want) << n;
  }
}

TEST(Kernels, CopyRowsMovesBitsAndLeavesTheGaps) {
  Random random(7);
  for (const DType dtype : kFloatTypes) {
    for (const int64_t dim : Dims()) {
      const int64_t keys = random.Between(0, 40);
      const int64_t heads = random.Between(1, 3);
      const Tile from(random, dtype, keys, heads, dim);
      const int64_t head_stride = dim + random.Between(0, 3);
      const int64_t slot_stride = heads * head_stride + random.Between(0, 3);
      Elements to(dtype, keys == 0 ? 0 : (keys - 1) * slot_stride + (heads - 1) * head_stride + dim,
                  kUntouched);
      const float gap = [&] {
        Elements one(dtype, 1, kUntouched);
        return one.at(0);
      }();
      std::vector<float> want(to.count(), gap);
      for (int64_t j = 0; j < keys; ++j) {
        for (int64_t h = 0; h < heads; ++h) {
          for (int64_t d = 0; d < dim; ++d) want[j * slot_stride + h * head_stride + d] = from.at(j, h, d);
        }
      }
      Kernels().copy_rows(dtype, from.run, to.data(), slot_stride, head_stride);
      for (int64_t i = 0; i < to.count(); ++i)
        ASSERT_EQ(to.at(i), want[i]) << NameOf(dtype) << " dim " << dim;
    }
  }
}

TEST(Kernels, EveryHalfWidensToItsOwnBits) {
  std::vector<uint16_t> all(1 << 16);
  std::iota(all.begin(), all.end(), 0);
  Elements out(1 << 16);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    if (!WidensTiles(dtype)) continue;
    KeyRun run;
    run.base = all.data();
    run.slot_stride = run.dim = 1 << 16;
    run.keys = run.heads = 1;
    Kernels().load_k(dtype, run, out.floats(), 1 << 16);
    for (int64_t i = 0; i < 1 << 16; ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(out.at(i)),
                std::bit_cast<uint32_t>(dtype == DType::kF16 ? F16ToF32(all[i]) : BF16ToF32(all[i])))
          << NameOf(dtype) << fmt::format(" {:#x}", i);
    }
  }
}

// A tile of one head cut into runs at random, as pages cut it.
std::vector<KeyRun> CutIntoRuns(Random& random, const Tile& tile, DType dtype) {
  std::vector<KeyRun> runs;
  for (int64_t key = 0; key < tile.run.keys;) {
    KeyRun run = tile.run;
    run.base = static_cast<const std::byte*>(tile.run.base) + key * run.slot_stride * SizeOf(dtype);
    run.keys = random.Between(1, random.Chance(0.5) ? 3 : tile.run.keys - key);
    run.keys = std::min(run.keys, tile.run.keys - key);
    run.ahead = {};
    runs.push_back(run);
    key += run.keys;
  }
  return runs;
}

// What a product asks for besides: all rows of the tile, in pieces.
std::vector<Prefetch> PiecesOf(const std::vector<KeyRun>& runs, DType dtype) {
  std::vector<Prefetch> pieces;
  pieces.reserve(runs.size());
  for (const KeyRun& run : runs)
    pieces.push_back({run.base, run.slot_stride * SizeOf(dtype), 0, run.dim * SizeOf(dtype), run.keys});
  return pieces;
}

TEST(Kernels, QkTileIsEveryDotProduct) {
  Random random(8);
  const int64_t lanes = Kernels().lanes;
  const int64_t row_lanes = Kernels().row_lanes;
  ASSERT_EQ(lanes % row_lanes, 0);
  for (const DType dtype : kFloatTypes) {
    for (const int64_t dim : Dims()) {
      const int64_t rows = random.Between(1, 70);
      const int64_t keys = random.Between(0, random.Chance(0.2) ? 150 : 50);
      const std::string where = fmt::format("{} dim {} rows {} keys {}", NameOf(dtype), dim, rows, keys);
      const Tile k(random, dtype, keys, 1, dim);
      const std::vector<KeyRun> runs = CutIntoRuns(random, k, dtype);
      const int64_t k_ld = Kernels().dim_pad(dim) + lanes * random.Between(0, 1);
      Elements loaded(keys * k_ld);
      int64_t key = 0;
      for (const KeyRun& run : runs) {
        Kernels().load_k(dtype, run, loaded.floats() + key * k_ld, k_ld);
        key += run.keys;
      }
      const int64_t panel_stride = Kernels().dim_pad(dim) * lanes;
      Elements q((rows + lanes - 1) / lanes * panel_stride, 0.0F);
      std::vector<float> values(rows * dim);
      for (int64_t r = 0; r < rows; ++r) {
        Elements row(dtype, dim, 0);
        for (int64_t d = 0; d < dim; ++d) {
          row.Set(d, static_cast<float>(random.Normal()));
          values[r * dim + d] = row.at(d);
        }
        Kernels().pack_lane(dtype, row.data(), dim, r % lanes, q.floats() + r / lanes * panel_stride);
      }
      const int64_t written = (rows + row_lanes - 1) / row_lanes * row_lanes;
      const int64_t ld = written + row_lanes * random.Between(0, 2);
      const float scale = random.Chance(0.5) ? 1.0F : 0.3F;
      Elements scores(keys * ld, kUntouched);
      const std::vector<Prefetch> pieces = PiecesOf(runs, dtype);
      const PrefetchList ahead{pieces.data(), random.Chance(0.5) ? std::ssize(pieces) : 0};
      Kernels().qk_tile(dtype, loaded.floats(), k_ld, keys, q.floats(), panel_stride, rows, dim, scale,
                        scores.floats(), ld, ahead);
      for (int64_t i = 0; i < scores.count(); ++i) {
        const int64_t row = i % ld;
        if (row >= rows) {
          ASSERT_EQ(scores.at(i), row < written ? 0.0F : kUntouched) << where << " row " << row;
          continue;
        }
        double want = 0;
        double magnitude = 0;
        for (int64_t d = 0; d < dim; ++d) {
          const double product = double{scale} * values[row * dim + d] * k.at(i / ld, 0, d);
          want += product;
          magnitude += std::abs(product);
        }
        ASSERT_NO_FATAL_FAILURE(ExpectNear(scores.at(i), want, SumError(dim, magnitude), where));
      }
    }
  }
}

TEST(Kernels, PvTileAddsEveryWeightedRow) {
  Random random(9);
  for (const DType dtype : kFloatTypes) {
    for (const int64_t dim : Dims()) {
      const int64_t rows = random.Between(1, 70);
      const int64_t tile_keys = random.Between(1, random.Chance(0.2) ? 300 : 50);
      const int64_t keys = random.Chance(0.5) ? tile_keys : random.Between(0, tile_keys);
      const std::string where =
          fmt::format("{} dim {} rows {} keys {} of {}", NameOf(dtype), dim, rows, keys, tile_keys);
      Tile v(random, dtype, tile_keys, 1, dim);
      for (int64_t j = keys; j < tile_keys; ++j) {
        for (int64_t d = 0; d < dim; ++d) v.Set(j, 0, d, kNaN);
      }
      const std::vector<KeyRun> runs = CutIntoRuns(random, v, dtype);
      const int64_t padded = Kernels().dim_pad(dim);
      Elements loaded(tile_keys * padded);
      int64_t key = 0;
      for (const KeyRun& run : runs) {
        Kernels().load_v(dtype, run, loaded.floats(), tile_keys, key);
        key += run.keys;
      }
      const int64_t ld = (rows + Kernels().row_lanes - 1) / Kernels().row_lanes * Kernels().row_lanes;
      Elements weights(keys * ld);  // NaN beside the rows
      std::vector<float> factors(keys * rows);
      for (int64_t j = 0; j < keys; ++j) {
        for (int64_t r = 0; r < rows; ++r) {
          factors[j * rows + r] = random.Chance(0.1) ? 0.0F : static_cast<float>(random.Normal());
          weights.Set(j * ld + r, factors[j * rows + r]);
        }
      }
      const int64_t acc_ld = padded + Kernels().lanes * random.Between(0, 1);
      Elements acc((rows - 1) * acc_ld + padded, 7.0F);
      const std::vector<Prefetch> pieces = PiecesOf(runs, dtype);
      Kernels().pv_tile(dtype, weights.floats(), ld, keys, loaded.floats(), tile_keys, rows, dim,
                        acc.floats(), acc_ld, {pieces.data(), std::ssize(pieces)});
      for (int64_t i = 0; i < acc.count(); ++i) {
        if (i % acc_ld < padded) continue;
        ASSERT_EQ(acc.at(i), 7.0F) << where;  // between the rows
      }
      for (int64_t row = 0; row < rows; ++row) {
        Elements out(dim);
        Kernels().store_row(acc.floats() + row * acc_ld, dtype, dim, 1.0F, DType::kF32, out.data());
        for (int64_t d = 0; d < dim; ++d) {
          double want = 7;
          double magnitude = 7;
          for (int64_t j = 0; j < keys; ++j) {
            const double product = double{factors[j * rows + row]} * v.at(j, 0, d);
            want += product;
            magnitude += std::abs(product);
          }
          const double error = SumError(keys, magnitude) + SplitError(dtype, magnitude);
          ASSERT_NO_FATAL_FAILURE(ExpectNear(out.at(d), want, error, where));
        }
      }
    }
  }
}

// Rows stop at different keys, and a variant multiplies up to the last that any row of a call sees: how many
// that are, and which rows, must not show in the bits.
TEST(Kernels, AnOutputHasTheSameBitsInAnyCompany) {
  constexpr int64_t kRows = 70;
  Random random(14);
  for (const DType dtype : kFloatTypes) {
    for (const int64_t dim : {1, 33, 100, 256}) {
      for (const int64_t tile_keys : {1, 2, 31, 47, 96, 131}) {
        const Tile v(random, dtype, tile_keys, 1, dim);
        const int64_t padded = Kernels().dim_pad(dim);
        const Elements loaded(tile_keys * padded);
        Kernels().load_v(dtype, v.run, loaded.floats(), tile_keys, 0);
        const int64_t ld = (kRows + Kernels().row_lanes - 1) / Kernels().row_lanes * Kernels().row_lanes;
        std::vector<float> factors(tile_keys * kRows);
        for (float& factor : factors) factor = static_cast<float>(random.Normal());
        // Row `row`, which sees `seen` keys, as the last of `rows` rows that are multiplied up to `keys`.
        const auto output = [&](int64_t row, int64_t seen, int64_t rows, int64_t keys) {
          Elements weights(keys * ld, 0.0F);
          for (int64_t j = 0; j < keys; ++j) {
            for (int64_t r = 0; r < rows; ++r) {
              const bool sees = r < rows - 1 || j < seen;
              weights.Set(j * ld + r, sees ? factors[j * kRows + row - (rows - 1) + r] : 0.0F);
            }
          }
          const Elements acc(rows * padded, 0.5F);
          Kernels().pv_tile(dtype, weights.floats(), ld, keys, loaded.floats(), tile_keys, rows, dim,
                            acc.floats(), padded, {});
          return std::vector<float>(acc.floats() + (rows - 1) * padded, acc.floats() + rows * padded);
        };
        for (int repeat = 0; repeat < 10; ++repeat) {
          const int64_t row = random.Between(0, kRows - 1);
          const int64_t rows = random.Between(1, row + 1);
          const int64_t seen = random.Between(1, tile_keys);
          const int64_t keys = random.Between(seen, tile_keys);
          ASSERT_EQ(output(row, seen, rows, keys), output(row, seen, 1, seen))
              << NameOf(dtype) << " dim " << dim << ", the last of " << rows << " rows, " << seen << " of "
              << keys << " keys";
        }
      }
    }
  }
}

// What a thread has in registers, however large, is still there when it is its turn again: several threads a
// CPU, the same product over and over.
TEST(Kernels, BitsSurviveOtherThreads) {
  constexpr int64_t kKeys = 96;
  constexpr int64_t kDim = 128;
  constexpr int64_t kRows = 40;
  const AttentionKernels& kernels = Kernels();
  const auto differing = [&](DType dtype, uint64_t seed) {
    Random random(seed);
    const Tile k(random, dtype, kKeys, 1, kDim);
    const Tile v(random, dtype, kKeys, 1, kDim);
    const int64_t panels = (kRows + kernels.lanes - 1) / kernels.lanes;
    const int64_t ld = panels * kernels.lanes;
    const Elements q(panels * kernels.lanes * kDim, 0.0F);
    for (int64_t r = 0; r < kRows; ++r) {
      kernels.pack_lane(dtype, ElementAt(const_cast<void*>(k.run.base), r * k.run.slot_stride, dtype), kDim,
                        r % kernels.lanes, q.floats() + r / kernels.lanes * kernels.lanes * kDim);
    }
    const Elements k_tile(kKeys * kDim);
    const Elements v_tile(kKeys * kDim);
    kernels.load_k(dtype, k.run, k_tile.floats(), kDim);
    kernels.load_v(dtype, v.run, v_tile.floats(), kKeys, 0);
    const auto product = [&] {
      Elements scores(kKeys * ld);
      Elements acc(kRows * kDim, 0.0F);
      kernels.qk_tile(dtype, k_tile.floats(), kDim, kKeys, q.floats(), kernels.lanes * kDim, kRows, kDim,
                      1.0F, scores.floats(), ld, {});
      kernels.pv_tile(dtype, scores.floats(), ld, kKeys, v_tile.floats(), kKeys, kRows, kDim, acc.floats(),
                      kDim, {});
      return std::vector<float>(acc.floats(), acc.floats() + acc.count());
    };
    const std::vector<float> want = product();
    int wrong = 0;
    for (int i = 0; i < 200; ++i) wrong += product() == want ? 0 : 1;
    return wrong;
  };
  for (const DType dtype : kFloatTypes) {
    std::vector<std::future<int>> threads;
    for (unsigned i = 0; i < 4 * std::max(1U, std::thread::hardware_concurrency()); ++i)
      threads.push_back(std::async(std::launch::async, differing, dtype, i));
    for (std::future<int>& thread : threads) EXPECT_EQ(thread.get(), 0) << NameOf(dtype);
  }
}

TEST(Kernels, AnInfiniteWeightIsNoNaN) {
  Random random(13);
  for (const DType dtype : kFloatTypes) {
    const int64_t dim = Kernels().lanes;
    Tile v(random, dtype, 2, 1, dim);
    for (int64_t d = 0; d < dim; ++d) v.Set(0, 0, d, 1.0F);
    const Elements loaded(2 * dim);
    Kernels().load_v(dtype, v.run, loaded.floats(), 2, 0);
    const int64_t ld = Kernels().row_lanes;
    Elements weights(2 * ld, 0.0F);
    weights.Set(0, kInfinity);
    const Elements acc(dim, 0.0F);
    Kernels().pv_tile(dtype, weights.floats(), ld, 2, loaded.floats(), 2, 1, dim, acc.floats(), dim, {});
    for (int64_t i = 0; i < dim; ++i) ASSERT_EQ(acc.at(i), kInfinity) << NameOf(dtype);
  }
}

TEST(Kernels, TheForcedInstructionSetIsTheOneTested) {
  EXPECT_EQ(Kernels().isa, ActiveIsa());
  EXPECT_EQ(&Kernels(), &AttentionKernelsFor(ActiveIsa()));
}

}  // namespace
}  // namespace pagoda::testing

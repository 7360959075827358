// bf16 on a unit that multiplies tiles: AMX.
//
// In 16 cycles one instruction adds the product of 16 rows of 32 bf16 and 32 rows of 16: sixteen times what
// AVX-512 does in f32 or with its dot products. Products are exact, sums are f32; subnormal numbers are 0.
//   q.k: K is the left side, as it is stored; q the right, in pairs, as dot_bf16.h packs it.
//   p.v: a weight is the sum of two bf16, its upper half and what is left of it rounded, within 2^-16 of it;
//        V is the right side, two keys a pair. Weights as one bf16 would not pass the gate
//        (docs/decisions/0011).
// The including file provides the unit as static members of a struct `Unit`: instructions in kernels/amx.cc,
// arrays in the test that runs this on any machine. It follows the rule for files compiled with wider flags:
// nothing of std, nothing with linkage.
#pragma once

#include <cstdint>

#include "engine/attention/kernels/kernels.h"
#include "engine/attention/kernels/portions.h"

namespace pagoda::amx {
namespace {

constexpr int64_t kTileRows = 16;                      // of a tile, and 32-bit words of its rows
constexpr int64_t kTileDepth = 32;                     // bf16 of a row of the left side
constexpr int64_t kWord = 4;                           // bytes
constexpr int64_t kTileBytes = kTileRows * kWord;      // of a row
constexpr int64_t kTileWords = kTileRows * kTileRows;  // of a tile
constexpr int64_t kPanel = 2 * kTileRows;              // words of a panel of q or V

// What LDTILECFG reads.
struct TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  TileShapes() {
    for (int tile = 0; tile < 8; ++tile) Set(tile, kTileRows, kTileBytes);
  }
  void Set(int tile, int64_t tile_rows, int64_t bytes) {
    rows[tile] = static_cast<uint8_t>(tile_rows);
    row_bytes[tile] = static_cast<uint16_t>(bytes);
  }
};

inline int64_t Fewer(int64_t a, int64_t b) { return a < b ? a : b; }

// body.operator()<i>() for i in [0, kEnd): tiles are numbers in the instructions.
template <int kEnd, int kAt = 0, class Body>
inline void Repeat(const Body& body) {
  if constexpr (kAt < kEnd) {
    body.template operator()<kAt>();
    Repeat<kEnd, kAt + 1>(body);
  }
}

// Tiles 0 to 3 are sums: four, where there is as much to do, hide the latency of an instruction. The left
// side goes through tiles 4 and 5, the right side through 6 and 7.
constexpr int kLeftTile = 4;
constexpr int kRightTile = 6;

// --- q.k

// scores[key * ld + row] = scale * k.q for kLeft tiles of keys, the last of them not whole where there are
// fewer `keys`, and kRight tiles of rows. Strides in words.
template <class Unit, int kLeft, int kRight>
inline void QkBlock(const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t steps, float scale,
                    float* scores, int64_t ld, Portions& portions) {
  Repeat<kLeft * kRight>([]<int kSum>() { Unit::template Zero<kSum>(); });
  for (int64_t x = 0; x < steps; ++x, k += kTileRows, q += kTileRows * kPanel) {
    Repeat<kRight>([&]<int j>() { Unit::template Load<kRightTile + j>(q + j * kTileRows, kPanel * kWord); });
    Repeat<kLeft>([&]<int i>() {
      portions.AskForNext();
      constexpr int kTile = kLeftTile + i % 2;
      Unit::template Load<kTile>(k + i * kTileRows * k_ld, k_ld * kWord);
      Repeat<kRight>([]<int j>() { Unit::template Dot<i * kRight + j, kTile, kRightTile + j>(); });
    });
  }
  Repeat<kLeft * kRight>([&]<int kSum>() {
    Unit::template Store<kSum>(scores + kSum / kRight * kTileRows * ld + kSum % kRight * kTileRows,
                               ld * kWord);
  });
  for (int64_t j = 0; j < keys; ++j) {
    for (int half = 0; half < kRight; ++half) Unit::Scale(scores + j * ld + half * kTileRows, scale);
  }
}

// AttentionKernels::qk_tile for bf16.
template <class Unit>
inline void QkTile(const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t panel_stride,
                   int64_t rows, int64_t dim, float scale, float* scores, int64_t ld,
                   const PrefetchList& ahead) {
  if (keys == 0 || rows == 0) return;
  const int64_t steps = (dim + kTileDepth - 1) / kTileDepth;
  const int64_t panels = (rows + kPanel - 1) / kPanel;
  Portions portions(ahead, (keys + kTileRows - 1) / kTileRows * panels * steps, 1);
  // Blocks of kLeft tiles of keys for all rows.
  const auto block = [&]<int kLeft>() {
    const int64_t count = Fewer(keys, kLeft * kTileRows);
    for (int64_t i = 0; i < panels; ++i) {
      const float* panel = q + i * panel_stride;
      float* out = scores + i * kPanel;
      if constexpr (kLeft <= 2) {
        if (rows - i * kPanel > kTileRows) {
          QkBlock<Unit, kLeft, 2>(k, k_ld, count, panel, steps, scale, out, ld, portions);
          continue;
        }
      }
      QkBlock<Unit, kLeft, 1>(k, k_ld, count, panel, steps, scale, out, ld, portions);
    }
    k += count * k_ld;
    scores += count * ld;
    keys -= count;
  };
  Unit::Configure(TileShapes());
  if (rows <= kTileRows) {
    while (keys >= 4 * kTileRows) block.template operator()<4>();
  }
  while (keys >= 2 * kTileRows) block.template operator()<2>();
  if (keys >= kTileRows) block.template operator()<1>();
  if (keys > 0) {
    TileShapes shapes;
    for (int sum = 0; sum < 2; ++sum) shapes.Set(sum, keys, kTileBytes);
    shapes.Set(kLeftTile, keys, kTileBytes);
    Unit::Configure(shapes);
    block.template operator()<1>();
  }
  Unit::Release();
}

// --- p.v. V stands in panels of 32 elements, [panel][pair of keys][32 words]: a word holds an element of
// both keys; the even elements come first, as hwy.cc widens bf16.

// AttentionKernels::load_v for bf16. The other half of a last key's words is 0.
template <class Unit>
inline void LoadV(const KeyRun& v, float* out, int64_t tile_keys, int64_t first_key) {
  const int64_t panel_words = (tile_keys + 1) / 2 * kPanel;
  for (int64_t j = 0; j < v.keys;) {
    const int64_t key = first_key + j;
    const uint16_t* row = static_cast<const uint16_t*>(v.base) + j * v.slot_stride;
    float* to = out + key / 2 * kPanel;
    const bool first = key % 2 == 0;
    const bool both = first && j + 1 < v.keys;
    for (int64_t x = 0; x < v.dim; x += kPanel, to += panel_words) {
      const int64_t count = Fewer(v.dim - x, kPanel);
      if (both) {
        Unit::StorePair(row + x, row + v.slot_stride + x, count, to);
      } else if (first) {
        Unit::StoreFirst(row + x, count, to);
      } else {
        Unit::StoreSecond(row + x, count, to);
      }
    }
    j += both ? 2 : 1;
  }
}

// A product of weights and chunks of up to 16 pairs of keys. Weights are tiles of [row][pair] words,
// [chunk][16 rows][upper half, rest].
struct PvProduct {
  const uint32_t* weights;  // of the first chunk
  int64_t row_tiles;
  int64_t chunks;
  int64_t pairs;   // of each chunk
  const float* v;  // of the first chunk
  int64_t panel_words;
  float* acc;
  int64_t acc_ld;

  const uint32_t* Weights(int64_t chunk, int64_t row, int part) const {
    return weights + ((chunk * row_tiles + row / kTileRows) * 2 + part) * kTileWords;
  }
};

// acc += weights * v for 17 to 32 rows from `row` on and one panel.
template <class Unit>
inline void PvBlockOf32(const PvProduct& product, int64_t row, int64_t panel, Portions& portions) {
  const auto at = [&](int sum) {
    return product.acc + (row + sum / 2 * kTileRows) * product.acc_ld + panel * kPanel + sum % 2 * kTileRows;
  };
  const int64_t stride = product.acc_ld * kWord;
  Repeat<4>([&]<int kSum>() { Unit::template Load<kSum>(at(kSum), stride); });
  const float* v = product.v + panel * product.panel_words;
  for (int64_t c = 0; c < product.chunks; ++c, v += kTileRows * kPanel) {
    Repeat<2>([&]<int j>() { Unit::template Load<kRightTile + j>(v + j * kTileRows, kPanel * kWord); });
    Repeat<2>([&]<int kPart>() {
      portions.AskForNext();
      Repeat<2>([&]<int i>() {
        Unit::template Load<kLeftTile + i>(product.Weights(c, row + i * kTileRows, kPart), kTileBytes);
        Repeat<2>([]<int j>() { Unit::template Dot<2 * i + j, kLeftTile + i, kRightTile + j>(); });
      });
    });
  }
  Repeat<4>([&]<int kSum>() { Unit::template Store<kSum>(at(kSum), stride); });
}

// The same for up to 16 rows and kPanels panels.
template <class Unit, int kPanels>
inline void PvBlockOf16(const PvProduct& product, int64_t row, int64_t panel, Portions& portions) {
  float* acc = product.acc + row * product.acc_ld + panel * kPanel;
  const int64_t stride = product.acc_ld * kWord;
  Repeat<2 * kPanels>([&]<int kSum>() { Unit::template Load<kSum>(acc + kSum * kTileRows, stride); });
  const float* v = product.v + panel * product.panel_words;
  for (int64_t c = 0; c < product.chunks; ++c, v += kTileRows * kPanel) {
    Repeat<2>([&]<int kPart>() {
      Unit::template Load<kLeftTile + kPart>(product.Weights(c, row, kPart), kTileBytes);
    });
    Repeat<kPanels>([&]<int p>() {
      Repeat<2>([&]<int j>() {
        Unit::template Load<kRightTile + j>(v + p * product.panel_words + j * kTileRows, kPanel * kWord);
      });
      Repeat<2>([&]<int kPart>() {
        portions.AskForNext();
        Repeat<2>([]<int j>() { Unit::template Dot<2 * p + j, kLeftTile + kPart, kRightTile + j>(); });
      });
    });
  }
  Repeat<2 * kPanels>([&]<int kSum>() { Unit::template Store<kSum>(acc + kSum * kTileRows, stride); });
}

// Tiles for blocks of 32 rows of which the last has `rows`, 17 to 32, or for one of up to 16.
inline TileShapes PvShapes(int64_t rows, int64_t pairs) {
  const bool many = rows > kTileRows;
  const int64_t second = many ? rows - kTileRows : rows;
  TileShapes shapes;
  for (int sum = 0; sum < 4; ++sum) shapes.Set(sum, many && sum < 2 ? kTileRows : second, kTileBytes);
  shapes.Set(kLeftTile, many ? kTileRows : rows, pairs * kWord);
  shapes.Set(kLeftTile + 1, second, pairs * kWord);
  for (int j = 0; j < 2; ++j) shapes.Set(kRightTile + j, pairs, kTileBytes);
  return shapes;
}

// All panels for up to 16 rows from `row` on.
template <class Unit>
inline void PvPanelsOf16(const PvProduct& product, int64_t row, int64_t panels, Portions& portions) {
  int64_t i = 0;
  for (; i + 2 <= panels; i += 2) PvBlockOf16<Unit, 2>(product, row, i, portions);
  if (i < panels) PvBlockOf16<Unit, 1>(product, row, i, portions);
}

// All rows and panels.
template <class Unit>
inline void PvRows(const PvProduct& product, int64_t rows, int64_t panels, Portions& portions) {
  const int64_t last = rows % kPanel;
  const int64_t whole = rows - last;
  if (whole > 0) {
    Unit::Configure(PvShapes(kPanel, product.pairs));
    for (int64_t i = 0; i < panels; ++i) {
      for (int64_t r = 0; r < whole; r += kPanel) PvBlockOf32<Unit>(product, r, i, portions);
    }
  }
  if (last == 0) return;
  Unit::Configure(PvShapes(last, product.pairs));
  if (last <= kTileRows) return PvPanelsOf16<Unit>(product, whole, panels, portions);
  for (int64_t i = 0; i < panels; ++i) PvBlockOf32<Unit>(product, whole, i, portions);
}

constexpr int64_t kMostRows = 64;
constexpr int64_t kMostKeys = 4 * kTileDepth;

// The last, shorter chunk where the other half of its last word holds a key that isn't to be added: through a
// copy without it.
template <class Unit>
inline void PvWithoutLast(PvProduct product, int64_t rows, int64_t panels, Portions& portions) {
  constexpr int64_t kPanels = 8;
  constexpr int64_t kChunkWords = kTileRows * kPanel;
  alignas(64) uint32_t words[kPanels * kChunkWords];
  const float* v = product.v;
  const int64_t panel_words = product.panel_words;
  product.v = reinterpret_cast<const float*>(words);
  product.panel_words = kChunkWords;
  const int64_t last = (product.pairs - 1) * kPanel;
  for (; panels > 0; panels -= kPanels, v += kPanels * panel_words, product.acc += kPanels * kPanel) {
    const int64_t count = Fewer(panels, kPanels);
    for (int64_t i = 0; i < count; ++i) {
      uint32_t* to = words + i * kChunkWords;
      __builtin_memcpy(to, v + i * panel_words, (last + kPanel) * kWord);
      for (int64_t j = last; j < last + kPanel; ++j) to[j] &= 0xFFFF;
    }
    PvRows<Unit>(product, rows, count, portions);
  }
}

// Up to kMostRows rows and kMostKeys keys of a tile that has `tile_keys` from there on. A key is always added
// in the same chunk and pair, so that no bit depends on how many come after it.
template <class Unit>
inline void PvPart(const float* weights, int64_t ld, int64_t keys, int64_t tile_keys, const float* v,
                   int64_t panel_words, int64_t rows, int64_t panels, float* acc, int64_t acc_ld,
                   Portions& portions) {
  const int64_t row_tiles = (rows + kTileRows - 1) / kTileRows;
  alignas(64) uint32_t words[2 * kMostRows * kMostKeys / 2];
  uint32_t* tile = words;
  for (int64_t key = 0; key < keys; key += kTileDepth) {
    for (int64_t row = 0; row < rows; row += kTileRows, tile += 2 * kTileWords)
      Unit::SplitColumns(weights + key * ld + row, ld, Fewer(keys - key, kTileDepth), tile,
                         tile + kTileWords);
  }
  const int64_t whole = keys / kTileDepth;
  const int64_t left = keys - whole * kTileDepth;
  if (whole > 0)
    PvRows<Unit>({words, row_tiles, whole, kTileRows, v, panel_words, acc, acc_ld}, rows, panels, portions);
  if (left == 0) return;
  const PvProduct product{.weights = words + whole * row_tiles * 2 * kTileWords,
                          .row_tiles = row_tiles,
                          .chunks = 1,
                          .pairs = (left + 1) / 2,
                          .v = v + whole * kTileRows * kPanel,
                          .panel_words = panel_words,
                          .acc = acc,
                          .acc_ld = acc_ld};
  if (left % 2 == 1 && keys < tile_keys) {
    PvWithoutLast<Unit>(product, rows, panels, portions);
  } else {
    PvRows<Unit>(product, rows, panels, portions);
  }
}

// AttentionKernels::pv_tile for bf16.
template <class Unit>
inline void PvTile(const float* weights, int64_t ld, int64_t keys, const float* v, int64_t tile_keys,
                   int64_t rows, int64_t dim, float* acc, int64_t acc_ld, const PrefetchList& ahead) {
  if (keys == 0 || rows == 0) return;
  const int64_t panel_words = (tile_keys + 1) / 2 * kPanel;
  const int64_t panels = (dim + kPanel - 1) / kPanel;
  const int64_t chunks = (keys + kTileDepth - 1) / kTileDepth;
  Portions portions(ahead, 2 * chunks * panels * ((rows + kPanel - 1) / kPanel), 1);
  for (int64_t first = 0; first < keys; first += kMostKeys) {
    for (int64_t r = 0; r < rows; r += kMostRows) {
      PvPart<Unit>(weights + first * ld + r, ld, Fewer(keys - first, kMostKeys), tile_keys - first,
                   v + first / 2 * kPanel, panel_words, Fewer(rows - r, kMostRows), panels, acc + r * acc_ld,
                   acc_ld, portions);
    }
  }
  Unit::Release();
}

}  // namespace
}  // namespace pagoda::amx

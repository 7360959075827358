#include "engine/attention/hstu/oracle.h"

#include <algorithm>
#include <cmath>

#include "engine/attention/oracle_values.h"

namespace pagoda {
namespace {

int64_t CountOf(const TensorView& counts, int64_t b) { return counts.empty() ? 0 : IndexAt(counts, b); }

// One sequence in the words of the formulas.
struct Sequence {
  int64_t b = 0;
  int64_t first_row = 0;   // of q
  int64_t rows = 0;        // Lq
  int64_t cached = 0;      // keys in pages
  int64_t first_k = 0;     // row of k and v of the first key behind them
  int64_t n = 0;           // Lk
  int64_t targets = 0;     // T
  int64_t history = 0;     // h = n - T
  int64_t contextual = 0;  // c
};

Sequence SequenceOf(const HstuBatch& batch, int64_t b) {
  Sequence s;
  s.b = b;
  s.first_row = IndexAt(batch.seq_offsets, b);
  s.rows = IndexAt(batch.seq_offsets, b + 1) - s.first_row;
  s.targets = CountOf(batch.num_targets, b);
  s.contextual = CountOf(batch.num_contextuals, b);
  if (batch.paged()) {
    const PageTable& table = batch.table;
    if (table.is_csr()) {
      const int64_t pages = IndexAt(table.indptr, b + 1) - IndexAt(table.indptr, b);
      s.cached = pages == 0 ? 0 : (pages - 1) * batch.kv.page_size + IndexAt(table.last_page_len, b);
    } else {
      s.cached = IndexAt(table.context_lens, b);
    }
    s.first_k = s.first_row + s.rows - s.targets;
    s.n = s.cached + s.targets;
  } else {
    const TensorView& offsets = batch.seq_offsets_k.empty() ? batch.seq_offsets : batch.seq_offsets_k;
    s.first_k = IndexAt(offsets, b);
    s.n = IndexAt(offsets, b + 1) - s.first_k;
  }
  s.history = s.n - s.targets;
  return s;
}

bool InWindow(const HstuParams& p, int64_t i, int64_t j) {
  return (p.window_left < 0 || i - j <= p.window_left) && (p.window_right < 0 || j - i <= p.window_right);
}

// Meta's form, with max_attn_len = A, min_full_attn_seq_len = F.
bool WithinAttnLen(const HstuParams& p, const Sequence& s, int64_t i, int64_t j) {
  const int64_t c = s.contextual;
  const int64_t last = (c > 0 ? s.n - c + 1 : s.n) - s.targets;  // M
  const auto id = [&](int64_t x) { return std::min(c > 0 ? std::max<int64_t>(x - c + 1, 0) : x, last); };
  const bool full = p.min_full_attn_seq_len > 0 && id(i) >= last - p.min_full_attn_seq_len;
  if (c > 0 && id(i) == 0 && id(j) < last) return true;
  return (i == j || id(i) > id(j)) && (id(i) - id(j) <= p.max_attn_len || full);
}

bool InIntervals(const TensorView& mask, int64_t row, int64_t j) {
  if (j < IndexAt(mask, row, 0)) return true;
  for (int64_t f = 1; f < mask.shape[1]; f += 2) {
    if (j >= IndexAt(mask, row, f) && j < IndexAt(mask, row, f + 1)) return true;
  }
  return false;
}

// Whether query row a of a sequence sees key j.
bool Sees(const HstuBatch& batch, const Sequence& s, int64_t a, int64_t j) {
  const HstuParams& p = batch.params;
  const int64_t r = a + s.n - s.rows;
  switch (p.mask) {
    case HstuMask::kNone:
      return InWindow(p, r, j);
    case HstuMask::kDense:
      return true;
    case HstuMask::kInterval:
      return InIntervals(batch.interval_mask, s.first_row + a, j);
    case HstuMask::kCausal:
      break;
  }
  if (p.max_attn_len > 0) return WithinAttnLen(p, s, r, j);
  if (r < s.contextual) return j < s.history;
  if (j > r || !InWindow(p, r, j)) return false;
  const int64_t groups_before = r < s.history ? 0 : (r - s.history) / p.target_group_size;
  return j < s.history || j >= s.history + groups_before * p.target_group_size;
}

// K or V of key j of a kv head.
void ReadKey(const HstuBatch& batch, const HstuCall& call, const Sequence& s, int64_t head, int64_t j,
             bool value, double* to) {
  const int64_t dim = value ? batch.head_dim_v : batch.head_dim;
  const TensorView& rows = value ? call.v : call.k;
  const void* data = rows.data;
  int64_t at = 0;
  if (j < s.cached) {
    const PagedKvView& kv = call.kv;
    const PageTable& table = batch.table;
    const int64_t nth = j / batch.kv.page_size;
    const int64_t slot = j % batch.kv.page_size;
    const int64_t page = table.is_csr() ? IndexAt(table.indices, IndexAt(table.indptr, s.b) + nth)
                                        : IndexAt(table.block_table, s.b, nth);
    data = value ? kv.v : kv.k;
    at = value ? page * kv.v_page_stride + slot * kv.v_slot_stride + head * kv.v_head_stride
               : page * kv.k_page_stride + slot * kv.k_slot_stride + head * kv.k_head_stride;
  } else {
    at = (s.first_k + j - s.cached) * rows.strides[0] + head * rows.strides[1];
  }
  for (int64_t d = 0; d < dim; ++d) to[d] = FloatAt(data, batch.dtype, at + d);
}

// An entry of rab or of the dense mask.
double PairAt(const TensorView& t, int64_t b, int64_t head, int64_t a, int64_t j) {
  return FloatAt(t.data, DType::kF32,
                 (t.shape[0] == 1 ? 0 : b) * t.strides[0] + (t.shape[1] == 1 ? 0 : head) * t.strides[1] +
                     a * t.strides[2] + j * t.strides[3]);
}

double Silu(double x) {
  return std::isinf(x) && x < 0 ? 0 : x / (1 + std::exp(-x));  // the limit, which the formula doesn't reach
}

// All rows of one sequence that are computed, as (index among all computed, query row a).
struct RowsOf {
  Sequence sequence;
  std::vector<std::pair<int64_t, int64_t>> rows;
};

// q of those rows and of a kv head's group, [rows, group, head_dim].
std::vector<double> ReadQueries(const HstuBatch& batch, const HstuCall& call, const Sequence& s,
                                const std::vector<std::pair<int64_t, int64_t>>& rows, int64_t kv_head) {
  const int64_t group = batch.q_heads / batch.kv_heads;
  std::vector<double> q;
  q.reserve(rows.size() * static_cast<size_t>(group * batch.head_dim));
  for (const auto& [index, a] : rows) {
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      const int64_t at = (s.first_row + a) * call.q.strides[0] + head * call.q.strides[1];
      for (int64_t d = 0; d < batch.head_dim; ++d) q.push_back(FloatAt(call.q.data, batch.dtype, at + d));
    }
  }
  return q;
}

std::vector<RowsOf> BySequence(const HstuBatch& batch, const std::vector<int64_t>& rows) {
  std::vector<RowsOf> all;
  size_t next = 0;
  for (int64_t b = 0; b + 1 < batch.seq_offsets.shape[0]; ++b) {
    RowsOf of{SequenceOf(batch, b), {}};
    for (; next < rows.size() && rows[next] < of.sequence.first_row + of.sequence.rows; ++next)
      of.rows.emplace_back(static_cast<int64_t>(next), rows[next] - of.sequence.first_row);
    if (!of.rows.empty()) all.push_back(std::move(of));
  }
  return all;
}

}  // namespace

double HstuFlops(const HstuBatch& batch) {
  double pairs = 0;
  for (int64_t b = 0; b + 1 < batch.seq_offsets.shape[0]; ++b) {
    const Sequence s = SequenceOf(batch, b);
    for (int64_t a = 0; a < s.rows; ++a) {
      for (int64_t j = 0; j < s.n; ++j) pairs += Sees(batch, s, a, j) ? 1 : 0;
    }
  }
  return 2.0 * static_cast<double>(batch.q_heads) * static_cast<double>(batch.head_dim + batch.head_dim_v) *
         pairs;
}

OracleResult HstuOracle(const HstuBatch& batch, const HstuCall& call, const OracleOptions& options,
                        ThreadPool* pool) {
  OracleResult result;
  result.sampled = HstuFlops(batch) > options.max_flops;
  result.rows =
      RowsToCompute(IndexAt(batch.seq_offsets, batch.seq_offsets.shape[0] - 1), options, result.sampled);
  const int64_t dim = batch.head_dim_v;
  const int64_t group = batch.q_heads / batch.kv_heads;
  const size_t cells = result.rows.size() * static_cast<size_t>(batch.q_heads);
  result.out.resize(cells * static_cast<size_t>(dim));
  result.magnitude.resize(cells);
  const HstuParams& p = batch.params;
  const double scale = p.silu_scale != 0 ? p.silu_scale : 1.0 / static_cast<double>(p.max_seq_len);

  const std::vector<RowsOf> sequences = BySequence(batch, result.rows);
  const auto compute = [&](int64_t task, int) {
    const auto& [s, rows] = sequences[task / batch.kv_heads];
    const int64_t kv_head = task % batch.kv_heads;
    const std::vector<double> q = ReadQueries(batch, call, s, rows, kv_head);
    std::vector<double> k(static_cast<size_t>(batch.head_dim));
    std::vector<double> v(static_cast<size_t>(dim));
    for (int64_t j = 0; j < s.n; ++j) {
      bool read = false;
      const double* of_row = q.data();
      for (const auto& [index, a] : rows) {
        const double* of_head = of_row;
        of_row += group * batch.head_dim;
        if (!Sees(batch, s, a, j)) continue;
        if (!read) {
          ReadKey(batch, call, s, kv_head, j, false, k.data());
          ReadKey(batch, call, s, kv_head, j, true, v.data());
          read = true;
        }
        for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
          double x = Dot(of_head, k.data(), batch.head_dim);
          of_head += batch.head_dim;
          if (!call.rab.empty()) x += PairAt(call.rab, s.b, head, a, j);
          x *= static_cast<double>(p.alpha);
          double weight = scale * Silu(x);
          if (p.mask == HstuMask::kDense) weight *= PairAt(call.mask, s.b, head, a, j);
          const int64_t cell = index * batch.q_heads + head;
          double* out = result.out.data() + cell * dim;
          for (int64_t d = 0; d < dim; ++d) out[d] += weight * v[d];
          result.magnitude[cell] += weight * weight * Dot(v.data(), v.data(), dim);  // as a square yet
        }
      }
    }
  };
  const int64_t tasks = std::ssize(sequences) * batch.kv_heads;
  if (pool != nullptr) {
    pool->Run(tasks, compute);
  } else {
    for (int64_t task = 0; task < tasks; ++task) compute(task, 0);
  }
  for (size_t cell = 0; cell < cells; ++cell) {
    const double* out = result.out.data() + cell * static_cast<size_t>(dim);
    result.magnitude[cell] =
        std::sqrt(std::max(result.magnitude[cell], Dot(out, out, dim)) / static_cast<double>(dim));
  }
  return result;
}

}  // namespace pagoda

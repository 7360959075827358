#include "engine/attention/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/attention/oracle_values.h"

namespace pagoda {
namespace {

int64_t KeysOf(const SoftmaxBatch& batch, int64_t b) {
  const PageTable& table = batch.table;
  if (!table.is_csr()) return IndexAt(table.context_lens, b);
  const int64_t pages = IndexAt(table.indptr, b + 1) - IndexAt(table.indptr, b);
  return pages == 0 ? 0 : (pages - 1) * batch.kv.page_size + IndexAt(table.last_page_len, b);
}

int64_t PageOf(const SoftmaxBatch& batch, int64_t b, int64_t key) {
  const int64_t nth = key / batch.kv.page_size;
  const PageTable& table = batch.table;
  return table.is_csr() ? IndexAt(table.indices, IndexAt(table.indptr, b) + nth)
                        : IndexAt(table.block_table, b, nth);
}

struct Range {
  int64_t first = 0, end = 0;
};

// Keys that a row at position r sees. Both masks are intervals, so their meet is one.
Range VisibleKeys(const SoftmaxParams& p, int64_t kv_len, int64_t r) {
  Range v{0, kv_len};
  if (p.causal) v.end = std::min(v.end, r + 1);
  // Compared before they are added, so that a huge window can't overflow.
  if (p.window_left >= 0 && p.window_left < r) v.first = r - p.window_left;
  if (p.window_right >= 0 && p.window_right < kv_len - r) v.end = std::min(v.end, r + p.window_right + 1);
  if (v.end < v.first) v.end = v.first;
  return v;
}

// K and V of one kv head of one sequence as doubles, only the keys that some row sees.
struct HeadKeys {
  Range range;
  std::vector<double> k, v;
};

HeadKeys ReadKeys(const SoftmaxBatch& batch, const PagedKvView& kv, int64_t b, int64_t head, Range range) {
  HeadKeys keys{range, {}, {}};
  keys.k.resize((range.end - range.first) * kv.head_dim);
  keys.v.resize((range.end - range.first) * kv.head_dim_v);
  for (int64_t j = range.first; j < range.end; ++j) {
    const int64_t page = PageOf(batch, b, j);
    const int64_t slot = j % kv.page_size;
    const int64_t k_at = page * kv.k_page_stride + slot * kv.k_slot_stride + head * kv.k_head_stride;
    const int64_t v_at = page * kv.v_page_stride + slot * kv.v_slot_stride + head * kv.v_head_stride;
    double* k = keys.k.data() + (j - range.first) * kv.head_dim;
    double* v = keys.v.data() + (j - range.first) * kv.head_dim_v;
    for (int64_t d = 0; d < kv.head_dim; ++d) k[d] = FloatAt(kv.k, kv.dtype, k_at + d);
    for (int64_t d = 0; d < kv.head_dim_v; ++d) v[d] = FloatAt(kv.v, kv.dtype, v_at + d);
  }
  return keys;
}

struct RowAt {
  int64_t index = 0;     // among the rows that are computed
  int64_t row = 0;       // of q
  int64_t position = 0;  // r
};

void ComputeRow(const SoftmaxBatch& batch, const SoftmaxCall& call, const HeadKeys& keys, int64_t kv_len,
                const RowAt& at, int64_t head, double* out, double* lse, double* magnitude) {
  const PagedKvView& kv = call.kv;
  const SoftmaxParams& p = batch.params;
  const double minus_infinity = -std::numeric_limits<double>::infinity();
  const double scale =
      p.scale ? static_cast<double>(*p.scale) : 1 / std::sqrt(static_cast<double>(kv.head_dim));
  std::vector<double> q(kv.head_dim);
  for (int64_t d = 0; d < kv.head_dim; ++d) {
    q[d] = FloatAt(call.q.data, call.q.dtype,
                   at.row * call.q.strides[0] + head * call.q.strides[1] + d * call.q.strides[2]);
  }
  const double slope = call.alibi_slopes.empty() ? 0
                                                 : FloatAt(call.alibi_slopes.data, DType::kF32,
                                                           head * call.alibi_slopes.strides[0]);
  const double sink = call.sinks.empty()
                          ? minus_infinity
                          : FloatAt(call.sinks.data, DType::kF32, head * call.sinks.strides[0]);

  const Range visible = VisibleKeys(p, kv_len, at.position);
  std::vector<double> score(visible.end - visible.first);
  double largest = sink;
  for (int64_t j = visible.first; j < visible.end; ++j) {
    double s = scale * Dot(q.data(), keys.k.data() + (j - keys.range.first) * kv.head_dim, kv.head_dim);
    if (p.softcap > 0) s = p.softcap * std::tanh(s / p.softcap);
    s += slope * static_cast<double>(j - at.position);
    score[j - visible.first] = s;
    largest = std::max(largest, s);
  }
  std::fill(out, out + kv.head_dim_v, 0.0);
  if (largest == minus_infinity) {
    *lse = minus_infinity;
    return;
  }
  double sum = std::exp(sink - largest);
  for (double& s : score) {
    s = std::exp(s - largest);
    sum += s;
  }
  double squares_of_terms = 0;
  for (int64_t j = visible.first; j < visible.end; ++j) {
    const double weight = score[j - visible.first] / sum;
    const double* v = keys.v.data() + (j - keys.range.first) * kv.head_dim_v;
    for (int64_t d = 0; d < kv.head_dim_v; ++d) out[d] += weight * v[d];
    squares_of_terms += weight * weight * Dot(v, v, kv.head_dim_v);
  }
  *lse = largest + std::log(sum);
  const double squares = std::max(squares_of_terms, Dot(out, out, kv.head_dim_v));
  *magnitude = std::sqrt(squares / static_cast<double>(kv.head_dim_v));
}

// The rows of one sequence that are computed.
struct SequenceRows {
  int64_t b = 0;
  int64_t kv_len = 0;
  std::vector<RowAt> rows;
  Range keys;  // what any of them sees
};

std::vector<SequenceRows> BySequence(const SoftmaxBatch& batch, const std::vector<int64_t>& rows) {
  std::vector<SequenceRows> sequences;
  size_t next = 0;
  for (int64_t b = 0; b + 1 < batch.q_indptr.shape[0]; ++b) {
    const int64_t begin = IndexAt(batch.q_indptr, b);
    const int64_t end = IndexAt(batch.q_indptr, b + 1);
    SequenceRows s{b, KeysOf(batch, b), {}, {}};
    for (; next < rows.size() && rows[next] < end; ++next) {
      const RowAt at{static_cast<int64_t>(next), rows[next], s.kv_len - (end - begin) + rows[next] - begin};
      const Range visible = VisibleKeys(batch.params, s.kv_len, at.position);
      if (visible.first < visible.end) {
        const bool none = s.keys.first == s.keys.end;
        s.keys.first = none ? visible.first : std::min(s.keys.first, visible.first);
        s.keys.end = none ? visible.end : std::max(s.keys.end, visible.end);
      }
      s.rows.push_back(at);
    }
    if (!s.rows.empty()) sequences.push_back(std::move(s));
  }
  return sequences;
}

}  // namespace

double SoftmaxFlops(const SoftmaxBatch& batch) {
  double pairs = 0;
  for (int64_t b = 0; b + 1 < batch.q_indptr.shape[0]; ++b) {
    const int64_t kv_len = KeysOf(batch, b);
    const int64_t rows = IndexAt(batch.q_indptr, b + 1) - IndexAt(batch.q_indptr, b);
    for (int64_t a = 0; a < rows; ++a) {
      const Range visible = VisibleKeys(batch.params, kv_len, kv_len - rows + a);
      pairs += static_cast<double>(visible.end - visible.first);
    }
  }
  return 2.0 * static_cast<double>(batch.q_heads) *
         static_cast<double>(batch.kv.head_dim + batch.kv.head_dim_v) * pairs;
}

OracleResult SoftmaxOracle(const SoftmaxBatch& batch, const SoftmaxCall& call, const OracleOptions& options,
                           ThreadPool* pool) {
  OracleResult result;
  result.sampled = SoftmaxFlops(batch) > options.max_flops;
  result.rows = RowsToCompute(IndexAt(batch.q_indptr, batch.q_indptr.shape[0] - 1), options, result.sampled);
  const int64_t kv_heads = call.kv.kv_heads;
  const int64_t dim = call.kv.head_dim_v;
  const int64_t group = kv_heads == 0 ? 0 : batch.q_heads / kv_heads;
  result.out.resize(result.rows.size() * batch.q_heads * dim);
  result.lse.resize(result.rows.size() * batch.q_heads);
  result.magnitude.resize(result.rows.size() * batch.q_heads);

  const std::vector<SequenceRows> sequences = BySequence(batch, result.rows);
  const auto compute = [&](int64_t task, int) {
    const SequenceRows& s = sequences[task / kv_heads];
    const int64_t kv_head = task % kv_heads;
    const HeadKeys keys = ReadKeys(batch, call.kv, s.b, kv_head, s.keys);
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      for (const RowAt& at : s.rows) {
        const int64_t cell = at.index * batch.q_heads + head;
        ComputeRow(batch, call, keys, s.kv_len, at, head, result.out.data() + cell * dim,
                   result.lse.data() + cell, result.magnitude.data() + cell);
      }
    }
  };
  const int64_t tasks = static_cast<int64_t>(sequences.size()) * kv_heads;
  if (pool != nullptr) {
    pool->Run(tasks, compute);
  } else {
    for (int64_t task = 0; task < tasks; ++task) compute(task, 0);
  }
  return result;
}

}  // namespace pagoda

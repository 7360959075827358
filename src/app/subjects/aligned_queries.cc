#include "app/subjects/aligned_queries.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/subjects/elements.h"

namespace pagoda::app {
namespace {

constexpr int64_t kTargets = 4;

struct VisibleRange {
  int64_t first = 0, end = 0;
};

VisibleRange VisibleTo(const judge::CaseSpec& spec, int64_t keys, int64_t position) {
  VisibleRange v{0, keys};
  if (spec.causal) v.end = std::min(v.end, position + 1);
  if (spec.window_left >= 0 && spec.window_left < position) v.first = position - spec.window_left;
  if (spec.window_right >= 0 && spec.window_right < keys - position) {
    v.end = std::min(v.end, position + spec.window_right + 1);
  }
  return v;
}

// Keys at which a page could get lost: the first, one in the middle, one in the last full page, the last.
std::array<int64_t, kTargets> TargetKeys(const VisibleRange& v, int64_t page_size, Random& random) {
  const int64_t first_page = v.first / page_size;
  const int64_t last_page = (v.end - 1) / page_size;
  const auto in_page = [&](int64_t page) {
    return random.Between(std::max(v.first, page * page_size), std::min(v.end, (page + 1) * page_size) - 1);
  };
  const int64_t last_full = std::max(first_page, v.end % page_size == 0 ? last_page : last_page - 1);
  return {v.first, in_page((first_page + last_page) / 2), in_page(last_full), v.end - 1};
}

// Adds to `query` the multiple of the key at `k` that gives its score a good part of the weight among
// `visible` keys with unrelated ones.
void AddKey(std::vector<double>& query, const PagedKvView& kv, int64_t k, double visible, double penalty,
            double keys_in_query, double softcap) {
  const double scale = 1 / std::sqrt(static_cast<double>(kv.head_dim));
  double length = 0;
  for (int64_t d = 0; d < kv.head_dim; ++d) {
    const double x = ReadElement(kv.k, kv.dtype, k + d);
    length += x * x;
  }
  if (length == 0) return;
  double factor = 0;
  // The others' scores spread with the query's own length, which the sum of their weights grows with.
  for (int round = 0; round < 3; ++round) {
    double score = std::log(visible) + 1 + penalty + keys_in_query * factor * factor / 2;
    if (softcap > 0) score = softcap * std::atanh(std::min(score / softcap, 0.95));
    factor = std::min(score / (scale * length), 8.0);
  }
  for (int64_t d = 0; d < kv.head_dim; ++d) query[d] += factor * ReadElement(kv.k, kv.dtype, k + d);
}

}  // namespace

std::vector<int64_t> AlignQueries(const judge::CaseSpec& spec, const PageLayout& layout,
                                  const SoftmaxCall& call, Random random) {
  const PagedKvView& kv = call.kv;
  std::vector<int64_t> aligned;
  int64_t end_row = 0;
  for (size_t b = 0; b < spec.contexts.size(); ++b) {
    end_row += spec.queries[b];
    const int64_t heads = std::min(kTargets, spec.q_heads);
    const int64_t rows = std::min(spec.queries[b], (kTargets + heads - 1) / heads);
    const int64_t cells = std::min(kTargets, rows * heads);
    for (int64_t cell = 0; cell < cells; ++cell) {
      const int64_t back = cell / heads;
      const int64_t head = cell % heads * spec.q_heads / heads;
      const int64_t position = spec.contexts[b] - 1 - back;
      const VisibleRange v = VisibleTo(spec, spec.contexts[b], position);
      if (v.first >= v.end) continue;
      const std::array<int64_t, kTargets> keys = TargetKeys(v, spec.page_size, random);
      std::vector<double> query(spec.head_dim, 0.0);
      for (int64_t target = cell; target < kTargets; target += cells) {
        const int64_t j = keys[target];
        const int64_t page = layout.pages[b][j / spec.page_size];
        const int64_t at = page * kv.k_page_stride + j % spec.page_size * kv.k_slot_stride +
                           head * spec.kv_heads / spec.q_heads * kv.k_head_stride;
        const double slope =
            call.alibi_slopes.empty() ? 0 : ReadElement(call.alibi_slopes.data, DType::kF32, head);
        const int64_t targets = (kTargets - cell + cells - 1) / cells;
        AddKey(query, kv, at, static_cast<double>(v.end - v.first), slope * static_cast<double>(position - j),
               static_cast<double>(targets), spec.softcap);
      }
      const int64_t row = end_row - 1 - back;
      for (int64_t d = 0; d < spec.head_dim; ++d) {
        WriteElement(call.q.data, call.q.dtype, row * call.q.strides[0] + head * call.q.strides[1] + d,
                     query[d]);
      }
      aligned.push_back(row);
    }
  }
  std::sort(aligned.begin(), aligned.end());
  aligned.erase(std::unique(aligned.begin(), aligned.end()), aligned.end());
  return aligned;
}

}  // namespace pagoda::app

#include "app/subjects/aligned_queries.h"

#include <algorithm>
#include <cmath>

#include "app/subjects/elements.h"

namespace pagoda::app {
namespace {

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

}  // namespace

std::array<int64_t, kAlignedKeys> KeysAcrossPages(int64_t first, int64_t end, int64_t page_size,
                                                  Random& random) {
  const int64_t first_page = first / page_size;
  const int64_t last_page = (end - 1) / page_size;
  const auto in_page = [&](int64_t page) {
    return random.Between(std::max(first, page * page_size), std::min(end, (page + 1) * page_size) - 1);
  };
  const int64_t last_full = std::max(first_page, end % page_size == 0 ? last_page : last_page - 1);
  return {first, in_page((first_page + last_page) / 2), in_page(last_full), end - 1};
}

std::vector<int64_t> AlignQueries(const judge::CaseSpec& spec, const TensorView& q,
                                  const AlignmentRule& rule) {
  std::vector<int64_t> aligned;
  int64_t end_row = 0;
  for (size_t b = 0; b < spec.contexts.size(); ++b) {
    end_row += spec.queries[b];
    const int64_t heads = std::min(kAlignedKeys, spec.q_heads);
    const int64_t rows = std::min(spec.queries[b], (kAlignedKeys + heads - 1) / heads);
    const int64_t cells = std::min(kAlignedKeys, rows * heads);
    for (int64_t cell = 0; cell < cells; ++cell) {
      const int64_t back = cell / heads;
      const int64_t head = cell % heads * spec.q_heads / heads;
      const auto keys = rule.keys(b, back);
      if (!keys) continue;
      const int64_t together = (kAlignedKeys - cell + cells - 1) / cells;
      std::vector<double> query(spec.head_dim, 0.0);
      for (int64_t i = cell; i < kAlignedKeys; i += cells) {
        const int64_t key = (*keys)[i];
        const void* k = rule.key_at(b, key, head * spec.kv_heads / spec.q_heads);
        double length = 0;
        for (int64_t d = 0; d < spec.head_dim; ++d) length += std::pow(ReadElement(k, spec.dtype, d), 2);
        if (length == 0) continue;
        const double factor = rule.factor(b, back, head, key, length, together);
        for (int64_t d = 0; d < spec.head_dim; ++d) query[d] += factor * ReadElement(k, spec.dtype, d);
      }
      const int64_t row = end_row - 1 - back;
      for (int64_t d = 0; d < spec.head_dim; ++d)
        WriteElement(q.data, q.dtype, row * q.strides[0] + head * q.strides[1] + d, query[d]);
      aligned.push_back(row);
    }
  }
  std::sort(aligned.begin(), aligned.end());
  aligned.erase(std::unique(aligned.begin(), aligned.end()), aligned.end());
  return aligned;
}

std::vector<int64_t> AlignSoftmaxQueries(const judge::CaseSpec& spec, const PageLayout& layout,
                                         const SoftmaxCall& call, Random random) {
  const PagedKvView& kv = call.kv;
  const auto visible = [&](size_t b, int64_t back) {
    return VisibleTo(spec, spec.contexts[b], spec.contexts[b] - 1 - back);
  };
  AlignmentRule rule;
  rule.keys = [&](size_t b, int64_t back) -> std::optional<std::array<int64_t, kAlignedKeys>> {
    const VisibleRange v = visible(b, back);
    if (v.first >= v.end) return std::nullopt;
    return KeysAcrossPages(v.first, v.end, spec.page_size, random);
  };
  rule.key_at = [&](size_t b, int64_t key, int64_t kv_head) {
    return KeyIn(kv, layout.pages[b], key, kv_head);
  };
  rule.factor = [&](size_t b, int64_t back, int64_t head, int64_t key, double length, int64_t together) {
    const VisibleRange v = visible(b, back);
    const double scale = 1 / std::sqrt(static_cast<double>(spec.head_dim));
    const double slope =
        call.alibi_slopes.empty() ? 0 : ReadElement(call.alibi_slopes.data, DType::kF32, head);
    const double penalty = slope * static_cast<double>(spec.contexts[b] - 1 - back - key);
    double factor = 0;
    // The others' scores spread with the query's own length, which the sum of their weights grows with.
    for (int round = 0; round < 3; ++round) {
      double score = std::log(static_cast<double>(v.end - v.first)) + 1 + penalty +
                     static_cast<double>(together) * factor * factor / 2;
      if (spec.softcap > 0) score = spec.softcap * std::atanh(std::min(score / spec.softcap, 0.95));
      factor = std::min(score / (scale * length), 8.0);
    }
    return factor;
  };
  return AlignQueries(spec, call.q, rule);
}

}  // namespace pagoda::app

#include "app/subjects/planted_faults.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/subjects/elements.h"
#include "engine/attention/hstu/mask.h"
#include "judge/bench/case_name.h"

namespace pagoda::app {
namespace {

constexpr std::array kFaults = {
    std::pair{PlantedFault::kStaleOutput, "stale_output"},
    std::pair{PlantedFault::kReplayedOutput, "replayed_output"},
    std::pair{PlantedFault::kZeros, "zeros"},
    std::pair{PlantedFault::kOneNaN, "one_nan"},
    std::pair{PlantedFault::kOneWrongElement, "one_wrong_element"},
    std::pair{PlantedFault::kWindowWider, "window_wider"},
    std::pair{PlantedFault::kWindowNarrower, "window_narrower"},
    std::pair{PlantedFault::kCausalOffByOne, "causal_off_by_one"},
    std::pair{PlantedFault::kNoTailMask, "no_tail_mask"},
    std::pair{PlantedFault::kWritesPastOutput, "writes_past_output"},
    std::pair{PlantedFault::kWritesBeforeOutput, "writes_before_output"},
    std::pair{PlantedFault::kWritesPastWorkspace, "writes_past_workspace"},
    std::pair{PlantedFault::kMutatedInput, "mutated_input"},
    std::pair{PlantedFault::kWrongAfterTenCalls, "wrong_after_ten_calls"},
    std::pair{PlantedFault::kLastKeyDropped, "last_key_dropped"},
    std::pair{PlantedFault::kMiddlePageDropped, "middle_page_dropped"},
    std::pair{PlantedFault::kPageSwapped, "page_swapped"},
    std::pair{PlantedFault::kTargetsShifted, "targets_shifted"},
    std::pair{PlantedFault::kGroupsIgnored, "groups_ignored"},
    std::pair{PlantedFault::kContextualIgnored, "contextual_ignored"},
    std::pair{PlantedFault::kAttnLenOffByOne, "attn_len_off_by_one"},
    std::pair{PlantedFault::kFullRowsIgnored, "full_rows_ignored"},
    std::pair{PlantedFault::kRabIgnored, "rab_ignored"},
};

int calls = 0;
std::vector<std::byte> recorded;

// The right variant of an operator.
struct SoftmaxSide {
  using Normal = NormalBatch;
  using PlanImpl = SoftmaxPlanImpl;
  using Call = SoftmaxCall;
  using Variant = SoftmaxVariant;
  static const Variant& Right() { return *FindSoftmaxVariant("spmd_paged_attention"); }
  static std::unique_ptr<PlanImpl> PlanRight(const Normal& batch, int threads) {
    return Right().plan(batch, threads);
  }
};
struct HstuSide {
  using Normal = NormalHstuBatch;
  using PlanImpl = HstuPlanImpl;
  using Call = HstuCall;
  using Variant = HstuVariant;
  static const Variant& Right() { return *FindHstuVariant("hstu_fused"); }
  static std::unique_ptr<PlanImpl> PlanRight(const Normal& batch, int threads) {
    return Right().plan(batch, threads, {});
  }
};

template <typename Side>
struct FaultyPlan : Side::PlanImpl {
  std::unique_ptr<typename Side::PlanImpl>
      inner;  // of the right variant, over the batch as the fault sees it
};

template <typename Normal>
int64_t PagesOf(const Normal& batch, int64_t b) {
  return batch.page_begin[b + 1] - batch.page_begin[b];
}

// The sequence with most keys, and which of its pages a fault takes: a third of the way through what its last
// row sees, where no query of the inputs was aligned on purpose.
template <typename Normal>
int64_t LongestSequence(const Normal& batch) {
  return std::max_element(batch.kv_len.begin(), batch.kv_len.end()) - batch.kv_len.begin();
}
// The first key that a sequence's last row sees.
int64_t FirstKeySeen(const NormalBatch& batch, int64_t b) {
  return batch.window_left < 0 ? 0 : std::max<int64_t>(0, batch.kv_len[b] - 1 - batch.window_left);
}
int64_t FirstKeySeen(const NormalHstuBatch& batch, int64_t b) {
  const RowSight sight = SightOf(batch, b, batch.q_len(b) - 1);
  return sight.ranges().empty() ? 0 : sight.ranges().front().begin;
}
template <typename Normal>
int64_t PageToHit(const Normal& batch, int64_t b) {
  const int64_t first_page = FirstKeySeen(batch, b) / batch.kv.page_size;
  return first_page + (PagesOf(batch, b) - first_page) / 3;
}

template <typename Normal>
int64_t UnownedPage(const Normal& batch) {
  int64_t page = 0;
  while (std::find(batch.page_ids.begin(), batch.page_ids.end(), page) != batch.page_ids.end()) ++page;
  return page;
}

void RemovePage(NormalBatch& batch, int64_t b, int64_t nth) {
  batch.page_ids.erase(batch.page_ids.begin() + batch.page_begin[b] + nth);
  for (size_t i = b + 1; i < batch.page_begin.size(); ++i) --batch.page_begin[i];
}

void DropLastKey(NormalBatch& batch) {
  for (int64_t b = 0; b < batch.batch; ++b) {
    if (batch.kv_len[b] == 0) continue;
    --batch.kv_len[b];
    if (batch.kv_len[b] % batch.kv.page_size == 0) RemovePage(batch, b, PagesOf(batch, b) - 1);
  }
}

void DropMiddlePage(NormalBatch& batch) {
  const int64_t b = LongestSequence(batch);
  RemovePage(batch, b, PageToHit(batch, b));
  batch.kv_len[b] -= batch.kv.page_size;
}

// Reads the next page twice, or one that nobody owns where there is no next.
template <typename Normal>
void SwapPage(Normal& batch) {
  const int64_t b = LongestSequence(batch);
  const int64_t nth = PageToHit(batch, b);
  const int64_t at = batch.page_begin[b] + nth;
  batch.page_ids[at] = nth + 1 < PagesOf(batch, b) ? batch.page_ids[at + 1] : UnownedPage(batch);
}

// What is the same in both operators.
template <typename Normal>
void ChangeEither(PlantedFault fault, Normal& batch) {
  if (fault == PlantedFault::kWindowWider) ++batch.window_left;
  if (fault == PlantedFault::kWindowNarrower) --batch.window_left;
  if (fault == PlantedFault::kPageSwapped) SwapPage(batch);
}

void ChangeBatch(PlantedFault fault, NormalBatch& batch) {
  switch (fault) {
    case PlantedFault::kCausalOffByOne:
      batch.causal = false;
      batch.window_right = 1;
      break;
    case PlantedFault::kNoTailMask:
      for (int64_t b = 0; b < batch.batch; ++b) batch.kv_len[b] = PagesOf(batch, b) * batch.kv.page_size;
      break;
    case PlantedFault::kLastKeyDropped:
      DropLastKey(batch);
      break;
    case PlantedFault::kMiddlePageDropped:
      DropMiddlePage(batch);
      break;
    default:
      break;
  }
}

// An HSTU mask is changed row by row, as intervals.
template <typename Change>
void ChangeSights(NormalHstuBatch& batch, Change change) {
  std::vector<KeyRange> intervals;
  std::vector<int64_t> begin{0};
  for (int64_t b = 0; b < batch.batch; ++b) {
    for (int64_t a = 0; a < batch.q_len(b); ++a) {
      const RowSight sight = SightOf(batch, b, a);
      std::vector<KeyRange> row(sight.ranges().begin(), sight.ranges().end());
      change(b, row);
      for (const KeyRange& range : Merged(std::move(row))) intervals.push_back(range);
      begin.push_back(std::ssize(intervals));
    }
  }
  batch.mask = HstuMask::kInterval;
  batch.intervals = std::move(intervals);
  batch.interval_begin = std::move(begin);
}

void DropPageFromSight(NormalHstuBatch& batch) {
  const int64_t hit = LongestSequence(batch);
  const int64_t first = PageToHit(batch, hit) * batch.kv.page_size;
  const KeyRange page{first, std::min(first + batch.kv.page_size, batch.cached[hit])};
  ChangeSights(batch, [&](int64_t b, std::vector<KeyRange>& row) {
    if (b != hit) return;
    const std::vector<KeyRange> before = row;
    row.clear();
    for (const KeyRange& range : before) {
      row.push_back({range.begin, std::min(range.end, page.begin)});
      row.push_back({std::max(range.begin, page.end), range.end});
    }
  });
}

// Rows that see the last key of the cache see the whole last page.
void SeeWholeTails(NormalHstuBatch& batch) {
  std::vector<int64_t> tails(static_cast<size_t>(batch.batch));
  for (int64_t b = 0; b < batch.batch; ++b)
    tails[b] = PagesOf(batch, b) * batch.kv.page_size - batch.cached[b];
  ChangeSights(batch, [&](int64_t b, std::vector<KeyRange>& row) {
    for (KeyRange& range : row) {
      if (range.begin >= batch.cached[b]) range.begin += tails[b];
      if (range.end >= batch.cached[b]) range.end += tails[b];
    }
  });
  for (int64_t b = 0; b < batch.batch; ++b) {
    batch.cached[b] += tails[b];
    batch.kv_len[b] += tails[b];
  }
}

void ChangeBatch(PlantedFault fault, NormalHstuBatch& batch) {
  switch (fault) {
    case PlantedFault::kCausalOffByOne:
      ChangeSights(batch, [&](int64_t b, std::vector<KeyRange>& row) {
        if (!row.empty()) row.back().end = std::min(row.back().end + 1, batch.kv_len[b]);
      });
      break;
    case PlantedFault::kNoTailMask:
      SeeWholeTails(batch);
      break;
    case PlantedFault::kLastKeyDropped:
      ChangeSights(batch, [](int64_t, std::vector<KeyRange>& row) {
        if (!row.empty()) --row.back().end;
      });
      break;
    case PlantedFault::kMiddlePageDropped:
      DropPageFromSight(batch);
      break;
    case PlantedFault::kTargetsShifted:
      for (int64_t& row : batch.k_begin) --row;
      break;
    case PlantedFault::kGroupsIgnored:
      batch.group_size = std::numeric_limits<int32_t>::max();
      break;
    case PlantedFault::kContextualIgnored:
      std::fill(batch.contextual.begin(), batch.contextual.end(), 0);
      break;
    case PlantedFault::kAttnLenOffByOne:
      ++batch.max_attn_len;
      break;
    case PlantedFault::kFullRowsIgnored:
      batch.min_full_attn_seq_len = 0;
      break;
    default:
      break;
  }
}

template <typename Call>
size_t OutBytes(const Call& call) {
  return call.out.elements() * SizeOf(call.out.dtype);
}
template <typename Call>
std::byte* OutData(const Call& call) {
  return static_cast<std::byte*>(call.out.data);
}

void Scale(const TensorView& t, int64_t element, double factor) {
  WriteElement(t.data, t.dtype, element, factor * ReadElement(t.data, t.dtype, element));
}

// The largest element of the last row that isn't all zeros, so that a twentieth of it isn't nothing.
int64_t LargestInLastRow(const TensorView& out) {
  const int64_t row = out.shape[1] * out.shape[2];
  const auto size = [&](int64_t i) { return std::abs(ReadElement(out.data, out.dtype, i)); };
  for (int64_t first = out.elements() - row; first >= 0; first -= row) {
    int64_t largest = first;
    for (int64_t i = first; i < first + row; ++i) {
      if (size(i) > size(largest)) largest = i;
    }
    if (size(largest) > 0) return largest;
  }
  return out.elements() - row;
}

// A fixed value into a page that the batch does not own, so that writing it again doesn't undo it.
template <typename Normal, typename Call>
void WriteToUnownedPage(const Normal& batch, const Call& call) {
  WriteElement(call.kv.k, call.kv.dtype, UnownedPage(batch) * call.kv.k_page_stride, 1.0);
}

template <typename Normal, typename Call>
void ChangeOutput(PlantedFault fault, const Call& call, std::span<std::byte> workspace, const Normal& batch) {
  switch (fault) {
    case PlantedFault::kReplayedOutput:
      if (recorded.empty()) recorded.assign(OutData(call), OutData(call) + OutBytes(call));
      std::memcpy(OutData(call), recorded.data(), std::min(recorded.size(), OutBytes(call)));
      break;
    case PlantedFault::kZeros:
      std::memset(OutData(call), 0, OutBytes(call));
      break;
    case PlantedFault::kOneNaN:
      FillNaN(call.out.data, call.out.dtype, 0, 1);
      break;
    case PlantedFault::kOneWrongElement:
      Scale(call.out, LargestInLastRow(call.out), 1.05);
      break;
    case PlantedFault::kWritesPastOutput:
      WriteElement(call.out.data, call.out.dtype, call.out.elements(), 0);
      break;
    case PlantedFault::kWritesBeforeOutput:
      WriteElement(call.out.data, call.out.dtype, -1, 0);
      break;
    case PlantedFault::kWritesPastWorkspace:
      workspace.data()[workspace.size()] = std::byte{0};
      break;
    case PlantedFault::kMutatedInput:
      WriteToUnownedPage(batch, call);
      break;
    case PlantedFault::kWrongAfterTenCalls:
      if (calls > 10) Scale(call.out, LargestInLastRow(call.out), 1.05);
      break;
    default:
      break;
  }
}

template <typename Side, PlantedFault kFault>
std::unique_ptr<typename Side::PlanImpl> Plan(const typename Side::Normal& batch, int threads) {
  typename Side::Normal changed = batch;
  ChangeEither(kFault, changed);
  ChangeBatch(kFault, changed);
  auto plan = std::make_unique<FaultyPlan<Side>>();
  plan->inner = Side::PlanRight(changed, threads);
  plan->inner->variant = &Side::Right();
  plan->inner->threads = threads;
  plan->inner->batch = std::move(changed);
  plan->workspace_bytes = plan->inner->workspace_bytes;
  return plan;
}

template <typename Side, PlantedFault kFault>
void Run(const typename Side::PlanImpl& plan, const typename Side::Call& call, std::span<std::byte> workspace,
         ThreadPool& pool) {
  ++calls;
  if (kFault == PlantedFault::kStaleOutput && calls > 1) return;
  const typename Side::PlanImpl& inner = *static_cast<const FaultyPlan<Side>&>(plan).inner;
  typename Side::Call changed = call;
  if constexpr (kFault == PlantedFault::kRabIgnored && std::is_same_v<Side, HstuSide>) changed.rab = {};
  Side::Right().run(inner, changed, workspace, pool);
  ChangeOutput(kFault, call, workspace, inner.batch);
}

template <typename Side, PlantedFault kFault>
const typename Side::Variant& Make() {
  static const typename Side::Variant variant = [] {
    typename Side::Variant v = Side::Right();
    v.name = "planted";
    if constexpr (std::is_same_v<Side, HstuSide>) {
      v.plan = [](const NormalHstuBatch& batch, int threads, const HstuPlanOptions&) {
        return Plan<Side, kFault>(batch, threads);
      };
    } else {
      v.plan = Plan<Side, kFault>;
    }
    v.run = Run<Side, kFault>;
    return v;
  }();
  return variant;
}

template <typename Side, size_t... kIndex>
const typename Side::Variant& Pick(PlantedFault fault, std::index_sequence<kIndex...>) {
  calls = 0;
  recorded.clear();
  const typename Side::Variant* found = nullptr;
  ((kFaults[kIndex].first == fault ? void(found = &Make<Side, kFaults[kIndex].first>()) : void()), ...);
  return *found;
}

// Of a case file nothing is known of what rows see.
bool AppliesToAnyMask(PlantedFault fault, bool paged) {
  constexpr std::array kNever = {
      PlantedFault::kWindowWider,     PlantedFault::kWindowNarrower,    PlantedFault::kCausalOffByOne,
      PlantedFault::kNoTailMask,      PlantedFault::kMiddlePageDropped, PlantedFault::kTargetsShifted,
      PlantedFault::kGroupsIgnored,   PlantedFault::kContextualIgnored, PlantedFault::kAttnLenOffByOne,
      PlantedFault::kFullRowsIgnored, PlantedFault::kRabIgnored};
  if (std::find(kNever.begin(), kNever.end(), fault) != kNever.end()) return false;
  return paged || (fault != PlantedFault::kMutatedInput && fault != PlantedFault::kPageSwapped);
}

// A row whose place is beyond how far it sees.
bool AnyRowBeyondAttnLen(const judge::CaseSpec& spec) {
  return std::any_of(spec.contexts.begin(), spec.contexts.end(), [&](int64_t keys) {
    return keys - spec.targets - std::max<int64_t>(0, spec.contextual - 1) > spec.max_attn_len + 1;
  });
}

}  // namespace

std::span<const PlantedFault> PlantedFaults() {
  static const auto all = [] {
    std::array<PlantedFault, kFaults.size()> faults{};
    std::transform(kFaults.begin(), kFaults.end(), faults.begin(),
                   [](const auto& entry) { return entry.first; });
    return faults;
  }();
  return all;
}

std::string NameOf(PlantedFault fault) {
  return std::find_if(kFaults.begin(), kFaults.end(), [&](const auto& entry) { return entry.first == fault; })
      ->second;
}

bool Applies(PlantedFault fault, const judge::CaseSpec& spec) {
  const auto any = [&](auto predicate) {
    for (size_t b = 0; b < spec.contexts.size(); ++b) {
      if (predicate(spec.contexts[b], spec.queries[b])) return true;
    }
    return false;
  };
  if (spec.file) return AppliesToAnyMask(fault, spec.op == judge::CaseOp::kHstuPaged);
  switch (fault) {
    case PlantedFault::kWindowWider:
      // A row with a key beyond its window.
      return spec.window_left >= 0 && any([&](int64_t keys, int64_t) { return keys > spec.window_left + 1; });
    case PlantedFault::kWindowNarrower:
      // With 0 it would become -1, which is no window.
      return spec.window_left >= 1 && any([&](int64_t keys, int64_t) { return keys > spec.window_left; });
    case PlantedFault::kCausalOffByOne:
      return spec.causal && any([](int64_t, int64_t rows) { return rows > 1; });
    case PlantedFault::kNoTailMask:
      return any([&](int64_t keys, int64_t) { return (keys - spec.targets) % spec.page_size != 0; });
    case PlantedFault::kMiddlePageDropped:
      // Of softmax the page's keys are taken from the sequence, which must still have as many as rows.
      return any([&](int64_t keys, int64_t rows) {
        return judge::IsHstu(spec.op) ? keys - spec.targets > spec.page_size : keys - spec.page_size >= rows;
      });
    case PlantedFault::kTargetsShifted:
      return spec.targets > 0 && spec.queries[0] > spec.targets;  // else there is no row before
    case PlantedFault::kGroupsIgnored:
      return spec.targets > spec.target_group && spec.max_attn_len == 0;
    case PlantedFault::kContextualIgnored:
      // The first rows are contextual, and see keys behind them.
      return spec.contextual > 0 && any([&](int64_t keys, int64_t rows) {
               return keys - rows < spec.contextual && keys - spec.targets > keys - rows + 1;
             });
    case PlantedFault::kAttnLenOffByOne:
      return spec.max_attn_len > 0 && AnyRowBeyondAttnLen(spec);
    case PlantedFault::kFullRowsIgnored:
      return spec.min_full_attn_seq_len > 0 && AnyRowBeyondAttnLen(spec);
    case PlantedFault::kRabIgnored:
      return spec.rab;
    default:
      return true;
  }
}

std::vector<judge::CaseSpec> PlantedFaultCases() {
  std::vector<judge::CaseSpec> cases;
  for (const char* name : {
           "b2_h4_kv2_s130_bs16_hd64_bf16_q8_wl7",
           "b1_h3_kv1_s77_bs8_hd40_f32_q5_noncausal_wl6_wr3",
           "b2_h4_kv4_s40-9_bs16_hd64_f16_decode_wl12_cap20_alibi_sinks",
           "b3_h6_kv2_s33_bs1_hd80_f16_decode_combined_padded_i64",
       }) {
    cases.push_back(judge::ParseCaseName(name));
  }
  judge::CaseSpec shared = judge::ParseCaseName("b3_h4_kv2_s600-540-100_bs64_hd64_bf16_q5-1x2_wl90");
  shared.blocks = {{0, 1}, {0, 2}, {0}};
  cases.push_back(shared);
  return cases;
}

std::vector<judge::CaseSpec> HstuFaultCases() {
  std::vector<judge::CaseSpec> cases;
  for (const char* name : {
           "hstu_b2_h4_kv2_s130_bs16_hd64_bf16_q8_wl7",
           "hstu_b2_h4_kv2_s90-61_bs16_hd64_bf16_q61_hnd_i64_t12_g3_c5_rab",
           "hstu_b1_h3_kv1_s77_bs8_hd40_f32_q30_t4_c2_al30_fa5",
           "hstu_b3_h2_kv2_s33_bs1_hd80_f16_decode_combined_padded",
       }) {
    cases.push_back(judge::ParseCaseName(name));
  }
  return cases;
}

const SoftmaxVariant& VariantWith(PlantedFault fault) {
  return Pick<SoftmaxSide>(fault, std::make_index_sequence<kFaults.size()>());
}

const HstuVariant& HstuVariantWith(PlantedFault fault) {
  return Pick<HstuSide>(fault, std::make_index_sequence<kFaults.size()>());
}

}  // namespace pagoda::app

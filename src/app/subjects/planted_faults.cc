#include "app/subjects/planted_faults.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "app/subjects/elements.h"
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
};

int calls = 0;
std::vector<std::byte> recorded;

const SoftmaxVariant& Right() { return *FindSoftmaxVariant("spmd_paged_attention"); }

struct FaultyPlan : SoftmaxPlanImpl {
  std::unique_ptr<SoftmaxPlanImpl> inner;  // of the right variant, over the batch as the fault sees it
};

int64_t PagesOf(const NormalBatch& batch, int64_t b) { return batch.page_begin[b + 1] - batch.page_begin[b]; }

// The sequence with most keys, and which of its pages a fault takes: a third of the way through what its last
// row sees, where no query of the inputs was aligned on purpose.
int64_t LongestSequence(const NormalBatch& batch) {
  return std::max_element(batch.kv_len.begin(), batch.kv_len.end()) - batch.kv_len.begin();
}
int64_t PageToHit(const NormalBatch& batch, int64_t b) {
  const int64_t last_row = batch.kv_len[b] - 1;
  const int64_t first_key = batch.window_left < 0 ? 0 : std::max<int64_t>(0, last_row - batch.window_left);
  const int64_t first_page = first_key / batch.kv.page_size;
  return first_page + (PagesOf(batch, b) - first_page) / 3;
}

int64_t UnownedPage(const NormalBatch& batch) {
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
void SwapPage(NormalBatch& batch) {
  const int64_t b = LongestSequence(batch);
  const int64_t nth = PageToHit(batch, b);
  const int64_t at = batch.page_begin[b] + nth;
  batch.page_ids[at] = nth + 1 < PagesOf(batch, b) ? batch.page_ids[at + 1] : UnownedPage(batch);
}

void ChangeBatch(PlantedFault fault, NormalBatch& batch) {
  switch (fault) {
    case PlantedFault::kWindowWider:
      ++batch.window_left;
      break;
    case PlantedFault::kWindowNarrower:
      --batch.window_left;
      break;
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
    case PlantedFault::kPageSwapped:
      SwapPage(batch);
      break;
    default:
      break;
  }
}

size_t OutBytes(const SoftmaxCall& call) { return call.out.elements() * SizeOf(call.out.dtype); }
std::byte* OutData(const SoftmaxCall& call) { return static_cast<std::byte*>(call.out.data); }

void Scale(const TensorView& t, int64_t element, double factor) {
  WriteElement(t.data, t.dtype, element, factor * ReadElement(t.data, t.dtype, element));
}

// The largest element of the last row, so that a twentieth of it isn't nothing.
int64_t LargestInLastRow(const TensorView& out) {
  const int64_t row = out.shape[1] * out.shape[2];
  int64_t largest = out.elements() - row;
  for (int64_t i = largest; i < out.elements(); ++i) {
    if (std::abs(ReadElement(out.data, out.dtype, i)) > std::abs(ReadElement(out.data, out.dtype, largest))) {
      largest = i;
    }
  }
  return largest;
}

// A fixed value into a page that the batch does not own, so that writing it again doesn't undo it.
void WriteToUnownedPage(const NormalBatch& batch, const SoftmaxCall& call) {
  WriteElement(call.kv.k, call.kv.dtype, UnownedPage(batch) * call.kv.k_page_stride, 1.0);
}

void ChangeOutput(PlantedFault fault, const SoftmaxCall& call, std::span<std::byte> workspace,
                  const NormalBatch& batch) {
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

template <PlantedFault kFault>
std::unique_ptr<SoftmaxPlanImpl> Plan(const NormalBatch& batch, int threads) {
  NormalBatch changed = batch;
  ChangeBatch(kFault, changed);
  auto plan = std::make_unique<FaultyPlan>();
  plan->inner = Right().plan(changed, threads);
  plan->inner->variant = &Right();
  plan->inner->threads = threads;
  plan->inner->batch = std::move(changed);
  plan->workspace_bytes = plan->inner->workspace_bytes;
  return plan;
}

template <PlantedFault kFault>
void Run(const SoftmaxPlanImpl& plan, const SoftmaxCall& call, std::span<std::byte> workspace,
         ThreadPool& pool) {
  ++calls;
  if (kFault == PlantedFault::kStaleOutput && calls > 1) return;
  const SoftmaxPlanImpl& inner = *static_cast<const FaultyPlan&>(plan).inner;
  Right().run(inner, call, workspace, pool);
  ChangeOutput(kFault, call, workspace, inner.batch);
}

template <PlantedFault kFault>
const SoftmaxVariant& Make() {
  static const SoftmaxVariant variant = [] {
    SoftmaxVariant v = Right();
    v.name = "planted";
    v.plan = Plan<kFault>;
    v.run = Run<kFault>;
    return v;
  }();
  return variant;
}

template <size_t... kIndex>
const SoftmaxVariant& Pick(PlantedFault fault, std::index_sequence<kIndex...>) {
  const SoftmaxVariant* found = nullptr;
  ((kFaults[kIndex].first == fault ? void(found = &Make<kFaults[kIndex].first>()) : void()), ...);
  return *found;
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
      return any([&](int64_t keys, int64_t) { return keys % spec.page_size != 0; });
    case PlantedFault::kMiddlePageDropped:
      return any([&](int64_t keys, int64_t rows) { return keys - spec.page_size >= rows; });
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

const SoftmaxVariant& VariantWith(PlantedFault fault) {
  calls = 0;
  recorded.clear();
  return Pick(fault, std::make_index_sequence<kFaults.size()>());
}

}  // namespace pagoda::app

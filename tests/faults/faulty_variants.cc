#include "faults/faulty_variants.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "app/subjects/elements.h"

namespace pagoda::faults {
namespace {

constexpr std::array kFaults = {
    std::pair{Fault::kStaleOutput, "StaleOutput"},
    std::pair{Fault::kReplayedOutput, "ReplayedOutput"},
    std::pair{Fault::kZeros, "Zeros"},
    std::pair{Fault::kOneNaN, "OneNaN"},
    std::pair{Fault::kOneWrongElement, "OneWrongElement"},
    std::pair{Fault::kWindowWider, "WindowWider"},
    std::pair{Fault::kWindowNarrower, "WindowNarrower"},
    std::pair{Fault::kCausalOffByOne, "CausalOffByOne"},
    std::pair{Fault::kNoTailMask, "NoTailMask"},
    std::pair{Fault::kWritesPastOutput, "WritesPastOutput"},
    std::pair{Fault::kWritesBeforeOutput, "WritesBeforeOutput"},
    std::pair{Fault::kWritesPastWorkspace, "WritesPastWorkspace"},
    std::pair{Fault::kMutatedInput, "MutatedInput"},
    std::pair{Fault::kWrongAfterTenCalls, "WrongAfterTenCalls"},
    std::pair{Fault::kLastKeyDropped, "LastKeyDropped"},
    std::pair{Fault::kMiddlePageDropped, "MiddlePageDropped"},
    std::pair{Fault::kPageSwapped, "PageSwapped"},
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

void ChangeBatch(Fault fault, NormalBatch& batch) {
  switch (fault) {
    case Fault::kWindowWider:
      ++batch.window_left;
      break;
    case Fault::kWindowNarrower:
      --batch.window_left;
      break;
    case Fault::kCausalOffByOne:
      batch.causal = false;
      batch.window_right = 1;
      break;
    case Fault::kNoTailMask:
      for (int64_t b = 0; b < batch.batch; ++b) batch.kv_len[b] = PagesOf(batch, b) * batch.kv.page_size;
      break;
    case Fault::kLastKeyDropped:
      DropLastKey(batch);
      break;
    case Fault::kMiddlePageDropped:
      DropMiddlePage(batch);
      break;
    case Fault::kPageSwapped:
      SwapPage(batch);
      break;
    default:
      break;
  }
}

size_t OutBytes(const SoftmaxCall& call) { return call.out.elements() * SizeOf(call.out.dtype); }
std::byte* OutData(const SoftmaxCall& call) { return static_cast<std::byte*>(call.out.data); }

void Scale(const TensorView& t, int64_t element, double factor) {
  app::WriteElement(t.data, t.dtype, element, factor * app::ReadElement(t.data, t.dtype, element));
}

// The largest element of the last row, so that a twentieth of it isn't nothing.
int64_t LargestInLastRow(const TensorView& out) {
  const int64_t row = out.shape[1] * out.shape[2];
  int64_t largest = out.elements() - row;
  for (int64_t i = largest; i < out.elements(); ++i) {
    if (std::abs(app::ReadElement(out.data, out.dtype, i)) >
        std::abs(app::ReadElement(out.data, out.dtype, largest))) {
      largest = i;
    }
  }
  return largest;
}

// A fixed value into a page that the batch does not own, so that writing it again doesn't undo it.
void WriteToUnownedPage(const NormalBatch& batch, const SoftmaxCall& call) {
  app::WriteElement(call.kv.k, call.kv.dtype, UnownedPage(batch) * call.kv.k_page_stride, 1.0);
}

void ChangeOutput(Fault fault, const SoftmaxCall& call, std::span<std::byte> workspace,
                  const NormalBatch& batch) {
  switch (fault) {
    case Fault::kReplayedOutput:
      if (recorded.empty()) recorded.assign(OutData(call), OutData(call) + OutBytes(call));
      std::memcpy(OutData(call), recorded.data(), std::min(recorded.size(), OutBytes(call)));
      break;
    case Fault::kZeros:
      std::memset(OutData(call), 0, OutBytes(call));
      break;
    case Fault::kOneNaN:
      app::FillNaN(call.out.data, call.out.dtype, 0, 1);
      break;
    case Fault::kOneWrongElement:
      Scale(call.out, LargestInLastRow(call.out), 1.05);
      break;
    case Fault::kWritesPastOutput:
      app::WriteElement(call.out.data, call.out.dtype, call.out.elements(), 0);
      break;
    case Fault::kWritesBeforeOutput:
      app::WriteElement(call.out.data, call.out.dtype, -1, 0);
      break;
    case Fault::kWritesPastWorkspace:
      workspace.data()[workspace.size()] = std::byte{0};
      break;
    case Fault::kMutatedInput:
      WriteToUnownedPage(batch, call);
      break;
    case Fault::kWrongAfterTenCalls:
      if (calls > 10) Scale(call.out, LargestInLastRow(call.out), 1.05);
      break;
    default:
      break;
  }
}

template <Fault kFault>
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

template <Fault kFault>
void Run(const SoftmaxPlanImpl& plan, const SoftmaxCall& call, std::span<std::byte> workspace,
         ThreadPool& pool) {
  ++calls;
  if (kFault == Fault::kStaleOutput && calls > 1) return;
  const SoftmaxPlanImpl& inner = *static_cast<const FaultyPlan&>(plan).inner;
  Right().run(inner, call, workspace, pool);
  ChangeOutput(kFault, call, workspace, inner.batch);
}

template <Fault kFault>
const SoftmaxVariant& Make() {
  static const SoftmaxVariant variant = [] {
    SoftmaxVariant v = Right();
    v.name = "faulty";
    v.plan = Plan<kFault>;
    v.run = Run<kFault>;
    return v;
  }();
  return variant;
}

template <size_t... kIndex>
const SoftmaxVariant& Pick(Fault fault, std::index_sequence<kIndex...>) {
  const SoftmaxVariant* found = nullptr;
  ((kFaults[kIndex].first == fault ? void(found = &Make<kFaults[kIndex].first>()) : void()), ...);
  return *found;
}

}  // namespace

std::span<const Fault> AllFaults() {
  static const auto all = [] {
    std::array<Fault, kFaults.size()> faults{};
    std::transform(kFaults.begin(), kFaults.end(), faults.begin(),
                   [](const auto& entry) { return entry.first; });
    return faults;
  }();
  return all;
}

std::string NameOf(Fault fault) {
  return std::find_if(kFaults.begin(), kFaults.end(), [&](const auto& entry) { return entry.first == fault; })
      ->second;
}

bool Applies(Fault fault, const judge::CaseSpec& spec) {
  const auto any = [&](auto predicate) {
    for (size_t b = 0; b < spec.contexts.size(); ++b) {
      if (predicate(spec.contexts[b], spec.queries[b])) return true;
    }
    return false;
  };
  switch (fault) {
    case Fault::kWindowWider:
      // A row with a key beyond its window.
      return spec.window_left >= 0 && any([&](int64_t keys, int64_t) { return keys > spec.window_left + 1; });
    case Fault::kWindowNarrower:
      // With 0 it would become -1, which is no window.
      return spec.window_left >= 1 && any([&](int64_t keys, int64_t) { return keys > spec.window_left; });
    case Fault::kCausalOffByOne:
      return spec.causal && any([](int64_t, int64_t rows) { return rows > 1; });
    case Fault::kNoTailMask:
      return any([&](int64_t keys, int64_t) { return keys % spec.page_size != 0; });
    case Fault::kMiddlePageDropped:
      return any([&](int64_t keys, int64_t rows) { return keys - spec.page_size >= rows; });
    default:
      return true;
  }
}

const SoftmaxVariant& Faulty(Fault fault) {
  Reset();
  return Pick(fault, std::make_index_sequence<kFaults.size()>());
}

void Reset() {
  calls = 0;
  recorded.clear();
}

}  // namespace pagoda::faults

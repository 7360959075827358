// Prints how fast hstu_gather_serial copies, beside what the machine reads and copies: the variant itself,
// with kernels that copy and compute nothing. A baseline that copied badly would flatter whoever is compared
// with it. It writes to a workspace that stays in the cache, so that reading is the nearer bound.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/sys/clock.h"
#include "engine/attention/kernels/kernels.h"
#include "engine/attention/kernels/tables.h"
#include "engine/simd/ceilings.h"
#include "pagoda/hstu.h"
#include "pagoda/thread_pool.h"

namespace pagoda {
namespace {

constexpr int64_t kHeads = 16, kDim = 256, kPageSize = 32;
constexpr size_t kCaches = 6;  // that take turns, so that each is cold again
constexpr int kCalls = 31;

AttentionKernels CopyingOnly() {
  AttentionKernels table = ActiveAttentionKernels();
  table.qk = [](DType, const KeyRun&, const float*, int64_t, int64_t, float, float*, int64_t) {};
  table.pv = [](DType, const KeyRun&, const float*, int64_t, int64_t, float*, int64_t) {};
  table.silu = [](float*, int64_t, float) {};
  return table;
}

// GB/s of K and V, in the median call over `batch` sequences of `keys` keys.
double CopyRate(int64_t batch, int64_t keys, int threads) {
  const int64_t pages = batch * keys / kPageSize;
  const int64_t elements = pages * kPageSize * kHeads * kDim;
  std::vector<Buffer> k;
  std::vector<Buffer> v;
  for (size_t i = 0; i < kCaches; ++i) {
    for (std::vector<Buffer>* buffers : {&k, &v}) {
      buffers->emplace_back(static_cast<size_t>(elements) * 2);
      std::fill_n(buffers->back().data(), buffers->back().size(), std::byte{0});
    }
  }
  std::vector<int64_t> rows(static_cast<size_t>(batch + 1));
  std::vector<int64_t> indptr(rows.size());
  for (size_t b = 0; b < rows.size(); ++b) {
    rows[b] = static_cast<int64_t>(b);
    indptr[b] = static_cast<int64_t>(b) * (keys / kPageSize);
  }
  std::vector<int64_t> last(static_cast<size_t>(batch), kPageSize);
  std::vector<int64_t> indices(static_cast<size_t>(pages));
  std::iota(indices.begin(), indices.end(), 0);
  std::shuffle(indices.begin(), indices.end(), std::mt19937(2026));
  const auto indexes = [](std::vector<int64_t>& of) {
    return TensorView::Dense(of.data(), DType::kI64, {std::ssize(of)});
  };
  const auto cache = [&](size_t i) {
    const std::initializer_list<int64_t> shape = {pages, kPageSize, kHeads, kDim};
    return PagedKvView::Split(TensorView::Dense(k[i].data(), DType::kBF16, shape),
                              TensorView::Dense(v[i].data(), DType::kBF16, shape), KvLayout::kNHD);
  };
  HstuBatch shape;
  shape.dtype = DType::kBF16;
  shape.q_heads = shape.kv_heads = kHeads;
  shape.head_dim = shape.head_dim_v = kDim;
  shape.seq_offsets = indexes(rows);
  shape.kv = cache(0);
  shape.table = PageTable::Csr(indexes(indptr), indexes(indices), indexes(last));
  shape.params.max_seq_len = keys;

  Buffer q(static_cast<size_t>(batch * kHeads * kDim) * 2);
  Buffer out(q.size());
  std::fill_n(q.data(), q.size(), std::byte{0});
  const std::initializer_list<int64_t> row_shape = {batch, kHeads, kDim};
  HstuCall call;
  call.q = TensorView::Dense(q.data(), DType::kBF16, row_shape);
  call.out = TensorView::Dense(out.data(), DType::kBF16, row_shape);
  ThreadPool pool(threads);
  const HstuPlan plan = PlanHstu(*FindHstuVariant("hstu_gather_serial"), shape, threads);
  Buffer workspace(plan.workspace_bytes());
  std::vector<double> rates;
  for (size_t i = 0; i < kCalls; ++i) {
    call.kv = cache(i % kCaches);
    const int64_t begin = sys::NowNs();
    RunHstu(plan, call, {workspace.data(), workspace.size()}, pool);
    rates.push_back(4.0 * static_cast<double>(elements) / static_cast<double>(sys::NowNs() - begin));
  }
  std::nth_element(rates.begin(), rates.begin() + kCalls / 2, rates.end());
  return rates[kCalls / 2];
}

void Print() {
  const int threads = DefaultThreads();
  CeilingOptions options = QuickCeilings(threads);
  options.threads = options.run_threads = {threads};
  options.run_bytes = {kDim * 2};  // a row of a head, which is what a page holds side by side
  options.flops = options.streams = false;
  options.copy = true;
  const MachineCeilings ceilings = MeasureCeilings(options);
  const double read = ceilings.read.front().gb_per_s.median;
  const double copy = ceilings.copy.front().gb_per_s.median;
  fmt::print("{} threads: reading runs of {} B {:.1f} GB/s; copying, bytes read + written, {:.1f} GB/s\n",
             threads, kDim * 2, read, copy);
  const AttentionKernels table = CopyingOnly();
  OverrideAttentionKernels(&table);
  for (const auto& [batch, keys] : {std::pair<int64_t, int64_t>{1, 8192}, {4, 4096}, {8, 2048}}) {
    const double rate = CopyRate(batch, keys, threads);
    fmt::print(
        "hstu_gather_serial, {} x {} keys: {:.1f} GB/s read and written once, {:.0f}% of reading runs, "
        "{:.0f}% of copying\n",
        batch, keys, rate, 100 * rate / read, 100 * 2 * rate / copy);
  }
}

}  // namespace
}  // namespace pagoda

int main() { pagoda::Print(); }

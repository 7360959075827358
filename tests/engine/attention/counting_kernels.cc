#include "engine/attention/counting_kernels.h"

#include <atomic>

#include "engine/attention/kernels/tables.h"

namespace pagoda::testing {
namespace {

// The table's functions carry no context, so what they count stands here.
std::atomic<int64_t> g_read = 0;
std::atomic<int64_t> g_written = 0;
const AttentionKernels* g_inner = nullptr;
const std::byte* g_q = nullptr;
size_t g_q_bytes = 0;

int64_t BytesOf(DType dtype, const KeyRun& run) { return run.keys * run.heads * run.dim * SizeOf(dtype); }

bool IsQ(const void* row) {
  const auto* at = static_cast<const std::byte*>(row);
  return at >= g_q && at < g_q + g_q_bytes;
}

void Qk(DType dtype, const KeyRun& k, const float* q, int64_t rows, int64_t q_ld, float scale, float* scores,
        int64_t scores_ld) {
  g_read += BytesOf(dtype, k);
  g_inner->qk(dtype, k, q, rows, q_ld, scale, scores, scores_ld);
}

void Pv(DType dtype, const KeyRun& v, const float* p, int64_t rows, int64_t p_ld, float* acc,
        int64_t acc_ld) {
  g_read += BytesOf(dtype, v);
  g_inner->pv(dtype, v, p, rows, p_ld, acc, acc_ld);
}

void CopyRows(DType dtype, const KeyRun& from, void* to, int64_t slot_stride, int64_t head_stride) {
  g_read += BytesOf(dtype, from);
  g_written += BytesOf(dtype, from);
  g_inner->copy_rows(dtype, from, to, slot_stride, head_stride);
}

// widen_rows and widen_panels take one head of the run, whatever it says of the others.
void WidenRows(DType dtype, const KeyRun& k, float* out, int64_t ld) {
  if (!IsQ(k.base)) g_read += k.keys * k.dim * SizeOf(dtype);
  g_inner->widen_rows(dtype, k, out, ld);
}

void WidenPanels(DType dtype, const KeyRun& v, float* out, int64_t panel_keys, int64_t first_key) {
  g_read += v.keys * v.dim * SizeOf(dtype);
  g_inner->widen_panels(dtype, v, out, panel_keys, first_key);
}

}  // namespace

CountingKernels::CountingKernels(const void* q, size_t q_bytes) : table_(ActiveAttentionKernels()) {
  g_read = 0;
  g_written = 0;
  g_inner = &ActiveAttentionKernels();
  g_q = static_cast<const std::byte*>(q);
  g_q_bytes = q_bytes;
  table_.qk = Qk;
  table_.pv = Pv;
  table_.copy_rows = CopyRows;
  table_.widen_rows = WidenRows;
  table_.widen_panels = WidenPanels;
  OverrideAttentionKernels(&table_);
}

CountingKernels::~CountingKernels() { OverrideAttentionKernels(nullptr); }

int64_t CountingKernels::kv_bytes_read() const { return g_read; }
int64_t CountingKernels::kv_bytes_written() const { return g_written; }

}  // namespace pagoda::testing

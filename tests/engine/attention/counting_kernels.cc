#include "engine/attention/counting_kernels.h"

#include <atomic>

#include "engine/attention/kernels/tables.h"

namespace pagoda::testing {
namespace {

// The table's functions carry no context, so what they count stands here.
std::atomic<int64_t> g_read = 0;
std::atomic<int64_t> g_written = 0;
const AttentionKernels* g_inner = nullptr;

int64_t BytesOf(DType dtype, const KeyRun& run) { return run.keys * run.heads * run.dim * SizeOf(dtype); }

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

// load_k and load_v take one head of the run, whatever it says of the others.
void LoadK(DType dtype, const KeyRun& k, float* out, int64_t ld) {
  g_read += k.keys * k.dim * SizeOf(dtype);
  g_inner->load_k(dtype, k, out, ld);
}

void LoadV(DType dtype, const KeyRun& v, float* out, int64_t tile_keys, int64_t first_key) {
  g_read += v.keys * v.dim * SizeOf(dtype);
  g_inner->load_v(dtype, v, out, tile_keys, first_key);
}

}  // namespace

CountingKernels::CountingKernels() : table_(ActiveAttentionKernels()) {
  g_read = 0;
  g_written = 0;
  g_inner = &ActiveAttentionKernels();
  table_.qk = Qk;
  table_.pv = Pv;
  table_.copy_rows = CopyRows;
  table_.load_k = LoadK;
  table_.load_v = LoadV;
  OverrideAttentionKernels(&table_);
}

CountingKernels::~CountingKernels() { OverrideAttentionKernels(nullptr); }

int64_t CountingKernels::kv_bytes_read() const { return g_read; }
int64_t CountingKernels::kv_bytes_written() const { return g_written; }

}  // namespace pagoda::testing

#include "engine/attention/counting_kernels.h"

#include <algorithm>
#include <atomic>

#include "engine/attention/kernels/tables.h"

namespace pagoda::testing {
namespace {

// The table's functions carry no context, so what they count stands here.
std::atomic<int64_t> g_read = 0;
std::atomic<int64_t> g_written = 0;
std::atomic<int64_t> g_asked = 0;
const AttentionKernels* g_inner = nullptr;

int64_t BytesOf(DType dtype, const KeyRun& run) { return run.keys * run.heads * run.dim * SizeOf(dtype); }

// Kernels ask by blocks of eight keys, and not at all for a block that `ahead` doesn't hold whole.
void CountAsked(const KeyRun& run) {
  constexpr int64_t kBlock = 8;
  for (int64_t key = 0; key < run.keys; key += kBlock) {
    const int64_t keys = std::min(kBlock, run.keys - key);
    if (key + keys <= run.ahead.keys) g_asked += keys * run.heads;
  }
}

void CountAsked(const PrefetchList& list) {
  for (int64_t i = 0; i < list.count; ++i) g_asked += list.pieces[i].keys;
}

void Qk(DType dtype, const KeyRun& k, const float* q, int64_t rows, int64_t q_ld, float scale, float* scores,
        int64_t scores_ld) {
  g_read += BytesOf(dtype, k);
  CountAsked(k);
  g_inner->qk(dtype, k, q, rows, q_ld, scale, scores, scores_ld);
}

void Pv(DType dtype, const KeyRun& v, const float* p, int64_t rows, int64_t p_ld, float* acc,
        int64_t acc_ld) {
  g_read += BytesOf(dtype, v);
  CountAsked(v);
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

void QkTile(DType dtype, const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t panel_stride,
            int64_t rows, int64_t dim, float scale, float* scores, int64_t ld, const PrefetchList& ahead) {
  CountAsked(ahead);
  g_inner->qk_tile(dtype, k, k_ld, keys, q, panel_stride, rows, dim, scale, scores, ld, ahead);
}

void PvTile(DType dtype, const float* weights, int64_t ld, int64_t keys, const float* v, int64_t tile_keys,
            int64_t rows, int64_t dim, float* acc, int64_t acc_ld, const PrefetchList& ahead) {
  CountAsked(ahead);
  g_inner->pv_tile(dtype, weights, ld, keys, v, tile_keys, rows, dim, acc, acc_ld, ahead);
}

}  // namespace

CountingKernels::CountingKernels() : table_(ActiveAttentionKernels()) {
  g_read = 0;
  g_written = 0;
  g_asked = 0;
  g_inner = &ActiveAttentionKernels();
  table_.qk = Qk;
  table_.pv = Pv;
  table_.copy_rows = CopyRows;
  table_.load_k = LoadK;
  table_.load_v = LoadV;
  table_.qk_tile = QkTile;
  table_.pv_tile = PvTile;
  OverrideAttentionKernels(&table_);
}

CountingKernels::~CountingKernels() { OverrideAttentionKernels(nullptr); }

int64_t CountingKernels::kv_bytes_read() const { return g_read; }
int64_t CountingKernels::kv_bytes_written() const { return g_written; }
int64_t CountingKernels::rows_asked_for() const { return g_asked; }

}  // namespace pagoda::testing

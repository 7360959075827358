#include "engine/attention/recording_kernels.h"

#include <algorithm>

#include "engine/attention/kernels/tables.h"

namespace pagoda::testing {
namespace {

// The table's functions carry no context.
RecordingKernels* g_recorder = nullptr;

int64_t Name(float carried) { return static_cast<int64_t>(carried); }

const void* RowOf(const KeyRun& run, DType dtype, int64_t key, int64_t head) {
  return static_cast<const std::byte*>(run.base) +
         (key * run.slot_stride + head * run.head_stride) * SizeOf(dtype);
}

}  // namespace

struct RecordingKernels::Table {
  static int64_t Pad(int64_t n) { return kAttentionKernelsScalar.dim_pad(n); }

  static void PackRow(const void* row, DType /*dtype*/, int64_t dim, float* out) {
    const std::lock_guard lock(g_recorder->mutex_);
    std::fill_n(out, Pad(dim), 0.0F);
    out[0] = static_cast<float>(g_recorder->RowAt(row));
  }

  // Scores carry the row's name.
  static void Qk(DType dtype, const KeyRun& k, const float* q, int64_t rows, int64_t q_ld, float /*scale*/,
                 float* scores, int64_t scores_ld) {
    const std::lock_guard lock(g_recorder->mutex_);
    for (int64_t h = 0; h < k.heads; ++h) {
      for (int64_t r = h * rows; r < (h + 1) * rows; ++r) {
        for (int64_t j = 0; j < k.keys; ++j) {
          g_recorder->Count(g_recorder->scored_, Name(q[r * q_ld]),
                            g_recorder->KeyAt(RowOf(k, dtype, j, h), false));
          scores[r * scores_ld + j] = q[r * q_ld];
        }
      }
    }
  }

  static void Pv(DType dtype, const KeyRun& v, const float* p, int64_t rows, int64_t p_ld, float* /*acc*/,
                 int64_t /*acc_ld*/) {
    const std::lock_guard lock(g_recorder->mutex_);
    for (int64_t h = 0; h < v.heads; ++h) {
      for (int64_t r = h * rows; r < (h + 1) * rows; ++r) {
        for (int64_t j = 0; j < v.keys; ++j) {
          if (p[r * p_ld + j] == 0) continue;
          g_recorder->Count(g_recorder->weighted_, Name(p[r * p_ld + j]),
                            g_recorder->KeyAt(RowOf(v, dtype, j, h), true));
        }
      }
    }
  }

  static float SoftmaxRow(float* scores, int64_t keys, const RowWindow& window, const ScoreRule& /*rule*/,
                          RowState* state) {
    for (int64_t j = 0; j < keys; ++j) {
      if (j < window.begin || j >= window.end) scores[j] = 0;
    }
    *state = {0.0F, 1.0F};
    return 1;
  }

  static void SoftmaxColumns(float* scores, int64_t keys, int64_t rows, int64_t ld, const RowWindow* windows,
                             bool edge, bool /*alibi*/, const ScoreRule& /*rule*/, RowState* states,
                             float* factors) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < keys; ++j) {
        // Without an edge the kernel needn't look at the windows.
        if (edge && (j < windows[r].begin || j >= windows[r].end)) scores[j * ld + r] = 0;
      }
      states[r] = {0.0F, 1.0F};
      factors[r] = 1;
    }
  }

  static void StoreRow(const float* /*row*/, DType /*dtype*/, int64_t dim, float /*factor*/, DType out_dtype,
                       void* out) {
    const std::lock_guard lock(g_recorder->mutex_);
    const auto offset = static_cast<std::byte*>(out) - static_cast<std::byte*>(g_recorder->call_.out.data);
    const int64_t row = offset / SizeOf(out_dtype) / dim;
    if (row < 0 || row >= g_recorder->rows_) {
      g_recorder->lost_ = true;
      return;
    }
    ++g_recorder->stored_[row];
  }

  static void CopyRows(DType dtype, const KeyRun& from, void* to, int64_t slot_stride, int64_t head_stride) {
    const std::lock_guard lock(g_recorder->mutex_);
    const bool value = static_cast<const std::byte*>(from.base) >= g_recorder->call_.kv.v;
    for (int64_t j = 0; j < from.keys; ++j) {
      for (int64_t h = 0; h < from.heads; ++h) {
        const auto* target =
            static_cast<std::byte*>(to) + (j * slot_stride + h * head_stride) * SizeOf(dtype);
        // Twice to one place would lose the first.
        if (!g_recorder->copied_.emplace(target, g_recorder->KeyAt(RowOf(from, dtype, j, h), value)).second) {
          g_recorder->lost_ = true;
        }
      }
    }
  }

  // A row's name stands where its element 0 would.
  static void LoadK(DType dtype, const KeyRun& k, float* out, int64_t ld) {
    const std::lock_guard lock(g_recorder->mutex_);
    for (int64_t j = 0; j < k.keys; ++j)
      out[j * ld] = static_cast<float>(g_recorder->KeyAt(RowOf(k, dtype, j, 0), false));
  }

  static void LoadV(DType dtype, const KeyRun& v, float* out, int64_t /*tile_keys*/, int64_t first_key) {
    const std::lock_guard lock(g_recorder->mutex_);
    for (int64_t j = 0; j < v.keys; ++j)
      out[first_key + j] = static_cast<float>(g_recorder->KeyAt(RowOf(v, dtype, j, 0), true));
  }

  static void PackLane(DType /*dtype*/, const void* row, int64_t /*dim*/, int64_t lane, float* panel) {
    const std::lock_guard lock(g_recorder->mutex_);
    panel[lane] = static_cast<float>(g_recorder->RowAt(row));
  }

  static void QkTile(DType /*dtype*/, const float* k, int64_t k_ld, int64_t keys, const float* q,
                     int64_t panel_stride, int64_t rows, int64_t /*dim*/, float /*scale*/, float* scores,
                     int64_t ld, const PrefetchList& /*ahead*/) {
    const std::lock_guard lock(g_recorder->mutex_);
    const int64_t lanes = kAttentionKernelsScalar.lanes;
    for (int64_t j = 0; j < keys; ++j) {
      for (int64_t r = 0; r < rows; ++r) {
        const float row = q[r / lanes * panel_stride + r % lanes];
        if (row != 0) g_recorder->Count(g_recorder->scored_, Name(row), Name(k[j * k_ld]));
        scores[j * ld + r] = row;
      }
    }
  }

  static void PvTile(DType /*dtype*/, const float* weights, int64_t ld, int64_t keys, const float* v,
                     int64_t /*tile_keys*/, int64_t rows, int64_t /*dim*/, float* /*acc*/, int64_t /*acc_ld*/,
                     const PrefetchList& /*ahead*/) {
    const std::lock_guard lock(g_recorder->mutex_);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < keys; ++j) {
        const float row = weights[j * ld + r];
        if (row != 0) g_recorder->Count(g_recorder->weighted_, Name(row), Name(v[j]));
      }
    }
  }
};

RecordingKernels::RecordingKernels(const SoftmaxCall& call)
    : call_(call),
      table_(kAttentionKernelsScalar),
      rows_(call.q.shape[0] * call.q.shape[1]),
      keys_(call.kv.num_pages * call.kv.page_size * call.kv.kv_heads),
      scored_(rows_ * keys_),
      weighted_(rows_ * keys_),
      stored_(rows_) {
  g_recorder = this;
  table_.pack_row = Table::PackRow;
  table_.qk = Table::Qk;
  table_.pv = Table::Pv;
  table_.softmax_row = Table::SoftmaxRow;
  table_.scale_row = [](float*, int64_t, float) {};
  table_.add_scaled_row = [](const float*, int64_t, float, float*) {};
  table_.store_row = Table::StoreRow;
  table_.copy_rows = Table::CopyRows;
  table_.load_k = Table::LoadK;
  table_.load_v = Table::LoadV;
  table_.pack_lane = Table::PackLane;
  table_.qk_tile = Table::QkTile;
  table_.pv_tile = Table::PvTile;
  table_.softmax_columns = Table::SoftmaxColumns;
  OverrideAttentionKernels(&table_);
}

RecordingKernels::~RecordingKernels() {
  OverrideAttentionKernels(nullptr);
  g_recorder = nullptr;
}

int64_t RecordingKernels::RowAt(const void* address) const {
  const int64_t offset = static_cast<const std::byte*>(address) - static_cast<std::byte*>(call_.q.data);
  const int64_t row_bytes = call_.q.shape[2] * SizeOf(call_.q.dtype);
  if (offset >= 0 && offset % row_bytes == 0 && offset / row_bytes < rows_) return offset / row_bytes + 1;
  lost_ = true;
  return 0;
}

int64_t RecordingKernels::KeyAt(const void* address, bool value) const {
  if (const auto copy = copied_.find(address); copy != copied_.end()) return copy->second;
  const PagedKvView& kv = call_.kv;
  const int64_t page_stride = value ? kv.v_page_stride : kv.k_page_stride;
  const int64_t slot_stride = value ? kv.v_slot_stride : kv.k_slot_stride;
  const int64_t head_stride = value ? kv.v_head_stride : kv.k_head_stride;
  const int64_t at = (static_cast<const std::byte*>(address) - static_cast<std::byte*>(value ? kv.v : kv.k)) /
                     SizeOf(kv.dtype);
  const int64_t page = at / page_stride;
  const int64_t within = at % page_stride;
  const int64_t slot = within / slot_stride % kv.page_size;
  const int64_t head = within / head_stride % kv.kv_heads;
  if (at < 0 || page >= kv.num_pages || slot * slot_stride + head * head_stride != within) {
    lost_ = true;
    return 0;
  }
  return (page * kv.page_size + slot) * kv.kv_heads + head + 1;
}

void RecordingKernels::Count(std::vector<uint8_t>& counts, int64_t row, int64_t key) {
  if (row < 1 || row > rows_ || key < 1 || key > keys_) {
    lost_ = true;
    return;
  }
  uint8_t& count = counts[(row - 1) * keys_ + key - 1];
  if (count < 255) ++count;
}

}  // namespace pagoda::testing

// A paged KV cache and the table that says which pages a sequence owns.
#pragma once

#include <cstdint>
#include <span>

#include "pagoda/tensor.h"

namespace pagoda {

enum class KvLayout : uint8_t {
  kNHD,  // [pages, page_size, kv_heads, head_dim]
  kHND,  // [pages, kv_heads, page_size, head_dim]
};

// K and V of all pages. Element (page, slot, head, d) of K stands at
//   k + page * page_stride + slot * slot_stride + head * head_stride + d
// and the same for V with v_*; all strides count elements, and head_dim is dense. Slots that no sequence
// owns may hold anything, NaN too.
struct PagedKvView {
  void* k = nullptr;
  void* v = nullptr;
  DType dtype = DType::kF32;  // f32, f16 or bf16
  int64_t num_pages = 0;
  int64_t page_size = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;    // of K (and q)
  int64_t head_dim_v = 0;  // of V (and the output)
  int64_t k_page_stride = 0, k_slot_stride = 0, k_head_stride = 0;
  int64_t v_page_stride = 0, v_slot_stride = 0, v_head_stride = 0;

  // K and V apart: NHD [P, S, H, D] and [P, S, H, Dv], HND [P, H, S, D] and [P, H, S, Dv].
  // Throws Error naming k_cache or v_cache when rank, dtype or a shared dimension is wrong.
  static PagedKvView Split(const TensorView& k_cache, const TensorView& v_cache, KvLayout layout);
  // K and V of a page side by side: NHD [P, 2, S, H, D], HND [P, 2, H, S, D].
  static PagedKvView Combined(const TensorView& kv_cache, KvLayout layout);
};

// Which pages hold the keys of each sequence, in one of two forms. Index tensors are i32 or i64, each its
// own.
//   CSR:    indptr [B+1], indices [indptr[B]], last_page_len [B]. kv_len = (pages - 1) * S + last_page_len;
//           a sequence without pages has kv_len 0 and last_page_len 0 or S.
//   padded: block_table [B, max], context_lens [B]. Entries past a sequence's last page may hold anything.
struct PageTable {
  TensorView indptr, indices, last_page_len;
  TensorView block_table, context_lens;

  static PageTable Csr(TensorView indptr, TensorView indices, TensorView last_page_len);
  static PageTable Padded(TensorView block_table, TensorView context_lens);
  bool is_csr() const { return !indptr.empty(); }
};

// Writes the K and V of new tokens into their slots. `k` is [tokens, kv_heads, head_dim] and `v`
// [tokens, kv_heads, head_dim_v], both of the cache's dtype; `slots` [tokens] (i32 or i64) holds
// page * page_size + slot for each token, or -1 to skip it. Throws Error naming slots[i] before anything is
// written when one is out of range.
void AppendKv(const PagedKvView& cache, const TensorView& k, const TensorView& v, const TensorView& slots);

}  // namespace pagoda

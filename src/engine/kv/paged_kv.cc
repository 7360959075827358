#include "pagoda/paged_kv.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "engine/kv/page_table.h"
#include "pagoda/status.h"

namespace pagoda {
namespace {

[[noreturn]] void Refuse(std::string_view field, const std::string& complaint) {
  throw Error(ErrorCode::kInvalidArgument, field, complaint);
}

void CheckCache(const TensorView& t, int rank, std::string_view field, std::string_view shape) {
  if (t.empty()) Refuse(field, "is missing");
  if (!IsFloat(t.dtype)) Refuse(field, fmt::format("must be f32, f16 or bf16, not {}", NameOf(t.dtype)));
  if (t.rank != rank) Refuse(field, fmt::format("must be {}, not of rank {}", shape, t.rank));
  if (t.shape[rank - 1] > 1 && t.strides[rank - 1] != 1) {
    Refuse(field,
           fmt::format("must be dense in its last dimension, which has stride {}", t.strides[rank - 1]));
  }
  for (int d = 0; d < rank; ++d) {
    if (t.shape[d] < (d == 0 ? 0 : 1))
      Refuse(field, fmt::format("has {} entries in dimension {}", t.shape[d], d));
  }
}

}  // namespace

PagedKvView PagedKvView::Split(const TensorView& k, const TensorView& v, KvLayout layout) {
  const bool nhd = layout == KvLayout::kNHD;
  const std::string_view shape =
      nhd ? "[pages, page_size, kv_heads, head_dim]" : "[pages, kv_heads, page_size, head_dim]";
  CheckCache(k, 4, "k_cache", shape);
  CheckCache(v, 4, "v_cache", shape);
  if (v.dtype != k.dtype) {
    Refuse("v_cache", fmt::format("is {}, but k_cache is {}", NameOf(v.dtype), NameOf(k.dtype)));
  }
  for (int d = 0; d < 3; ++d) {
    if (v.shape[d] != k.shape[d]) {
      Refuse("v_cache",
             fmt::format("has {} entries in dimension {}, but k_cache has {}", v.shape[d], d, k.shape[d]));
    }
  }
  const int slot = nhd ? 1 : 2;
  const int head = nhd ? 2 : 1;
  PagedKvView view;
  view.k = k.data;
  view.v = v.data;
  view.dtype = k.dtype;
  view.num_pages = k.shape[0];
  view.page_size = k.shape[slot];
  view.kv_heads = k.shape[head];
  view.head_dim = k.shape[3];
  view.head_dim_v = v.shape[3];
  view.k_page_stride = k.strides[0];
  view.k_slot_stride = k.strides[slot];
  view.k_head_stride = k.strides[head];
  view.v_page_stride = v.strides[0];
  view.v_slot_stride = v.strides[slot];
  view.v_head_stride = v.strides[head];
  return view;
}

PagedKvView PagedKvView::Combined(const TensorView& kv, KvLayout layout) {
  CheckCache(kv, 5, "kv_cache",
             layout == KvLayout::kNHD ? "[pages, 2, page_size, kv_heads, head_dim]"
                                      : "[pages, 2, kv_heads, page_size, head_dim]");
  if (kv.shape[1] != 2)
    Refuse("kv_cache", fmt::format("must have 2 (K and V) in dimension 1, not {}", kv.shape[1]));
  TensorView half;
  half.dtype = kv.dtype;
  half.rank = 4;
  half.data = kv.data;
  half.shape = {kv.shape[0], kv.shape[2], kv.shape[3], kv.shape[4]};
  half.strides = {kv.strides[0], kv.strides[2], kv.strides[3], kv.strides[4]};
  TensorView v = half;
  v.data = static_cast<std::byte*>(kv.data) + kv.strides[1] * SizeOf(kv.dtype);
  return Split(half, v, layout);
}

PageTable PageTable::Csr(TensorView indptr, TensorView indices, TensorView last_page_len) {
  PageTable t;
  t.indptr = indptr;
  t.indices = indices;
  t.last_page_len = last_page_len;
  return t;
}

PageTable PageTable::Padded(TensorView block_table, TensorView context_lens) {
  PageTable t;
  t.block_table = block_table;
  t.context_lens = context_lens;
  return t;
}

void AppendKv(const PagedKvView& cache, const TensorView& k, const TensorView& v, const TensorView& slots) {
  const IndexReader reader(slots, "slots", -1);
  const auto check = [&](const TensorView& t, std::string_view field, int64_t dim) {
    if (t.dtype != cache.dtype) {
      Refuse(field, fmt::format("is {}, but the cache is {}", NameOf(t.dtype), NameOf(cache.dtype)));
    }
    if (t.rank != 3 || t.shape[0] != reader.size() || t.shape[1] != cache.kv_heads || t.shape[2] != dim) {
      Refuse(field, fmt::format("must be [{}, {}, {}]", reader.size(), cache.kv_heads, dim));
    }
    if (dim > 1 && t.strides[2] != 1) Refuse(field, "must be dense in its last dimension");
    if (reader.size() > 0 && t.data == nullptr) Refuse(field, "has no data");
  };
  check(k, "k", cache.head_dim);
  check(v, "v", cache.head_dim_v);
  const int64_t room = cache.num_pages * cache.page_size;
  std::vector<int64_t> where(reader.size());
  for (int64_t i = 0; i < reader.size(); ++i) {
    where[i] = reader[i];
    if (where[i] < -1 || where[i] >= room) {
      Refuse(fmt::format("slots[{}]", i), fmt::format("= {} is outside -1..{}", where[i], room - 1));
    }
  }
  const int64_t size = SizeOf(cache.dtype);
  const auto copy = [&](const TensorView& from, int64_t token, int64_t head, void* base, int64_t offset,
                        int64_t dim) {
    std::memcpy(
        static_cast<std::byte*>(base) + offset * size,
        static_cast<const std::byte*>(from.data) + (token * from.strides[0] + head * from.strides[1]) * size,
        dim * size);
  };
  for (int64_t i = 0; i < reader.size(); ++i) {
    if (where[i] < 0) continue;
    const int64_t page = where[i] / cache.page_size;
    const int64_t slot = where[i] % cache.page_size;
    for (int64_t h = 0; h < cache.kv_heads; ++h) {
      copy(k, i, h, cache.k,
           page * cache.k_page_stride + slot * cache.k_slot_stride + h * cache.k_head_stride, cache.head_dim);
      copy(v, i, h, cache.v,
           page * cache.v_page_stride + slot * cache.v_slot_stride + h * cache.v_head_stride,
           cache.head_dim_v);
    }
  }
}

}  // namespace pagoda

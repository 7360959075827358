// Checks that the operators share: of a batch, and in O(1) of a call against its plan. Each throws Error
// naming the field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pagoda/paged_kv.h"
#include "pagoda/tensor.h"
#include "pagoda/thread_pool.h"

namespace pagoda {

// A value that the caller passed can't be right.
[[noreturn]] void Refuse(std::string_view field, const std::string& complaint);

// A cache that a plan can be made for.
void CheckCacheShape(const PagedKvView& kv);
// -1, or a number of keys.
void CheckWindow(int64_t keys, std::string_view field);
void CheckAtLeastOne(int64_t value, std::string_view field);
void CheckHeads(int64_t q_heads, int64_t kv_heads, std::string_view keys);
// Plans multiply the elements of a row over all heads by rows and keys, and divide by the product.
void CheckRowElements(int64_t q_heads, int64_t dim, std::string_view field);
// The tensor `of` itself is not there when a plan is made, and plans hold a few words for each block of rows.
void CheckTotalRows(int64_t total, std::string_view of, int64_t batch, std::string_view offsets);
void CheckThreads(int threads);

// A tensor that is given and has elements has them somewhere.
void CheckData(const TensorView& t, std::string_view field);
// [rows, heads, dim], dense in its last dimension.
void CheckRows(const TensorView& t, std::string_view field, int64_t rows, int64_t heads, int64_t dim);
void CheckOutput(const TensorView& t, int64_t rows, int64_t heads, int64_t dim);
// The cache of a call has the geometry of the plan's and, where the plan uses any page, data.
void CheckCache(const PagedKvView& call, const PagedKvView& plan, bool any_page);
void CheckResources(std::span<const std::byte> workspace, size_t workspace_bytes, const ThreadPool& pool,
                    int threads);

}  // namespace pagoda

// The inputs of one HSTU case, made so that a fault shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "app/subjects/page_layout.h"
#include "app/subjects/placed.h"
#include "base/buffer.h"
#include "judge/bench/suite.h"
#include "pagoda/hstu.h"

namespace pagoda::app {

// As SoftmaxInputs: q, K, V normal with variance 1, pages in random order, NaN in every slot that no sequence
// owns and in every row of k and v that is no target, and the last query row of each sequence aligned with
// keys across the pages that it sees. alpha is 1/sqrt(D), max_seq_len the longest sequence of the case.
class HstuInputs {
 public:
  HstuInputs(const judge::CaseSpec& spec, const InputOptions& options);
  HstuInputs(HstuInputs&&) noexcept;
  HstuInputs& operator=(HstuInputs&&) noexcept;
  ~HstuInputs();

  const HstuBatch& batch() const;
  // K/V pools with equal contents, at least one.
  size_t pools() const;
  // The call over one of them, without out.
  HstuCall call(size_t pool) const;
  // Rows of q that are aligned with keys.
  const std::vector<int64_t>& aligned_rows() const;
  // Changes when anything that a kernel may read has changed.
  uint64_t Fingerprint() const;

  // Some sequences of the batch (indices, also repeated) as a batch of their own over the same pool.
  struct Part {
    BatchTables tables;
    Buffer counts, q, k, v;
    HstuBatch batch;
    HstuCall call;
  };
  Part Take(std::span<const int64_t> sequences) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The batch of a case without any data behind its pools: enough for plans and formulas.
struct HstuShape {
  explicit HstuShape(const judge::CaseSpec& spec);
  BatchTables tables;
  Buffer counts;
  HstuBatch batch;
};

}  // namespace pagoda::app

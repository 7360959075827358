// The inputs of one case, made so that a fault shows.
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
#include "pagoda/softmax.h"

namespace pagoda::app {

// q, K, V normal with variance 1, pages in random order. Every slot that no sequence owns is NaN, padding of
// a block table holds -1, ids past the end and huge ones. Of each sequence the last query row is aligned with
// the first and the last key that it sees, with one in the last full page and one in the middle (a query head
// each, or their sum where heads are few): each of them takes a good part of that head's weight, so a lost
// page shows however long the sequence.
class SoftmaxInputs {
 public:
  SoftmaxInputs(const judge::CaseSpec& spec, const InputOptions& options);
  SoftmaxInputs(SoftmaxInputs&&) noexcept;
  SoftmaxInputs& operator=(SoftmaxInputs&&) noexcept;
  ~SoftmaxInputs();

  const SoftmaxBatch& batch() const;
  // K/V pools with equal contents, at least one.
  size_t pools() const;
  // The call over one of them, without out and lse.
  SoftmaxCall call(size_t pool) const;
  // Where other processes find a byte of q or of a pool; of shared memory only.
  FilePlace PlaceOf(const void* p) const;
  // Rows of q that are aligned with keys.
  const std::vector<int64_t>& aligned_rows() const;
  // Changes when anything that a kernel may read has changed.
  uint64_t Fingerprint() const;

  // Some sequences of the batch (indices, also repeated) as a batch of their own over the same pool.
  struct Part {
    BatchTables tables;
    Buffer q;
    SoftmaxBatch batch;
    SoftmaxCall call;
  };
  Part Take(std::span<const int64_t> sequences) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The batch and the call of a case without any data behind q and its pools: enough for plans and formulas.
struct ShapeOnly {
  explicit ShapeOnly(const judge::CaseSpec& spec);
  BatchTables tables;
  std::vector<float> per_head;  // ALiBi slopes and sinks, all 0
  SoftmaxBatch batch;
  SoftmaxCall call;  // without out and lse
};

}  // namespace pagoda::app

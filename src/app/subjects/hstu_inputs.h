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
#include "base/random.h"
#include "judge/bench/suite.h"
#include "pagoda/hstu.h"

namespace pagoda::app {

class CaseFile;

// As SoftmaxInputs: q, K, V normal with variance 1, NaN in every slot that no sequence owns and, with a
// cache, in every row of k and v that is no target, and the last query row of each sequence aligned with keys
// across the pages that it sees. Where the fields of the case say its problem, pages are in random order,
// alpha is 1/sqrt(D), and max_seq_len the longest sequence of the case. Of a case file everything but q, K
// and V is the file's, and q as long as makes alpha * q.k about normal too: lengths, pages, counts, masks,
// rab and parameters.
class HstuInputs {
 public:
  HstuInputs(const judge::CaseSpec& spec, const InputOptions& options);
  HstuInputs(HstuInputs&&) noexcept;
  HstuInputs& operator=(HstuInputs&&) noexcept;
  ~HstuInputs();

  const HstuBatch& batch() const;
  // Copies of K and V with equal contents, at least one: cache pools, or the rows of contiguous keys.
  size_t pools() const;
  // The call over one of them, without out.
  HstuCall call(size_t pool) const;
  // Where other processes find a byte of a tensor of the call; of shared memory only.
  FilePlace PlaceOf(const void* p) const;
  // Rows of q that are aligned with keys.
  const std::vector<int64_t>& aligned_rows() const;
  // Changes when anything that a kernel may read has changed.
  uint64_t Fingerprint() const;

  // Some sequences of the batch (indices, also repeated) as a batch of their own over the same pool.
  struct Part {
    BatchTables tables;
    std::vector<Buffer> data;
    HstuBatch batch;
    HstuCall call;
  };
  Part Take(std::span<const int64_t> sequences) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The batch and the call of a case without any data behind their tensors: enough for plans and formulas.
struct HstuShape {
  explicit HstuShape(const judge::CaseSpec& spec);
  // With pages as LayPages gives them; those of a case file are where it says.
  HstuShape(const judge::CaseSpec& spec, Random order, bool repeat_pages);

  std::shared_ptr<const CaseFile> file;  // null where the case is none
  BatchTables tables;
  Buffer counts;
  HstuBatch batch;
  HstuCall call;  // without out; of a case file its rab and mask alone
};

}  // namespace pagoda::app

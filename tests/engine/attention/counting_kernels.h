// The active kernel table with a meter on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/attention/kernels/kernels.h"

namespace pagoda::testing {

// While it lives, kernels count the bytes of K and V that they read and copy, and the rows that they ask
// memory for while they multiply. One at a time; plans made and run meanwhile use it.
class CountingKernels {
 public:
  CountingKernels();
  ~CountingKernels();
  CountingKernels(const CountingKernels&) = delete;
  CountingKernels& operator=(const CountingKernels&) = delete;

  int64_t kv_bytes_read() const;
  int64_t kv_bytes_written() const;
  int64_t rows_asked_for() const;

 private:
  AttentionKernels table_;
};

}  // namespace pagoda::testing

// A kernel table that computes nothing: it follows each row of q and each key by name from kernel to kernel.
// Tensors may stand at addresses where there is no memory.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "engine/attention/kernels/kernels.h"
#include "pagoda/softmax.h"

namespace pagoda::testing {

// While it lives, plans are made and run over `call`, which is NHD or HND, dense, without lse, ALiBi and
// sinks; the scale is 1. One at a time, from a pool of any size.
class RecordingKernels {
 public:
  explicit RecordingKernels(const SoftmaxCall& call);
  ~RecordingKernels();
  RecordingKernels(const RecordingKernels&) = delete;
  RecordingKernels& operator=(const RecordingKernels&) = delete;

  // A row is q row * q heads + q head; a key is (page * page size + slot) * kv heads + kv head.
  int64_t rows() const { return rows_; }
  int64_t keys() const { return keys_; }
  // How often a row met a key of K; how often it took in a key of V that its window shows; how often its
  // output was stored.
  int scored(int64_t row, int64_t key) const { return scored_[row * keys_ + key]; }
  int weighted(int64_t row, int64_t key) const { return weighted_[row * keys_ + key]; }
  int stored(int64_t row) const { return stored_[row]; }
  // Something was read that is neither a row of q nor a key.
  bool lost() const { return lost_; }

  struct Table;  // the kernels

 private:
  friend struct Table;
  // Names from 1 on, 0 for a stray address; they travel as floats through scratch.
  int64_t RowAt(const void* address) const;
  int64_t KeyAt(const void* address, bool value) const;
  void Count(std::vector<uint8_t>& counts, int64_t row, int64_t key);

  SoftmaxCall call_;
  AttentionKernels table_;
  int64_t rows_, keys_;
  std::vector<uint8_t> scored_, weighted_, stored_;
  std::map<const void*, int64_t> copied_;  // keys that were copied to a workspace, by their new address
  mutable bool lost_ = false;
  mutable std::mutex mutex_;
};

}  // namespace pagoda::testing

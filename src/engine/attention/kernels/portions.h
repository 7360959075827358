// Memory asked for in equal portions while something else is multiplied: a burst would occupy the core's miss
// buffers, and loads of what lies in L2 already would queue behind them.
//
// Follows the rule for files compiled with wider flags: nothing of std, nothing with linkage.
#pragma once

#include <cstdint>

#include "engine/attention/kernels/kernels.h"

namespace pagoda {
namespace {

class Portions {
 public:
  // Steps of a product's inner loop for one portion.
  static constexpr int64_t kSteps = 8;

  // For `blocks` inner loops of `steps` steps.
  Portions(const PrefetchList& list, int64_t blocks, int64_t steps)
      : piece_(list.pieces), pieces_(list.count) {
    const int64_t portions = blocks * ((steps + kSteps - 1) / kSteps);
    if (portions == 0) return;
    int64_t lines = 0;
    for (int64_t i = 0; i < list.count; ++i) lines += list.pieces[i].keys * LinesPerRow(list.pieces[i]);
    portion_ = (lines + portions - 1) / portions;
  }

  // Cheap enough for an inner loop: a line costs a few instructions, on registers.
  void AskForNext() {
    const char* line = line_;
    const char* end = row_end_;
    for (int64_t asked = 0; asked < portion_; ++asked, line += kLine) {
      if (line >= end) {
        if (!NextRow()) return;
        line = line_;
        end = row_end_;
      }
      __builtin_prefetch(line, 0, 2);
    }
    line_ = line;
  }

 private:
  static constexpr int64_t kLine = 64;
  static int64_t LinesPerRow(const Prefetch& piece) { return (piece.row_bytes + kLine - 1) / kLine; }

  // Whether there is one; else nothing is left to ask for.
  bool NextRow() {
    while (pieces_ > 0 && key_ == piece_->keys) {
      ++piece_;
      --pieces_;
      key_ = 0;
    }
    if (pieces_ == 0) {
      portion_ = 0;
      return false;
    }
    line_ = static_cast<const char*>(piece_->base) + key_ * piece_->slot_bytes;
    row_end_ = line_ + piece_->row_bytes;
    ++key_;
    return true;
  }

  const Prefetch* piece_;       // being asked for
  int64_t pieces_;              // from it on
  int64_t key_ = 0;             // the next of the piece
  const char* line_ = nullptr;  // the next of its row before
  const char* row_end_ = nullptr;
  int64_t portion_ = 0;  // lines
};

}  // namespace
}  // namespace pagoda

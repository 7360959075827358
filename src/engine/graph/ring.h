// Room that is taken at one end and given back in the same order.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pagoda::graph {

// Positions only grow; a place is a position modulo the capacity. What is taken at once never straddles the
// end.
class Ring {
 public:
  explicit Ring(int64_t capacity = 1) : capacity_(capacity) {}

  // The place of `n` units side by side, or -1 when there is no room. An empty ring begins anew at 0.
  int64_t Take(int64_t n) {
    if (head_ == tail_) head_ = tail_ = (head_ + capacity_ - 1) / capacity_ * capacity_;
    const int64_t place = head_ % capacity_;
    const int64_t skipped = place + n <= capacity_ ? 0 : capacity_ - place;
    if (head_ + skipped + n - tail_ > capacity_) return -1;
    head_ += skipped + n;
    peak_ = std::max(peak_, used());
    return (place + skipped) % capacity_;
  }

  // What was taken until a mark is given back, unless it was before.
  int64_t mark() const { return head_; }
  void Release(int64_t mark) { tail_ = std::max(tail_, mark); }

  int64_t capacity() const { return capacity_; }
  int64_t used() const { return head_ - tail_; }  // with what was skipped
  int64_t peak() const { return peak_; }

 private:
  int64_t capacity_;
  int64_t head_ = 0;
  int64_t tail_ = 0;
  int64_t peak_ = 0;
};

}  // namespace pagoda::graph

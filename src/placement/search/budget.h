// The steps of one search. When they are used up, the search ends without an answer.
#pragma once

#include <algorithm>
#include <cstddef>

namespace berth::placement {

class Budget {
 public:
  explicit Budget(std::size_t steps) : left_(steps) {}
  // False: there are not so many left, and from then on none.
  bool spend(std::size_t steps) {
    ended_ |= steps > left_;
    left_ -= std::min(left_, steps);
    return !ended_;
  }
  bool ended() const { return ended_; }
  std::size_t left() const { return left_; }

 private:
  std::size_t left_;
  bool ended_ = false;
};

}  // namespace berth::placement

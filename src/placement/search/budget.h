// The steps of one search, or of several that share them. When they are used up, the search ends without an
// answer.
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

// An equal share of what is left of a budget, which pays for what was spent when the share ends.
class BudgetShare {
 public:
  // `shares`: with this one; more than 0. The budget outlives it.
  BudgetShare(Budget& whole, std::size_t shares)
      : whole_(whole), given_(whole.left() / shares), budget_(given_) {}
  ~BudgetShare() { whole_.spend(given_ - budget_.left()); }
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;

  Budget& budget() { return budget_; }

 private:
  Budget& whole_;
  const std::size_t given_;
  Budget budget_;
};

}  // namespace berth::placement

// The memory of the symmetry-pruned search: which devices are interchangeable with one that failed, which
// requests are interchangeable, and which states are no-goods.
//
// Owner: one SymmetrySearch, for one run. Each rule prunes only branches without a solution, so the first
// solution is that of the plain order. Why: two devices of a class, or two requests that ask the same, can
// change places in any solution. So a solution with the later device in this position implies one with the
// earlier device, which was tried.
#pragma once

#include <array>
#include <string>
#include <unordered_set>
#include <vector>

#include "dra/proof/relaxation.h"

namespace berth::dra {

// No-goods recorded in one search; further states are searched again.
inline constexpr std::size_t kNoGoodsMax = 1 << 14;
// Longest description of a recorded state, in bytes.
inline constexpr std::size_t kStateBytesMax = 4096;

class SymmetryPruning {
 public:
  SymmetryPruning(const CompiledAllocationRequest& compiled, const Problem& problem,
                  const ConstraintValues& values);

  const Problem& problem;
  Relaxation relaxation;
  Bits used;                             // by place: taken as a whole
  std::vector<std::uint32_t> uses;       // by place: picks of this run
  std::vector<std::uint32_t> class_use;  // by class
  bool watch = false;                    // something failed: the matching is kept complete from now on
  std::unordered_set<std::string> no_goods;

  std::uint32_t group_of(std::uint32_t claim, std::uint32_t request) const {
    return first_group_[claim] + request;
  }
  std::uint32_t slot_of(std::uint32_t group, std::size_t taken) const {
    const SlotGroup& slots = problem.groups[group];
    return taken < slots.count ? slots.first + static_cast<std::uint32_t>(taken) : Matching::kNone;
  }
  bool excluded(std::uint32_t group, std::uint32_t alternative, std::uint32_t device_class) const;
  // Excludes devices of the class from the rest of this request and, when it was the request's first device,
  // from requests interchangeable with it, until the undo to the mark.
  void exclude(std::uint32_t group, std::uint32_t alternative, std::uint32_t device_class, bool first);
  std::size_t mark() const { return journal_.size(); }
  void back_to(std::size_t mark);
  // The first alternative that no earlier interchangeable request has failed with.
  std::uint32_t first_alternative(std::uint32_t group) const;
  // Counts that many more failed alternatives; a negative number undoes it.
  void raise_alternative(std::uint32_t group, int by);

  void take(std::uint32_t place, std::uint32_t slot, bool whole);
  void give_back(std::uint32_t place, std::uint32_t slot, bool whole);

 private:
  void find_interchangeable(const CompiledAllocationRequest& compiled);
  std::uint16_t& count_of(std::uint32_t row, std::uint32_t device_class) {
    return excluded_[row * problem.classes + device_class];
  }

  std::vector<std::uint32_t> first_group_;  // by claim
  std::vector<std::uint32_t> own_row_;      // by group: rows of excluded_
  // By group: up to two sets of interchangeable requests, by what the request asks and by being first in
  // claims that ask the same; kNone without one.
  std::vector<std::array<std::uint32_t, 2>> interchangeable_;
  std::vector<std::uint32_t> interchangeable_row_, interchangeable_floor_;  // by interchangeable set
  std::vector<std::uint16_t> excluded_;  // by row and class: the number of frames that exclude it
  std::vector<std::pair<std::uint32_t, std::uint32_t>> journal_;
};

}  // namespace berth::dra

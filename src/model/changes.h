// Which nodes and pools changed, in order: a reader that has kept its position visits those alone. It is the
// cluster's only change log.
//
// What a transaction charges and undoes is logged apart, and only readers that look inside the transaction
// visit it: a trial that is undone costs nobody else anything. Owner: one Ledger, on one thread. Two bounded
// rings: a reader that fell too far behind learns so and reads everything. Cost: an entry one store; memory 4
// bytes each of kChangesMax, and of the entries of the largest transaction, at most kTrialChangesMax.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "model/ids.h"

namespace berth::model {

inline constexpr std::size_t kChangesMax = 1 << 16;
inline constexpr std::size_t kTrialChangesMax = 1 << 22;
static_assert(std::has_single_bit(kChangesMax) && std::has_single_bit(kTrialChangesMax),
              "rings grow by doubling");

class Changes {
 public:
  // Where a reader has read up to: all facts before `facts`, and of one transaction the entries
  // [trial_begin, trial_end).
  struct Position {
    std::uint64_t facts = 0;
    std::uint64_t trial_begin = 0, trial_end = 0;
  };

  Changes() : facts_(kChangesMax), trials_(kChangesMax) {}

  void note(NodeId node) { add(node.index() << 1); }
  void note(PoolId pool) { add(pool.index() << 1 | 1); }
  // The position after the latest entry; a reader that is up to date keeps it.
  Position end() const {
    read_inside_ = read_inside_ || inside_;
    return {facts_end_, inside_ ? trial_begin_ : trials_end_, trials_end_};
  }
  bool in_trial() const { return inside_; }
  // Differs after every entry.
  std::uint64_t count() const { return count_; }
  // False when entries since `from` were overwritten; then nothing is visited.
  template <class OnNode, class OnPool>
  bool visit_since(Position from, OnNode on_node, OnPool on_pool) const {
    // Of a transaction that ended, what the reader saw was undone; of the open one it lacks the rest.
    const bool same = inside_ && from.trial_begin == trial_begin_;
    const std::uint64_t undone_end = same ? from.trial_begin : from.trial_end;
    const bool known = facts_end_ - from.facts <= facts_.size() &&
                       (undone_end == from.trial_begin || has_trial_entries_since(from.trial_begin)) &&
                       (!inside_ || has_trial_entries_since(trial_begin_));
    if (!known) return false;
    const auto visit = [&](const std::vector<std::uint32_t>& ring, std::uint64_t at, std::uint64_t end) {
      for (; at < end; ++at) {
        const std::uint32_t entry = ring[place(at, ring)];
        if ((entry & 1) == 0)
          on_node(NodeId(entry >> 1));
        else
          on_pool(PoolId(entry >> 1));
      }
    };
    visit(facts_, from.facts, facts_end_);
    visit(trials_, from.trial_begin, undone_end);
    if (inside_) visit(trials_, same ? from.trial_end : trial_begin_, trials_end_);
    return true;
  }

  // For a reader of nodes alone: visits what changed since `seen`, and moves it to the end. False: nothing is
  // visited, and everything is to be read.
  template <class OnNode>
  bool catch_up(Position& seen, OnNode on_node) const {
    const bool known = visit_since(seen, on_node, [](PoolId) {});
    seen = end();
    return known;
  }

  // A transaction begins, and ends with everything undone.
  void begin_trial() {
    BERTH_ASSERT(!inside_, "one transaction at a time");
    inside_ = true;
    read_inside_ = false;
    trial_begin_ = trials_end_;
  }
  void end_trial() {
    inside_ = false;
    if (!read_inside_) trials_end_ = trial_begin_;
  }

 private:
  // The length is a power of two: an entry costs no division.
  static std::size_t place(std::uint64_t at, const std::vector<std::uint32_t>& ring) {
    return at & (ring.size() - 1);
  }
  void add(std::uint32_t entry) {
    ++count_;
    if (!inside_) {
      facts_[place(facts_end_++, facts_)] = entry;
      return;
    }
    if (trials_end_ - trial_begin_ >= trials_.size() / 2 && trials_.size() < kTrialChangesMax) widen();
    trials_[place(trials_end_++, trials_)] = entry;
  }
  bool has_trial_entries_since(std::uint64_t from) const {
    return from >= trials_kept_from_ && trials_end_ - from <= trials_.size();
  }
  void widen() {
    std::vector<std::uint32_t> wider(2 * trials_.size());
    trials_kept_from_ =
        std::max(trials_kept_from_, trials_end_ - std::min<std::uint64_t>(trials_end_, trials_.size()));
    for (std::uint64_t at = trials_kept_from_; at < trials_end_; ++at)
      wider[place(at, wider)] = trials_[place(at, trials_)];
    trials_ = std::move(wider);
  }

  std::vector<std::uint32_t> facts_, trials_;  // rings
  std::uint64_t facts_end_ = 0, trials_end_ = 0;
  std::uint64_t trial_begin_ = 0;
  std::uint64_t trials_kept_from_ = 0;  // older entries were overwritten before the ring grew
  std::uint64_t count_ = 0;
  bool inside_ = false;
  mutable bool read_inside_ = false;  // a reader's position is inside the open transaction
};

}  // namespace berth::model

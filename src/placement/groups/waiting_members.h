// The waiting members of a group, looked up once: their ids, and which of them repeat the one before.
//
// Owner: one decision, on one thread. Cost: O(members).
#pragma once

#include <span>
#include <vector>

#include "placement/index/domains.h"

namespace berth::placement {

class WaitingMembers {
 public:
  // The pods outlive it.
  WaitingMembers(const model::Cluster& cluster, std::span<const api::Pod* const> pods);

  PodId id(std::size_t member) const { return members_[member].id; }
  // The member is of the same template as the one before it.
  bool repeats(std::size_t member) const { return members_[member].repeats; }
  // What all request, without what their devices take.
  DomainUse requested(const model::Cluster& cluster) const;
  // Those that do not repeat one.
  std::span<const api::Pod* const> distinct() const { return distinct_; }

 private:
  struct Member {
    PodId id;
    bool repeats = false;
  };
  std::vector<Member> members_;
  std::vector<const api::Pod*> distinct_;
};

}  // namespace berth::placement

// What a BindRequest needs to know of its gang: the members of its decision, and what became of the decision.
//
// The outcome stands in the PodGroup (api/types/gang_decision.h) and is written by GangBarrier alone; a
// request only reads it. Source: KEP-4671 (gang); the barrier is Berth's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/types/gang_decision.h"
#include "client/view.h"

namespace berth::binding {

// Nothing more will happen to this request.
bool has_ended(const api::BindRequest& request);
// Whether members of the request's decision wait for each other.
bool has_barrier(const api::BindRequest& request);
// The group that the request names, if it is that very object. Null when it is not seen, or another.
const api::PodGroup* group_of(const client::View& view, const api::BindRequest& request);

class Gang {
 public:
  // Both outlive it. Cost: O(log n).
  Gang(const client::View& view, const api::BindRequest& self);

  bool alone() const { return alone_; }
  // Members may be bound: the decision is committed, or there is nobody to wait for.
  bool committed() const { return outcome_ == api::GangOutcome::Committed; }
  // Committed, with others: what a member was told before, or fails at, does not take it back.
  bool only_forward() const { return committed() && !alone_; }
  bool undecided() const { return outcome_ == api::GangOutcome::Undecided; }
  bool aborted() const { return outcome_ == api::GangOutcome::Aborted; }
  // By namespace and name; those that failed included, while their requests stand.
  std::vector<const api::BindRequest*> members() const;
  // The first member that failed for a reason of its own, for messages; null when none has.
  const api::BindRequest* first_failed_member() const;

 private:
  const client::View& view_;
  const api::BindRequest& self_;
  const bool alone_;
  api::GangOutcome outcome_;
};

}  // namespace berth::binding

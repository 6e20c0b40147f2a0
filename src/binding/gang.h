// A BindRequest's view of its gang: the members of its decision, and the decision's outcome.
//
// The outcome is in the PodGroup, or in the root of its tree (api/types/gang_decision.h); only GangBarrier
// writes it. Source: KEP-4671 (gang); the barrier is Berth's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/types/gang_decision.h"
#include "client/view.h"

namespace berth::binding {

// The request has succeeded or failed for good.
bool has_ended(const api::BindRequest& request);
// Whether members of the request's decision wait for each other.
bool has_barrier(const api::BindRequest& request);
// The group that the request names. Null if the view lacks it or has another UID.
const api::PodGroup* group_of(const client::View& view, const api::BindRequest& request);

class Gang {
 public:
  // Both outlive it. `saw_commit`: this process has seen the decision committed. Cost: O(log n); O(members)
  // once the register is gone.
  Gang(const client::View& view, const api::BindRequest& self, bool saw_commit = false);

  bool alone() const { return alone_; }
  // Members may be bound: the decision is committed, or has no barrier.
  bool committed() const { return outcome_ == api::GangOutcome::Committed; }
  // Committed, with a barrier: withdrawals and failures no longer undo it.
  bool only_forward() const { return committed() && !alone_; }
  bool undecided() const { return outcome_ == api::GangOutcome::Undecided; }
  bool aborted() const { return outcome_ == api::GangOutcome::Aborted; }
  // By namespace and name; failed members included, while their requests exist.
  std::vector<const api::BindRequest*> members() const;
  // The first member that failed for its own reason, for messages; null: none.
  const api::BindRequest* first_failed_member() const;

 private:
  const client::View& view_;
  const api::BindRequest& self_;
  const bool alone_;
  api::GangOutcome outcome_;
};

}  // namespace berth::binding

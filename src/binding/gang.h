// The members of one decision, and what is decided about them: all are bound or none.
//
// The decision lives in the status of the leader, the first request by name. Only the leader's own run writes
// it, and runs of one key never overlap: commit (status.committed) and abort (step RollingBack) exclude each
// other. Members act on the leader's word alone. A request that failed is kept until the leader has seen it,
// and the leader until every member has ended, so that the decision outlives all who need it.
#pragma once

#include <string>
#include <vector>

#include "client/view.h"

namespace berth::binding {

// The decision has failed, or is failing, for this request.
bool is_failing(const api::BindRequest& request);
// Nothing more will happen to this request.
bool has_ended(const api::BindRequest& request);

class Gang {
 public:
  // A request of a group of one, or of none, is alone. Cost: O(log n) for a member; O(members) for the
  // leader's questions and while the gang is not complete.
  Gang(const client::View& view, const api::BindRequest& self);

  bool alone() const { return alone_; }
  bool leads() const { return leader_ == &self_; }
  bool complete() const { return size_ >= static_cast<std::size_t>(self_.group.size); }
  std::size_t size() const { return size_; }
  bool committed() const { return committed_; }
  // By namespace and name; the leader first.
  std::vector<const api::BindRequest*> members() const;

  // Whether self must give up: the leader when any member fails, a member when the leader does. Never once
  // committed.
  bool aborted() const;
  // The member whose own trouble ended the gang, for messages; null while none has.
  const api::BindRequest* culprit() const;
  // Whether self, failing, may be marked as ended, which lets the scheduler remove it.
  bool may_end() const;

 private:
  const client::View& view_;
  const api::BindRequest& self_;
  const bool alone_;
  const api::BindRequest* leader_;
  std::size_t size_;
  bool committed_;
};

inline constexpr std::string_view kGangMemberFailed = "GangMemberFailed";

}  // namespace berth::binding

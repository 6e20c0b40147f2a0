#include "binding/gang.h"

#include <algorithm>

namespace berth::binding {

bool is_failing(const api::BindRequest& request) {
  return request.step == api::BindStep::RollingBack || request.phase == api::BindPhase::Failed;
}

bool has_ended(const api::BindRequest& request) {
  return request.phase != api::BindPhase::Pending;
}

Gang::Gang(const client::View& view, const api::BindRequest& self)
    : self_(self), alone_(self.group.size <= 1 || self.decision_id.empty()), committed_(alone_) {
  if (alone_) {
    members_.push_back(&self);
    return;
  }
  members_ = view.bind_requests_of_decision(self.decision_id);
  // Whoever was bound was bound after the commit: the word outlives the leader's object.
  committed_ = std::any_of(members_.begin(), members_.end(), [](const api::BindRequest* member) {
    return member->committed || member->phase == api::BindPhase::Succeeded;
  });
}

bool Gang::complete() const {
  return alone_ || members_.size() >= static_cast<std::size_t>(self_.group.size);
}

bool Gang::aborted() const {
  if (committed_) return false;
  if (!leads()) return is_failing(*members_.front());
  return std::any_of(members_.begin(), members_.end(),
                     [](const api::BindRequest* member) { return is_failing(*member); });
}

const api::BindRequest* Gang::culprit() const {
  const auto found = std::find_if(members_.begin(), members_.end(), [](const api::BindRequest* member) {
    return is_failing(*member) && member->reason != kGangMemberFailed;
  });
  return found == members_.end() ? nullptr : *found;
}

bool Gang::may_end() const {
  if (alone_) return true;
  if (!leads()) return committed_ || is_failing(*members_.front());
  return std::all_of(members_.begin() + 1, members_.end(),
                     [](const api::BindRequest* member) { return has_ended(*member); });
}

}  // namespace berth::binding

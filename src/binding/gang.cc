#include "binding/gang.h"

#include <algorithm>

namespace berth::binding {

bool is_failing(const api::BindRequest& request) {
  return request.step == api::BindStep::RollingBack || request.phase == api::BindPhase::Failed;
}

bool has_ended(const api::BindRequest& request) {
  return request.phase != api::BindPhase::Pending;
}

namespace {

bool says_committed(const api::BindRequest& request) {
  return request.committed || request.phase == api::BindPhase::Succeeded;
}

}  // namespace

Gang::Gang(const client::View& view, const api::BindRequest& self)
    : view_(view),
      self_(self),
      alone_(self.group.size <= 1 || self.decision_id.empty()),
      leader_(&self),
      size_(1) {
  committed_ = alone_;
  if (alone_) return;
  const api::BindRequest* first = view.first_bind_request_of_decision(self.decision_id);
  if (first) leader_ = first;
  size_ = view.bind_request_count_of_decision(self.decision_id);
  committed_ = says_committed(*leader_);
  if (committed_ || complete()) return;
  // The leader's object may be gone with its pod: whoever knows of the commit keeps its word.
  const auto known = members();
  committed_ = std::any_of(known.begin(), known.end(),
                           [](const api::BindRequest* member) { return says_committed(*member); });
}

std::vector<const api::BindRequest*> Gang::members() const {
  if (alone_) return {&self_};
  return view_.bind_requests_of_decision(self_.decision_id);
}

bool Gang::aborted() const {
  if (committed_) return false;
  if (!leads()) return is_failing(*leader_);
  const auto all = members();
  return std::any_of(all.begin(), all.end(),
                     [](const api::BindRequest* member) { return is_failing(*member); });
}

const api::BindRequest* Gang::culprit() const {
  const auto all = members();
  const auto found = std::find_if(all.begin(), all.end(), [](const api::BindRequest* member) {
    return is_failing(*member) && member->reason != kGangMemberFailed;
  });
  return found == all.end() ? nullptr : *found;
}

bool Gang::may_end() const {
  if (alone_) return true;
  if (!leads()) return committed_ || is_failing(*leader_);
  const auto all = members();
  return std::all_of(all.begin(), all.end(), [this](const api::BindRequest* member) {
    return member == &self_ || has_ended(*member);
  });
}

}  // namespace berth::binding

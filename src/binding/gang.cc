#include "binding/gang.h"

#include <algorithm>

#include "client/group_tree.h"

namespace berth::binding {

bool has_ended(const api::BindRequest& request) {
  return request.phase != api::BindPhase::Pending;
}

bool has_barrier(const api::BindRequest& request) {
  return request.group.size > 1 && !request.decision_id.empty();
}

const api::PodGroup* group_of(const client::View& view, const api::BindRequest& request) {
  const api::PodGroup* group = view.pod_groups.find(request.meta.ns, request.group.name);
  const bool same = group && (request.group.uid.empty() || group->meta.uid == request.group.uid);
  return same ? group : nullptr;
}

Gang::Gang(const client::View& view, const api::BindRequest& self, bool saw_commit)
    : view_(view), self_(self), alone_(!has_barrier(self)), outcome_(api::GangOutcome::Undecided) {
  // The register may be deleted by now; a commit that was seen stays one.
  if (alone_ || saw_commit || self.committed || self.phase == api::BindPhase::Succeeded) {
    outcome_ = api::GangOutcome::Committed;
  } else {
    outcome_ = client::outcome_of(view, self);
  }
}

std::vector<const api::BindRequest*> Gang::members() const {
  if (alone_) return {&self_};
  return view_.bind_requests_of_decision(self_.decision_id);
}

const api::BindRequest* Gang::first_failed_member() const {
  const auto all = members();
  const auto found = std::find_if(all.begin(), all.end(), [](const api::BindRequest* member) {
    return is_failing(*member) && !api::is_blameless(member->reason);
  });
  return found == all.end() ? nullptr : *found;
}

}  // namespace berth::binding

#include "placement/groups/group_members.h"

#include <algorithm>

#include "api/types/gang_decision.h"
#include "api/types/group_domain.h"
#include "base/known_defects.h"
#include "client/group_tree.h"

namespace berth::placement {
namespace {

using Unsettled = UnsettledGate::Kind;

bool is_committed(const client::View& view, const api::BindRequest& request) {
  return request.committed || request.phase == api::BindPhase::Succeeded ||
         client::outcome_of(view, request) == api::GangOutcome::Committed;
}

// A member that waits had a request of this decision.
bool failed_in(const client::View& view, const std::string& decision, const GroupMembers& members) {
  return std::any_of(members.waiting.begin(), members.waiting.end(), [&](const api::Pod* pod) {
    const auto requests = view.bind_requests_of_pod(pod->meta.ns, pod->meta.name);
    return std::any_of(requests.begin(), requests.end(),
                       [&](const api::BindRequest* request) { return request->decision_id == decision; });
  });
}

class Sorting {
 public:
  Sorting(const client::View& view, const model::Cluster& cluster, const GroupQuestions& questions)
      : view_(view), cluster_(cluster), questions_(questions) {}

  void add(const api::Pod& pod) {
    members_.ever_bound += pod.bound();
    if (pod.finished() || pod.meta.deleting()) return;
    ++members_.alive;
    const model::PodId id = cluster_.find_pod(pod.meta.ns, pod.meta.name);
    const model::NodeId node = cluster_.ledger().node_of(id);
    const api::BindRequest* request =
        pod.bound() || !id.valid() ? nullptr : standing_request(cluster_.pod(id), pod);
    if (node.valid()) {
      members_.placed.push_back(&pod);
      members_.occupied.push_back(node);
      members_.recorded.push_back(request ? request->group.domain
                                          : std::string(pod.meta.annotation(api::kGroupDomainAnnotation)));
    } else if (!request && questions_.ours(pod)) {
      members_.waiting.push_back(&pod);
    } else if (!request && (!members_.foreign || pod.meta.name < members_.foreign->meta.name)) {
      members_.foreign = &pod;
    }
    if (pod.bound()) {
      ++members_.scheduled;
    } else if (request) {
      add_request(*request);
    } else if (node.valid()) {
      written(pod);
    }
  }

  GroupMembers take() { return std::move(members_); }

 private:
  void add_request(const api::BindRequest& request) {
    if (has(KnownDefect::PlacedCountsAsScheduled)) return void(++members_.scheduled);
    if (request.withdrawn || is_failing(request)) return unsettled(request, Unsettled::BeingGivenBack);
    if (is_committed(view_, request)) {
      ++members_.scheduled;
      return;
    }
    if (request.group.size <= 1) return;
    ++members_.at_barrier;
    if (members_.joinable.empty()) members_.joinable = request.decision_id;
    if (members_.joinable != request.decision_id ||
        client::outcome_of(view_, request) == api::GangOutcome::Aborted)
      unsettled(request, Unsettled::AtBarrier);
    if (questions_.gang_under_way(request.decision_id)) unsettled(request, Unsettled::OthersUnwritten);
    if (!questions_.gang_under_way(request.decision_id) && !questions_.was_written(request.decision_id) &&
        view_.bind_request_count_of_decision(request.decision_id) <
            static_cast<std::size_t>(request.group.size))
      members_.broken.push_back(&request);
    if (!members_.broken.empty()) unsettled(request, Unsettled::Broken);
  }

  void unsettled(const api::BindRequest& request, Unsettled kind) {
    if (!members_.unsettled) members_.unsettled = {kind, request.pod_name};
  }
  // Without a barrier each member is bound by itself, so the decision does not block the others.
  void written(const api::Pod& pod) {
    const auto assumed = cluster_.assumptions().find(pod.meta.uid);
    if (assumed == cluster_.assumptions().end() || !questions_.gang_under_way(assumed->second.decision))
      return;
    if (!members_.unsettled) members_.unsettled = {Unsettled::BeingWritten, pod.meta.name};
  }

  const client::View& view_;
  const model::Cluster& cluster_;
  const GroupQuestions& questions_;
  GroupMembers members_;
};

// Of a request that names the pod.
bool is_standing(const api::BindRequest& request, const api::Pod& pod) {
  return request.pod_uid == pod.meta.uid &&
         (!api::failed_for_good(request) || has(KnownDefect::FailedRequestStands));
}

}  // namespace

const api::BindRequest* standing_request(const client::View& view, const api::Pod& pod) {
  for (const api::BindRequest* request : view.bind_requests_of_pod(pod.meta.ns, pod.meta.name))
    if (is_standing(*request, pod)) return request;
  return nullptr;
}

const api::BindRequest* standing_request(const model::PodRow& row, const api::Pod& pod) {
  for (const auto& [name, request] : row.bind_requests)
    if (is_standing(*request, pod)) return request.get();
  return nullptr;
}

GroupMembers members_of_one(const client::View& view, const model::Cluster& cluster,
                            const GroupQuestions& questions, std::string_view ns, std::string_view group) {
  Sorting sorting(view, cluster, questions);
  for (const api::Pod* pod : view.pods_of_group(ns, group)) sorting.add(*pod);
  return sorting.take();
}

void join_groups(const client::View& view, std::span<GroupMembers* const> groups) {
  std::string decision;
  bool waits = false;
  for (const GroupMembers* group : groups) {
    if (decision.empty()) decision = group->joinable;
    waits |= !group->waiting.empty();
  }
  for (GroupMembers* group : groups) {
    // If no pod waits, the members without a request are gone, and the gang barrier decides about the rest.
    if (!waits) group->broken.clear();
    if (group->unsettled || group->joinable.empty()) continue;
    if (group->joinable != decision) group->unsettled = {Unsettled::OthersAtBarrier, decision};
  }
  if (decision.empty()) return;
  // A member that failed in this decision waits until the barrier has decided about the others.
  for (GroupMembers* group : groups)
    if (!group->unsettled && failed_in(view, decision, *group))
      group->unsettled = {Unsettled::OthersAtBarrier, decision};
}

GroupMembers group_members(const client::View& view, const model::Cluster& cluster,
                           const GroupQuestions& questions, std::string_view ns, std::string_view group) {
  GroupMembers members = members_of_one(view, cluster, questions, ns, group);
  GroupMembers* const alone[] = {&members};
  join_groups(view, alone);
  return members;
}

}  // namespace berth::placement

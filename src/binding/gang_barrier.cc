#include "binding/gang_barrier.h"

#include <algorithm>
#include <set>

#include "base/known_defects.h"
#include "binding/bind_cycle.h"
#include "binding/gang.h"

namespace berth::binding {
namespace {

using api::GangOutcome;
using client::Delta;
using client::Effects;
using client::View;
using Keys = std::vector<api::ObjectKey>;

api::ObjectKey group_key(std::string_view ns, std::string_view name) {
  return {api::Kind::PodGroup, std::string(ns), std::string(name), {}};
}

void add_group_of(const api::BindRequest& request, Keys& keys) {
  if (has_barrier(request)) keys.push_back(group_key(request.meta.ns, request.group.name));
}

// The members of one decision that the view has.
struct Members {
  std::vector<const api::BindRequest*> left;  // not failing, with their pod; bound ones included
  std::size_t requests = 0;                   // failed ones included
  std::size_t size = 0;                       // as decided
};

Members members_of(const View& view, const std::string& decision) {
  Members members;
  for (const api::BindRequest* request : view.bind_requests_of_decision(decision)) {
    ++members.requests;
    members.size = std::max(members.size, static_cast<std::size_t>(request->group.size));
    const PodObservation observation = observe_pod(view, *request);
    const bool there = observation.state == PodObservation::State::Free ||
                       observation.state == PodObservation::State::OnOurNode;
    const bool failing = is_failing(*request) && !has(KnownDefect::BindFailureInvisibleToGang);
    if (there && !failing && !request->withdrawn) members.left.push_back(request);
  }
  return members;
}

bool lives(const api::Pod& pod) {
  return !pod.finished() && !pod.meta.deleting();
}

// The pod has no BindRequest, or only one that failed before this decision.
bool awaits_request(const View& view, const api::Pod& pod, const std::string& decision) {
  const auto requests = view.bind_requests_of_pod(pod.meta.ns, pod.meta.name);
  return std::none_of(requests.begin(), requests.end(), [&](const api::BindRequest* request) {
    return request->pod_uid == pod.meta.uid && (request->decision_id == decision || !is_failing(*request));
  });
}

// A commit reaches minCount, so the same write says that the group is scheduled: the scheduler would write
// this next.
client::Write write_of(const api::ObjectKey& key, const api::PodGroup& group, const std::string& decision,
                       GangOutcome outcome, Time now) {
  std::vector<api::Condition> conditions;  // Kubernetes' own first: new ones are kept in this order
  if (outcome == GangOutcome::Committed && !api::condition_is_true(group.conditions, api::kGroupScheduled))
    conditions.push_back(api::group_condition(true, "Scheduled", "", now));
  conditions.push_back(api::gang_condition(group, decision, outcome, now));
  return client::conditions_patch(key, group.meta, conditions);
}

class GangBarrier final : public client::Reconciler {
 public:
  GangBarrier(BinderOptions options, Binder& binder) : options_(std::move(options)), binder_(binder) {}

  std::string_view name() const override { return kGangBarrierName; }
  std::vector<client::Interest> interests() const override;
  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override;
  void on_outcome(const View&, const api::ObjectKey& key, const client::Outcome&, Time) override {
    decided(key);
  }

 private:
  // A decision with missing requests.
  struct Arrivals {
    std::string decision;
    std::size_t requests = 0;
    Time since;  // the latest one appeared
  };

  std::string undecided(const View& view, const api::PodGroup& group) const;
  std::size_t still_to_come(const View& view, const api::PodGroup& group, const std::string& decision,
                            const Members& members, const Arrivals& arrivals, Time now) const;
  bool all_prepared(const View& view, const Members& members, Time now) const;
  Effects decide(const View& view, const api::PodGroup& group, const std::string& decision, Time now);

  const BinderOptions options_;
  Binder& binder_;
  // The write of this group's outcome has been answered.
  void decided(const api::ObjectKey& key) {
    if (const auto found = deciding_.find(key); found != deciding_.end()) {
      binder_.end_deciding(found->second);
      deciding_.erase(found);
    }
  }

  std::map<api::ObjectKey, std::string> deciding_;  // groups whose outcome is in flight
  std::map<api::ObjectKey, Arrivals> arrivals_;     // of groups with missing requests
};

std::vector<client::Interest> GangBarrier::interests() const {
  return {client::itself(api::Kind::PodGroup),
          {api::Kind::BindRequest,
           {},
           [](const View&, const Delta& delta, Keys& keys) {
             for (const auto* object : {&delta.before, &delta.after})
               if (const auto* request = client::object_of<api::BindRequest>(*object))
                 add_group_of(*request, keys);
           }},
          {api::Kind::Pod,
           {},
           [](const View&, const Delta& delta, Keys& keys) {
             const auto* pod = client::object_of<api::Pod>(delta.after);
             if (!pod) pod = client::object_of<api::Pod>(delta.before);
             if (pod && !pod->group.empty()) keys.push_back(group_key(pod->meta.ns, pod->group));
           }},
          {api::Kind::ResourceClaim,
           {},
           [](const View& view, const Delta& delta, Keys& keys) {
             for (const api::BindRequest* request : view.bind_requests_of_claim(delta.key.ns, delta.key.name))
               add_group_of(*request, keys);
           }},
          {api::Kind::Node, {}, [](const View& view, const Delta& delta, Keys& keys) {
             if (delta.before && delta.after) return;
             for (const auto& [name, request] : view.bind_requests.all())
               if (request->node == delta.key.name && !has_ended(*request)) add_group_of(*request, keys);
           }}};
}

// The first decision, by id, without an outcome; empty if there is none, or if members of the latest outcome
// are still to be bound: the register holds one outcome.
std::string GangBarrier::undecided(const View& view, const api::PodGroup& group) const {
  std::string first;
  for (const api::BindRequest* request : view.bind_requests_of_group(group.meta.ns, group.meta.name)) {
    if (!has_barrier(*request) || has_ended(*request) || group_of(view, *request) != &group) continue;
    if (api::gang_outcome(group, request->decision_id) != GangOutcome::Undecided) {
      if (!is_failing(*request)) return {};
      continue;
    }
    if (!request->committed && (first.empty() || request->decision_id < first)) first = request->decision_id;
  }
  return first;
}

// The number of missing requests that may still be written: each needs a living pod without a request. The
// view may get pods a little later than requests.
std::size_t GangBarrier::still_to_come(const View& view, const api::PodGroup& group,
                                       const std::string& decision, const Members& members,
                                       const Arrivals& arrivals, Time now) const {
  if (members.requests >= members.size || now >= arrivals.since + options_.gang_timeout) return 0;
  if (now < arrivals.since + kInformerLagGrace) return members.size - members.requests;
  std::size_t candidates = 0;
  for (const api::Pod* pod : view.pods_of_group(group.meta.ns, group.meta.name))
    candidates += lives(*pod) && !pod->bound() && awaits_request(view, *pod, decision);
  return std::min(candidates, members.size - members.requests);
}

bool GangBarrier::all_prepared(const View& view, const Members& members, Time now) const {
  return std::all_of(members.left.begin(), members.left.end(), [&](const api::BindRequest* member) {
    const PodObservation observation = observe_pod(view, *member);
    if (observation.state == PodObservation::State::OnOurNode) return true;
    if (!view.nodes.find("", member->node)) return false;
    const BindContext context{view, *member, observation.pod, now, now, options_};
    return !binder_.gives_up(*member, now) && is_prepared(binder_.plugins(), context);
  });
}

Effects GangBarrier::decide(const View& view, const api::PodGroup& group, const std::string& decision,
                            Time now) {
  const api::ObjectKey key = client::key_of(api::Kind::PodGroup, group.meta);
  const Members members = members_of(view, decision);
  Arrivals& arrivals = arrivals_[key];
  if (arrivals.decision != decision || arrivals.requests != members.requests)
    arrivals = {decision, members.requests, now};
  if (has(KnownDefect::LimitsCountFromCreation) && !members.left.empty())
    arrivals.since = members.left.front()->meta.created;
  const std::size_t to_come = still_to_come(view, group, decision, members, arrivals, now);

  std::set<std::string_view> counted;
  for (const api::BindRequest* member : members.left) counted.insert(member->pod_uid);
  std::size_t bound = 0;
  for (const api::Pod* pod : view.pods_of_group(group.meta.ns, group.meta.name))
    bound += pod->bound() && lives(*pod) && !counted.contains(pod->meta.uid);
  const std::int32_t read = has(KnownDefect::GangMinimumNotRead) ? 1 : group.minimum();
  const auto minimum = static_cast<std::size_t>(std::max(read, 1));

  Effects effects;
  GangOutcome outcome = GangOutcome::Undecided;
  if (members.left.empty() && to_come == 0) return effects;
  if (bound + members.left.size() + to_come < minimum) {
    if (has(KnownDefect::GangsHoldEachOther)) return effects;
    if (has(KnownDefect::CompletenessAfterDeviceWait) && !all_prepared(view, members, now)) return effects;
    outcome = GangOutcome::Aborted;
  } else if (to_come > 0) {
    const Time seen_by = arrivals.since + kInformerLagGrace;
    effects.wake_at = now < seen_by ? seen_by : arrivals.since + options_.gang_timeout;
    return effects;
  } else if (all_prepared(view, members, now)) {
    outcome = GangOutcome::Committed;
  } else {
    const bool soon =
        std::any_of(members.left.begin(), members.left.end(),
                    [&](const api::BindRequest* member) { return binder_.awaits_lease(*member, now); });
    if (soon) effects.wake_at = now + kLeaseReadInterval;
    return effects;
  }
  deciding_[key] = decision;
  binder_.begin_deciding(decision);
  return Effects::write(key, write_of(key, group, decision, outcome, now));
}

Effects GangBarrier::reconcile(const View& view, const api::ObjectKey& key, Time now) {
  decided(key);
  const api::PodGroup* group = view.pod_groups.find(key.ns, key.name);
  const std::string decision = group ? undecided(view, *group) : std::string();
  if (decision.empty()) {
    arrivals_.erase(key);
    return Effects::nothing();
  }
  return decide(view, *group, decision, now);
}

}  // namespace

std::unique_ptr<client::Reconciler> make_gang_barrier(const BinderOptions& options, Binder& binder) {
  return std::make_unique<GangBarrier>(options, binder);
}

}  // namespace berth::binding

#include "binding/gang_barrier.h"

#include <algorithm>
#include <set>

#include "base/known_defects.h"
#include "binding/bind_cycle.h"
#include "binding/gang.h"
#include "binding/gang_minima.h"
#include "client/group_tree.h"

namespace berth::binding {
namespace {

using api::GangOutcome;
using client::Delta;
using client::Effects;
using client::View;
using Keys = std::vector<api::ObjectKey>;

void add_register_of(const api::BindRequest& request, Keys& keys) {
  if (has_barrier(request)) keys.push_back(client::register_key(request));
}

void add_root_of(const View& view, const std::string& ns, const std::string& composite, Keys& keys) {
  if (!composite.empty())
    keys.push_back({api::Kind::CompositePodGroup, ns, client::tree_top(view, ns, composite).name, {}});
}

// A decision about the PodGroup is about it alone, or about the tree that it is in.
void add_registers_of(const View& view, const std::string& ns, const std::string& name, Keys& keys) {
  keys.push_back({api::Kind::PodGroup, ns, name, {}});
  if (const api::PodGroup* group = view.pod_groups.find(ns, name)) add_root_of(view, ns, group->parent, keys);
}

void keys_of_composite(const View& view, const Delta& delta, Keys& keys) {
  add_root_of(view, delta.key.ns, delta.key.name, keys);
  for (const auto* object : {&delta.before, &delta.after})
    if (const auto* composite = client::object_of<api::CompositePodGroup>(*object))
      add_root_of(view, delta.key.ns, composite->parent, keys);
}

std::optional<api::GangRegister> register_at(const View& view, const api::ObjectKey& gang) {
  if (gang.kind == api::Kind::CompositePodGroup) {
    const api::CompositePodGroup* root = view.composite_groups.find(gang.ns, gang.name);
    return root ? std::optional(api::GangRegister(*root)) : std::nullopt;
  }
  const api::PodGroup* group = view.pod_groups.find(gang.ns, gang.name);
  return group ? std::optional(api::GangRegister(*group)) : std::nullopt;
}

// The view may get the groups of a tree a little later than the requests.
bool lacks_groups(const View& view, const api::ObjectKey& gang, const GangShares& shares) {
  std::set<std::string_view> known;
  for (const api::PodGroup* group : groups_of_gang(view, gang)) known.insert(group->meta.name);
  return std::any_of(shares.groups.begin(), shares.groups.end(),
                     [&](const auto& share) { return !known.contains(share.first); });
}

std::vector<const api::BindRequest*> requests_of(const View& view, const api::ObjectKey& gang) {
  return gang.kind == api::Kind::CompositePodGroup ? view.bind_requests_of_root(gang.ns, gang.name)
                                                   : view.bind_requests_of_group(gang.ns, gang.name);
}

// The members of one decision that the view has.
struct Members {
  std::vector<const api::BindRequest*> left;  // not failing, with their pod; bound ones included
  std::size_t requests = 0;                   // failed ones included
  std::size_t leaving = 0;                    // withdrawn, and not failing yet: a commit would bind them
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
    members.leaving += there && !failing && request->withdrawn;
  }
  return members;
}

// The pod has no BindRequest, or only one that failed before this decision.
bool awaits_request(const View& view, const api::Pod& pod, const std::string& decision) {
  const auto requests = view.bind_requests_of_pod(pod.meta.ns, pod.meta.name);
  return std::none_of(requests.begin(), requests.end(), [&](const api::BindRequest* request) {
    return request->pod_uid == pod.meta.uid && (request->decision_id == decision || !is_failing(*request));
  });
}

// A commit reaches the minimum, so the same write says that the group is scheduled: the scheduler would write
// this next.
client::Write write_of(const api::ObjectKey& key, const api::GangRegister& group, const std::string& decision,
                       GangOutcome outcome, Time now) {
  std::vector<api::Condition> conditions;  // Kubernetes' own first: new ones are kept in this order
  if (outcome == GangOutcome::Committed && !api::is_scheduled(group))
    conditions.push_back(api::scheduled_condition(group, true, "Scheduled", "", now));
  conditions.push_back(api::gang_condition(group, decision, outcome, now));
  return client::conditions_patch(key, *group.meta, conditions);
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

  std::string undecided(const View& view, const api::ObjectKey& gang, const api::GangRegister& group) const;
  std::size_t still_to_come(const View& view, const api::ObjectKey& gang, const std::string& decision,
                            const Members& members, const Arrivals& arrivals, GangShares& shares,
                            Time now) const;
  bool all_prepared(const View& view, const Members& members, Time now) const;
  Effects decide(const View& view, const api::ObjectKey& gang, const api::GangRegister& group,
                 const std::string& decision, Time now);

  const BinderOptions options_;
  Binder& binder_;
  // The write of this gang's outcome has been answered.
  void decided(const api::ObjectKey& key) {
    if (const auto found = deciding_.find(key); found != deciding_.end()) {
      binder_.end_deciding(found->second);
      deciding_.erase(found);
    }
  }

  std::map<api::ObjectKey, std::string> deciding_;  // gangs whose outcome is in flight
  std::map<api::ObjectKey, Arrivals> arrivals_;     // of gangs with missing requests
};

std::vector<client::Interest> GangBarrier::interests() const {
  std::vector<client::Interest> interests = {
      {api::Kind::PodGroup,
       {},
       [](const View& view, const Delta& delta, Keys& keys) {
         add_registers_of(view, delta.key.ns, delta.key.name, keys);
       }},
      {api::Kind::BindRequest,
       {},
       [](const View&, const Delta& delta, Keys& keys) {
         for (const auto* object : {&delta.before, &delta.after})
           if (const auto* request = client::object_of<api::BindRequest>(*object))
             add_register_of(*request, keys);
       }},
      {api::Kind::Pod,
       {},
       [](const View& view, const Delta& delta, Keys& keys) {
         const auto* pod = client::object_of<api::Pod>(delta.after);
         if (!pod) pod = client::object_of<api::Pod>(delta.before);
         if (pod && !pod->group.empty()) add_registers_of(view, pod->meta.ns, pod->group, keys);
       }},
      {api::Kind::ResourceClaim,
       {},
       [](const View& view, const Delta& delta, Keys& keys) {
         for (const api::BindRequest* request : view.bind_requests_of_claim(delta.key.ns, delta.key.name))
           add_register_of(*request, keys);
       }},
      {api::Kind::Node, {}, [](const View& view, const Delta& delta, Keys& keys) {
         if (delta.before && delta.after) return;
         for (const auto& [name, request] : view.bind_requests.all())
           if (request->node == delta.key.name && !has_ended(*request)) add_register_of(*request, keys);
       }}};
  if (options_.composite_groups) interests.push_back({api::Kind::CompositePodGroup, {}, keys_of_composite});
  return interests;
}

// The first decision, by id, without an outcome; empty if there is none, or if members of the latest outcome
// are still to be bound: the register holds one outcome.
std::string GangBarrier::undecided(const View& view, const api::ObjectKey& gang,
                                   const api::GangRegister& group) const {
  std::string first;
  for (const api::BindRequest* request : requests_of(view, gang)) {
    if (!has_barrier(*request) || has_ended(*request)) continue;
    if (client::register_key(*request) != gang || !client::register_of(view, *request)) continue;
    if (api::gang_outcome(group, request->decision_id) != GangOutcome::Undecided) {
      if (!is_failing(*request)) return {};
      continue;
    }
    if (!request->committed && (first.empty() || request->decision_id < first)) first = request->decision_id;
  }
  return first;
}

// The number of missing requests that may still be written: each needs a living pod without a request. The
// view may get pods a little later than requests. Each group's part is added to `shares`.
std::size_t GangBarrier::still_to_come(const View& view, const api::ObjectKey& gang,
                                       const std::string& decision, const Members& members,
                                       const Arrivals& arrivals, GangShares& shares, Time now) const {
  if (members.requests >= members.size || now >= arrivals.since + options_.gang_timeout) return 0;
  const std::size_t missing = members.size - members.requests;
  const bool early = now < arrivals.since + kInformerLagGrace;
  std::size_t candidates = 0;
  for (const api::PodGroup* group : groups_of_gang(view, gang)) {
    std::size_t own = 0;
    for (const api::Pod* pod : view.pods_of_group(group->meta.ns, group->meta.name))
      own += lives(*pod) && !pod->bound() && awaits_request(view, *pod, decision);
    candidates += own;
    if (const std::size_t coming = early ? missing : std::min(own, missing))
      shares.groups[group->meta.name].coming = coming;
  }
  return early ? missing : std::min(candidates, missing);
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

Effects GangBarrier::decide(const View& view, const api::ObjectKey& gang, const api::GangRegister& group,
                            const std::string& decision, Time now) {
  const Members members = members_of(view, decision);
  Arrivals& arrivals = arrivals_[gang];
  if (arrivals.decision != decision || arrivals.requests != members.requests)
    arrivals = {decision, members.requests, now};
  if (has(KnownDefect::LimitsCountFromCreation) && !members.left.empty())
    arrivals.since = members.left.front()->meta.created;
  GangShares shares;
  for (const api::BindRequest* member : members.left) {
    ++shares.groups[member->group.name].left;
    shares.counted.insert(member->pod_uid);
  }
  const std::size_t to_come = still_to_come(view, gang, decision, members, arrivals, shares, now);

  Effects effects;
  GangOutcome outcome = GangOutcome::Undecided;
  if (members.left.empty() && to_come == 0) return effects;
  if (!reaches_minima(view, gang, shares)) {
    if (has(KnownDefect::GangsHoldEachOther)) return effects;
    if (has(KnownDefect::CompletenessAfterDeviceWait) && !all_prepared(view, members, now)) return effects;
    const Time seen_by = arrivals.since + kInformerLagGrace;
    if (now < seen_by && lacks_groups(view, gang, shares)) {
      effects.wake_at = seen_by;
      return effects;
    }
    outcome = GangOutcome::Aborted;
  } else if (to_come > 0) {
    const Time seen_by = arrivals.since + kInformerLagGrace;
    effects.wake_at = now < seen_by ? seen_by : arrivals.since + options_.gang_timeout;
    return effects;
  } else if (gang.kind == api::Kind::CompositePodGroup && members.leaving > 0) {
    return effects;  // else a group of which nothing else is left would be bound in part
  } else if (all_prepared(view, members, now)) {
    outcome = GangOutcome::Committed;
  } else {
    const bool soon =
        std::any_of(members.left.begin(), members.left.end(),
                    [&](const api::BindRequest* member) { return binder_.awaits_lease(*member, now); });
    if (soon) effects.wake_at = now + kLeaseReadInterval;
    return effects;
  }
  deciding_[gang] = decision;
  binder_.begin_deciding(decision);
  return Effects::write(gang, write_of(gang, group, decision, outcome, now));
}

Effects GangBarrier::reconcile(const View& view, const api::ObjectKey& key, Time now) {
  decided(key);
  const std::optional<api::GangRegister> group = register_at(view, key);
  const std::string decision = group ? undecided(view, key, *group) : std::string();
  if (decision.empty()) {
    arrivals_.erase(key);
    return Effects::nothing();
  }
  return decide(view, key, *group, decision, now);
}

}  // namespace

std::unique_ptr<client::Reconciler> make_gang_barrier(const BinderOptions& options, Binder& binder) {
  return std::make_unique<GangBarrier>(options, binder);
}

}  // namespace berth::binding

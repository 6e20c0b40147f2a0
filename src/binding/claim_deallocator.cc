#include "binding/claim_deallocator.h"

#include <algorithm>
#include <utility>

#include "api/types/claim_consumer.h"
#include "base/known_defects.h"
#include "binding/gang.h"
#include "client/claim_writes.h"

namespace berth::binding {
namespace {

using client::Delta;
using client::Effects;
using client::View;
using Keys = std::vector<api::ObjectKey>;

// The scheduler or the binder has refused the pod. A pod without that condition may have a decision under
// way.
bool told_to_wait(const api::Pod& pod) {
  const api::Condition* condition = api::find_condition(pod.conditions, "PodScheduled");
  return condition && condition->status == "False" &&
         (condition->reason == "Unschedulable" || condition->reason == "SchedulerError");
}

bool failed_all(const std::vector<const api::BindRequest*>& requests) {
  return std::all_of(requests.begin(), requests.end(),
                     [](const api::BindRequest* request) { return api::failed_for_good(*request); });
}

// No decision is under way that could bind the pod.
bool waits(const View& view, const api::Pod& pod) {
  if (pod.bound() || pod.finished() || pod.meta.deleting() || !told_to_wait(pod)) return false;
  return failed_all(view.bind_requests_of_pod(pod.meta.ns, pod.meta.name));
}

// No member of the group is placed or has an unfinished request, and one waits for a decision.
bool group_waits(const View& view, const api::ClaimConsumer& group,
                 const std::vector<const api::Pod*>& users) {
  bool waiting = false;
  for (const api::Pod* pod : users) {
    if (pod->group != group.name || pod->finished()) continue;
    const auto requests = view.bind_requests_of_pod(pod->meta.ns, pod->meta.name);
    if (pod->bound() || !failed_all(requests)) return false;
    waiting |= told_to_wait(*pod) || !requests.empty();
  }
  return waiting;
}

bool in_vain(const View& view, const api::ResourceClaim& claim) {
  if (!claim.allocation || claim.meta.deleting()) return false;
  if (has(KnownDefect::FailedBindingKeepsClaims)) return false;
  const auto requests = view.bind_requests_of_claim(claim.meta.ns, claim.meta.name);
  if (std::any_of(requests.begin(), requests.end(),
                  [](const api::BindRequest* request) { return !has_ended(*request); }))
    return false;
  const auto pods = view.pods_using_claim(claim.meta.ns, claim.meta.name);
  const auto waiting = [&](std::string_view uid) {
    return std::any_of(pods.begin(), pods.end(), [&](const api::Pod* pod) {
      return (uid.empty() || pod->meta.uid == uid) && waits(view, *pod);
    });
  };
  const auto uses_it_not = [&](const api::ClaimConsumer& consumer) {
    if (api::is_group(consumer)) return group_waits(view, consumer, pods);
    return consumer.resource == "pods" && waiting(consumer.uid);
  };
  return (waiting("") || !claim.reserved_for.empty()) &&
         std::all_of(claim.reserved_for.begin(), claim.reserved_for.end(), uses_it_not);
}

// The claim for extended resources of an attempt that ended without a binding.
bool left_over(const View& view, const api::ResourceClaim& claim) {
  if (claim.meta.annotation(api::kExtendedResourceClaimAnnotation).empty() || claim.meta.deleting())
    return false;
  const api::OwnerReference* owner = claim.meta.controller();
  const api::Pod* pod = owner ? view.pods.find(claim.meta.ns, owner->name) : nullptr;
  if (!pod || pod->meta.uid != owner->uid || pod->bound()) return false;
  const auto requests = view.bind_requests_of_claim(claim.meta.ns, claim.meta.name);
  return std::none_of(requests.begin(), requests.end(), [&](const api::BindRequest* request) {
    return request->pod_uid == pod->meta.uid && !api::failed_for_good(*request);
  });
}

// A group member that ends wakes its claims too: a claim that is reserved for the group does not change with
// it.
void claims_of_pod(const View& view, const Delta& delta, Keys& keys) {
  const auto& object = delta.after ? *delta.after : *delta.before;
  const api::Pod& pod = *std::get<std::shared_ptr<const api::Pod>>(object);
  const bool ended = !delta.after || pod.finished();
  const bool waits = !ended && !pod.bound() && told_to_wait(pod);
  if (!waits && (!ended || pod.group.empty())) return;
  for (const api::PodClaim& named : pod.claims) {
    const std::string name = api::claim_object_name(pod, named);
    const api::ResourceClaim* claim = view.claims.find(pod.meta.ns, name);
    if (claim && claim->allocation) keys.push_back(client::key_of(api::Kind::ResourceClaim, claim->meta));
  }
}

void claims_of_request(const View&, const Delta& delta, Keys& keys) {
  const auto& object = delta.after ? *delta.after : *delta.before;
  for (const auto& claim : std::get<std::shared_ptr<const api::BindRequest>>(object)->claims)
    keys.push_back({api::Kind::ResourceClaim, delta.key.ns, claim.claim_name, {}});
}

class ClaimDeallocator final : public client::Reconciler {
 public:
  std::string_view name() const override { return "claim-deallocator"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(api::Kind::ResourceClaim),
            {api::Kind::Pod, {}, claims_of_pod},
            {api::Kind::BindRequest, {}, claims_of_request}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const api::ResourceClaim* claim = view.claims.find(key.ns, key.name);
    const bool leftover = claim && left_over(view, *claim);
    if (!claim || (!leftover && !in_vain(view, *claim))) {
      idle_since_.erase(key);
      return Effects::nothing();
    }
    const Time due = seen_idle_since(*claim, now) + kIdleAllocationGrace;
    if (now < due) {
      Effects effects;
      effects.wake_at = due;
      return effects;
    }
    if (leftover) {
      Effects effects;
      effects.chains.push_back({key, {}});
      if (claim->allocation || !claim->reserved_for.empty()) effects.then(client::clear_allocation(*claim));
      effects.then(client::delete_object(key, claim->meta.uid));
      return effects;
    }
    return Effects::write(key, client::clear_allocation(*claim));
  }

 private:
  struct IdleClaim {
    Time since;
    std::string kept_for;  // the latest decision that renewed the reservation
  };

  // A decision that keeps the reservation is not bound at once: its BindRequest may be seen by nobody yet.
  Time seen_idle_since(const api::ResourceClaim& claim, Time now) {
    const api::ObjectKey key = client::key_of(api::Kind::ResourceClaim, claim.meta);
    std::string kept_for(claim.meta.annotation(client::kKeptForAnnotation));
    const auto known = idle_since_.find(key);
    if (known != idle_since_.end() && known->second.kept_for == kept_for) return known->second.since;
    if (known != idle_since_.end() || idle_since_.size() < kIdleClaimsMax)
      idle_since_[key] = {now, std::move(kept_for)};
    return now;
  }

  std::map<api::ObjectKey, IdleClaim> idle_since_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_claim_deallocator() {
  return std::make_unique<ClaimDeallocator>();
}

}  // namespace berth::binding

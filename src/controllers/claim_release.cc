#include <algorithm>

#include "api/types/claim_consumer.h"
#include "base/known_defects.h"
#include "client/claim_writes.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"

namespace berth::controllers {

namespace {

enum class Presence { Using, Gone, Unseen };

struct Consumers {
  std::vector<api::ClaimConsumer> rest;
  std::vector<const api::ClaimConsumer*> unseen;
};

bool uses_no_more(const api::Pod& pod) {
  return pod.finished() || (pod.meta.deleting() && !pod.bound());
}

// The watch of pods may be behind that of claims: a consumer that is missing from the view is read from the
// API before it counts as gone.
Presence presence_of(const View& view, const std::string& ns, const api::ClaimConsumer& consumer) {
  if (consumer.api_group.empty() && consumer.resource == "pods") {
    const api::Pod* pod = view.pods.find(ns, consumer.name);
    if (!pod || pod->meta.uid != consumer.uid) return Presence::Unseen;
    return uses_no_more(*pod) ? Presence::Gone : Presence::Using;
  }
  if (consumer.resource == "podgroups") {
    const api::PodGroup* group = view.pod_groups.find(ns, consumer.name);
    return group && group->meta.uid == consumer.uid ? Presence::Using : Presence::Unseen;
  }
  return Presence::Using;  // another component's consumer
}

api::ObjectKey key_of(const std::string& ns, const api::ClaimConsumer& consumer) {
  return {consumer.resource == "pods" ? Kind::Pod : Kind::PodGroup, ns, consumer.name, {}};
}

void claims_of(const View& view, const std::string& uid, Keys& keys) {
  for (const api::ResourceClaim* claim : view.claims_reserved_by(uid))
    keys.push_back(client::key_of(Kind::ResourceClaim, claim->meta));
  for (const api::ResourceClaim* claim : view.claims_owned_by(uid))
    keys.push_back(client::key_of(Kind::ResourceClaim, claim->meta));
}

bool replaced(const Delta& delta) {
  return delta.before && delta.after && api::meta_of(*delta.before).uid != api::meta_of(*delta.after).uid;
}

// A pod that was bound without the scheduler never had its claims reserved.
bool bypassed_scheduler(const api::ResourceClaim& claim, const api::Pod& pod) {
  if (!pod.bound() || pod.finished() || pod.meta.deleting() || api::is_reserved_for(claim, pod)) return false;
  const api::OwnerReference* owner = claim.meta.controller();
  for (const api::PodClaim& named : pod.claims) {
    if (api::claim_object_name(pod, named) != claim.meta.name) continue;
    if (named.template_name.empty()) return true;
    return owner && (owner->uid == pod.meta.uid || (owner->kind == "PodGroup" && !pod.group.empty()));
  }
  return false;
}

void claims_bypassed_by(const View& view, const api::Pod& pod, Keys& keys) {
  for (const api::PodClaim& named : pod.claims)
    if (const auto* claim = view.claims.find(pod.meta.ns, api::claim_object_name(pod, named));
        claim && bypassed_scheduler(*claim, pod))
      keys.push_back(client::key_of(Kind::ResourceClaim, claim->meta));
}

bool generated_for_finished_pod(const View& view, const api::ResourceClaim& claim) {
  const api::OwnerReference* owner = claim.meta.controller();
  const bool generated = !claim.meta.annotation(api::kPodClaimNameAnnotation).empty() ||
                         !claim.meta.annotation(api::kExtendedResourceClaimAnnotation).empty();
  if (!owner || owner->kind != "Pod" || !generated) return false;
  const api::Pod* pod = view.pods.find(claim.meta.ns, owner->name);
  return pod && pod->meta.uid == owner->uid && pod->finished();
}

class ClaimRelease final : public client::Reconciler {
 public:
  std::string_view name() const override { return "claim-release"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::ResourceClaim),
            {Kind::Pod,
             {},
             [](const View& view, const Delta& delta, Keys& keys) {
               const auto* pod =
                   delta.after ? &std::get<std::shared_ptr<const api::Pod>>(*delta.after) : nullptr;
               if (pod) claims_bypassed_by(view, **pod, keys);
               if (pod && !uses_no_more(**pod) && !replaced(delta)) return;
               if (delta.before) claims_of(view, api::meta_of(*delta.before).uid, keys);
               if (pod) claims_of(view, (*pod)->meta.uid, keys);
             }},
            {Kind::PodGroup, {}, [](const View& view, const Delta& delta, Keys& keys) {
               if (delta.before) claims_of(view, api::meta_of(*delta.before).uid, keys);
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const api::ResourceClaim* claim = view.claims.find(key.ns, key.name);
    if (!claim) return Effects::nothing();
    Consumers consumers = consumers_of(view, *claim);
    Effects effects;
    effects.chains.push_back({key, {}});
    if (has(KnownDefect::ReleasedOnStaleCache)) consumers.unseen.clear();
    for (const api::ClaimConsumer* consumer : consumers.unseen)
      effects.then(unless_exists(key_of(key.ns, *consumer), consumer->uid));
    const bool lost_some = consumers.rest.size() < claim->reserved_for.size();
    const bool gained_some = add_bypassing(view, *claim, consumers.rest);
    const bool free = consumers.rest.empty();
    // An allocation without consumers may be a preparation: the binder's ClaimDeallocator decides when it is
    // freed.
    const bool idle = claim->allocation && claim->meta.deleting();
    const bool to_free = free && (idle || lost_some || (!claim->allocation && !claim->devices.empty()));
    if (to_free)
      effects.then(client::clear_allocation(*claim));
    else if (lost_some || gained_some)
      effects.then(client::keep_consumers(*claim, consumers.rest));
    const bool protected_still = claim->meta.has_finalizer(api::kClaimFinalizer);
    // An unallocated live claim keeps its finalizer: it was set at creation, for the later allocation.
    if (free && protected_still && (to_free || claim->meta.deleting())) {
      client::Write drop = drop_finalizer(key, claim->meta, api::kClaimFinalizer);
      drop.on_previous_version = to_free;
      effects.then(std::move(drop));
    }
    if (!claim->meta.deleting() && generated_for_finished_pod(view, *claim))
      effects.then(client::delete_object(key, claim->meta.uid));
    return effects.chains[0].writes.empty() ? Effects::nothing() : effects;
  }

 private:
  static bool add_bypassing(const View& view, const api::ResourceClaim& claim,
                            std::vector<api::ClaimConsumer>& consumers) {
    if (!claim.allocation || claim.meta.deleting()) return false;
    const std::size_t before = consumers.size();
    for (const api::Pod* pod : view.pods_using_claim(claim.meta.ns, claim.meta.name)) {
      if (consumers.size() >= api::kReservedForMax || !bypassed_scheduler(claim, *pod)) continue;
      api::ClaimConsumer consumer = consumer_of(view, claim, *pod);
      if (std::none_of(consumers.begin(), consumers.end(),
                       [&](const api::ClaimConsumer& other) { return other.uid == consumer.uid; }))
        consumers.push_back(std::move(consumer));
    }
    return consumers.size() > before;
  }

  static api::ClaimConsumer consumer_of(const View& view, const api::ResourceClaim& claim,
                                        const api::Pod& pod) {
    const api::PodGroup* group = view.pod_groups.find(pod.meta.ns, pod.group);
    const bool shared =
        group && std::any_of(pod.claims.begin(), pod.claims.end(), [&](const auto& named) {
          return api::claim_object_name(pod, named) == claim.meta.name && api::shared_entry(*group, named);
        });
    return shared ? api::consumer_of(*group) : api::consumer_of(pod.meta);
  }

  static Consumers consumers_of(const View& view, const api::ResourceClaim& claim) {
    Consumers consumers;
    for (const api::ClaimConsumer& consumer : claim.reserved_for) {
      const Presence presence = presence_of(view, claim.meta.ns, consumer);
      if (presence == Presence::Using) consumers.rest.push_back(consumer);
      if (presence == Presence::Unseen) consumers.unseen.push_back(&consumer);
    }
    return consumers;
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_claim_release() {
  return std::make_unique<ClaimRelease>();
}

}  // namespace berth::controllers

#include "scheduling/intake.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/types/decision_id.h"
#include "api/types/gang_decision.h"
#include "base/known_defects.h"
#include "client/group_tree.h"
#include "placement/expected_duration.h"
#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

// Bits of ClusterEvent. None for heartbeats: no field that decisions read has changed.
std::uint32_t events_of(const api::Node* before, const api::Node* after) {
  if (!before) return kEventNodeAdded;
  if (!after) return kEventNodeGone;
  std::uint32_t events = kEventNever;
  if (before->allocatable != after->allocatable) events |= kEventNodeAllocatable;
  if (before->meta.labels != after->meta.labels) events |= kEventNodeLabels;
  if (before->unschedulable != after->unschedulable || !placement::same_taints(before->taints, after->taints))
    events |= kEventNodeTaints;
  if (before->declared_features != after->declared_features) events |= kEventNodeFeatures;
  if (before->disables_resize_preemption != after->disables_resize_preemption) events |= kEventNodePreemption;
  return events;
}

// Such a request may go: its pod stands for itself.
bool has_bound(const client::View& view, const api::BindRequest& request) {
  const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
  return pod && api::is_bound_by(*pod, request);
}

// Of an earlier Lease of this name as well: this process holds the one that exists. Requests of an earlier
// release name none.
bool is_of_earlier_term(const api::BindRequest& request, const client::Leadership& now_leading) {
  if (request.epoch == 0 || now_leading.epoch == 0) return false;
  if (request.lease.empty()) return request.epoch < now_leading.epoch;
  const bool same_name =
      request.lease.ns == now_leading.lease.ns && request.lease.name == now_leading.lease.name;
  return same_name && (request.lease.uid != now_leading.lease.uid || request.epoch < now_leading.epoch);
}

// Only metadata or status changed. An object without a generation does not tell.
bool same_spec(const client::Delta& delta) {
  if (!delta.before || !delta.after) return false;
  const api::ObjectMeta &before = api::meta_of(*delta.before), &after = api::meta_of(*delta.after);
  return before.uid == after.uid && before.generation == after.generation && after.generation > 0;
}

// Whether the pod's group is to be looked at again, which costs all its members. Reports of how a pod runs,
// and conditions, change nothing that is read there. A pod without a generation does not tell.
bool matters_to_group(const api::Pod& before, const api::Pod& after) {
  const auto read = [](const api::Pod& pod) {
    return std::tie(pod.meta.uid, pod.meta.generation, pod.meta.deleted, pod.meta.labels,
                    pod.meta.annotations, pod.meta.owners, pod.node_name, pod.nominated_node, pod.group,
                    pod.claim_statuses, pod.extended_claim);
  };
  return after.meta.generation == 0 || read(before) != read(after) || before.finished() != after.finished();
}

bool selects_every_driver(const client::Delta& rule) {
  for (const auto* side : {&rule.before, &rule.after})
    if (const auto* one = client::object_of<api::DeviceTaintRule>(*side); one && one->driver.empty())
      return true;
  return false;
}

// Whether the allocation, which may be null, has every device of the other, with the same share of it.
bool has_all_of(const api::Allocation* allocation, const api::Allocation& other) {
  const auto has = [&](const api::DeviceResult& one) {
    return std::ranges::any_of(allocation->results, [&](const api::DeviceResult& result) {
      return result.driver == one.driver && result.pool == one.pool && result.device == one.device &&
             result.share_id == one.share_id && result.consumed_capacity == one.consumed_capacity;
    });
  };
  return allocation && std::ranges::all_of(other.results, has);
}

template <class Group>
auto spec_of(const Group& group) {
  return std::tie(group.parent, group.workload, group.gang_min, group.topology_keys, group.priority,
                  group.preemption_policy, group.disruption_mode);
}

// False for a group of which only the condition that we write ourselves has changed: to try it again would
// put other words over those that tell what was found.
template <class Group>
bool changes_decisions(const Group* before, const Group* after) {
  if (!before || !after || before->meta.uid != after->meta.uid) return true;
  const api::Condition* was = api::find_condition(before->conditions, api::kGangCommitted);
  const api::Condition* is = api::find_condition(after->conditions, api::kGangCommitted);
  const bool same_outcome =
      !was == !is && (!was || (was->status == is->status && was->message == is->message));
  // An API server need not count generations of groups; 1.37 does not.
  return before->meta.generation != after->meta.generation || spec_of(*before) != spec_of(*after) ||
         before->meta.annotations != after->meta.annotations || !same_outcome;
}

// Whether the watch shows no more than a condition that was written about the group. A group that becomes
// scheduled is more.
template <class Group>
bool is_only_told(const Group* before, const Group* after) {
  if (changes_decisions(before, after)) return false;
  const auto others = [](const Group& group) {
    return std::tie(group.meta.labels, group.meta.owners, group.meta.deleted);
  };
  return others(*before) == others(*after) && api::is_scheduled(*before) == api::is_scheduled(*after);
}

}  // namespace

Intake::HeldDevices Intake::held_by(const client::Delta& delta) const {
  if (delta.key.kind != api::Kind::ResourceClaim) return nullptr;
  const model::ClaimId claim = loop_.cluster.find_claim(delta.key.ns, delta.key.name);
  const model::ClaimReservationPtr held = claim.valid() ? loop_.cluster.ledger().reservation(claim) : nullptr;
  return held ? held->allocation : nullptr;
}

void Intake::wake(const placement::ClusterChange& change, Time now) {
  const bool matter = loop_.queue.reads_facts_of(change.event);
  loop_.queue.wake(change.event, matter ? profiles_.facts_of(change) : placement::ChangeFacts(), now);
}

// What a change of a pod that has or had a place does for others.
void Intake::placed_pod_changed(const client::View& view, const client::Delta& delta, Time now) {
  const auto* before = client::object_of<api::Pod>(delta.before);
  const auto* after = client::object_of<api::Pod>(delta.after);
  const bool had_place = before && before->bound() && !before->finished();
  const bool same = before && after && before->meta.uid == after->meta.uid;
  if (had_place && (!same || after->finished())) {
    placement::ClusterChange left = change(kEventPodGone, view, delta);
    left.pod_before = before;
    left.node = loop_.cluster.find_node(before->node_name);
    loop_.overtaking.freed(left.node, now);
    return wake(left, now);
  }
  if (!after || !after->bound()) return;
  if (!before || !before->bound()) {
    placement::ClusterChange placed = change(kEventPodPlaced, view, delta);
    placed.pod_after = after;
    return wake(placed, now);
  }
  // A pod that is being deleted no longer counts where pods are spread.
  if (before->meta.labels != after->meta.labels || before->meta.deleting() != after->meta.deleting()) {
    placement::ClusterChange relabelled = change(kEventPodRelabelled, view, delta);
    relabelled.pod_before = before;
    relabelled.pod_after = after;
    wake(relabelled, now);
  }
  if (!api::counts_differently(*before, *after) || has(KnownDefect::ResizeWakesNobody)) return;
  placement::ClusterChange resized = change(kEventPodResized, view, delta);
  resized.node = loop_.cluster.find_node(after->node_name);
  wake(resized, now);
}

void Intake::node_changed(const client::View& view, const client::Delta& delta, Time now) {
  const auto* before = client::object_of<api::Node>(delta.before);
  const auto* after = client::object_of<api::Node>(delta.after);
  const std::uint32_t events = events_of(before, after);
  if (events == kEventNever) return;
  placement::ClusterChange node = change(static_cast<placement::ClusterEvent>(events), view, delta);
  node.node_before = before;
  node.node_after = after;
  if (events & (kEventNodeAdded | kEventNodeGone | kEventNodeAllocatable))
    node.node = loop_.cluster.find_node(delta.key.name);
  wake(node, now);
}

// Such a pod is an entry of its own, whether or not it has a group.
void Intake::resize_changed(const api::Pod* before, const api::Pod* after, Time now) {
  const bool was = before && api::is_resize_deferred(*before);
  const bool is = after && api::is_resize_deferred(*after);
  if (!loop_.options.deferred_resizes || (!was && !is)) return;
  const api::ObjectMeta& meta = (after ? after : before)->meta;
  const EntityKey key{meta.ns, meta.name, EntityKind::Pod};
  loop_.dirty.insert(key);
  if (was && is && before->meta.generation != meta.generation) loop_.queue.wake_one(key, now);
}

void Intake::pod_changed(const client::View& view, const client::Delta& delta, Time now) {
  const auto* before = client::object_of<api::Pod>(delta.before);
  const auto* after = client::object_of<api::Pod>(delta.after);
  const bool recreated = before && after && before->meta.uid != after->meta.uid;
  if (before && (!after || recreated)) loop_.avoid_list.forget(before->meta.uid);
  if (recreated) loop_.forget_room(loop_.entry_of(view, *before), now);
  if (!after || recreated || after->bound() || after->finished()) loop_.conditions.drop(delta.key);
  const bool relabelled = before && after && before->meta.labels != after->meta.labels;
  placed_pod_changed(view, delta, now);
  resize_changed(before, after, now);
  if (before && (!after || recreated || after->bound())) loop_.failures.forget(loop_.entry_of(view, *before));
  if (before && after && !after->group.empty() && !matters_to_group(*before, *after) &&
      loop_.conditions.is_shown(view, delta.key))
    return;
  if (before) loop_.dirty.insert(loop_.entry_of(view, *before));
  if (!after) return;
  const EntityKey entry = loop_.entry_of(view, *after);
  if (!before && entry.kind != EntityKind::Pod)
    loop_.dirty.joined(entry, after->meta.name);
  else
    loop_.dirty.insert(entry);
  if (!before && !after->group.empty()) loop_.queue.wake_one(entry, now);
  // Terms and constraints read the pod's own labels, too; backfill reads its expected duration.
  const auto duration_of = [](const api::Pod& pod) {
    return pod.meta.annotation(placement::kExpectedDurationAnnotation);
  };
  if (before && (before->meta.generation != after->meta.generation || relabelled ||
                 duration_of(*before) != duration_of(*after)))
    loop_.queue.wake_one(entry, now);
}

// Only freed devices help other pods. The claim's own pods are evaluated after every change.
void Intake::claim_changed(const client::View& view, const client::Delta& delta, const HeldDevices& held,
                           Time now) {
  const auto* before = client::object_of<api::ResourceClaim>(delta.before);
  const auto* after = client::object_of<api::ResourceClaim>(delta.after);
  if (before && (!after || after->meta.uid != before->meta.uid)) loop_.avoid_list.forget(before->meta.uid);
  const bool was_allocated = before && before->allocation, is_allocated = after && after->allocation;
  for (const api::Pod* pod : view.pods_using_claim(delta.key.ns, delta.key.name)) {
    loop_.dirty.insert(loop_.entry_of(view, *pod));
    const bool has_room = before && after && before->reserved_for.size() > after->reserved_for.size();
    if (!before || was_allocated != is_allocated || has_room)
      loop_.queue.wake_one(loop_.entry_of(view, *pod), now);
  }
  // A pod is refused while the extended-resource claim of an earlier attempt exists.
  const api::OwnerReference* owner = before && !after ? before->meta.controller() : nullptr;
  if (const api::Pod* pod = owner ? view.pods.find(delta.key.ns, owner->name) : nullptr) {
    loop_.dirty.insert(loop_.entry_of(view, *pod));
    loop_.queue.wake_one(loop_.entry_of(view, *pod), now);
  }
  // A request may have reserved the devices of a claim whose allocation was not seen.
  const HeldDevices holds = held_by(delta);
  if (!held || has_all_of(holds.get(), *held)) return;
  placement::ClusterChange freed = change(kEventClaimChanged, view, delta);
  freed.given_up = held.get();
  wake(freed, now);
}

void Intake::wake_users(const client::View& view, std::string_view ns, std::string_view volume_claim,
                        Time now) {
  for (const api::Pod* pod : view.pods_using_volume_claim(ns, volume_claim)) {
    loop_.dirty.insert(loop_.entry_of(view, *pod));
    loop_.queue.wake_one(loop_.entry_of(view, *pod), now);
  }
}

// The pods of a claim are tried after every change of it, of its volume, or of one that is kept for it.
void Intake::volume_changed(const client::View& view, const client::Delta& delta, Time now) {
  if (delta.key.kind == api::Kind::PersistentVolumeClaim) wake_users(view, delta.key.ns, delta.key.name, now);
  if (delta.key.kind == api::Kind::PersistentVolume) {
    for (const api::PersistentVolumeClaim* claim : view.claims_of_volume(delta.key.name))
      wake_users(view, claim->meta.ns, claim->meta.name, now);
    for (const auto* side : {&delta.before, &delta.after})
      if (const auto* volume = client::object_of<api::PersistentVolume>(*side); volume && volume->claim_ref)
        wake_users(view, volume->claim_ref->ns, volume->claim_ref->name, now);
  }
  wake(change(kEventVolumeChanged, view, delta), now);
}

void Intake::devices_changed(const client::View& view, const client::Delta& delta, Time now) {
  if (same_spec(delta)) return;
  loop_.whole_claims.devices_changed();
  const bool is_class = delta.key.kind == api::Kind::DeviceClass;
  if (!is_class) look_at_all(view, now);
  if (delta.key.kind == api::Kind::DeviceTaintRule && selects_every_driver(delta))
    return loop_.queue.wake(kEventSliceChanged, now);
  wake(change(is_class ? kEventClassChanged : kEventSliceChanged, view, delta), now);
}

void Intake::group_changed(const client::View& view, const client::Delta& delta, Time now) {
  const auto* before = client::object_of<api::PodGroup>(delta.before);
  const auto* after = client::object_of<api::PodGroup>(delta.after);
  if (!after) loop_.conditions.drop(delta.key);
  if (is_only_told(before, after) && loop_.conditions.is_shown(view, delta.key)) return;
  resolve(view, {delta.key.ns, delta.key.name, EntityKind::Group}, now);
  const bool decides = changes_decisions(before, after);
  std::set<EntityKey> entries{{delta.key.ns, delta.key.name, EntityKind::Group}};
  for (const api::PodGroup* group : {before, after})
    if (group && !group->parent.empty() && loop_.options.composite_groups)
      entries.insert({delta.key.ns, client::tree_top(view, *group).name, EntityKind::CompositeGroup});
  for (const EntityKey& entry : entries) {
    loop_.dirty.insert(entry);
    if (decides) loop_.queue.wake_one(entry, now);
  }
}

// A tree is known by where the walk from a group to its root ends. A group of groups that comes or goes
// changes that for what is under it, so all that could be such an end is looked at again.
void Intake::composite_changed(const client::View& view, const client::Delta& delta, Time now) {
  const auto* before = client::object_of<api::CompositePodGroup>(delta.before);
  const auto* after = client::object_of<api::CompositePodGroup>(delta.after);
  if (!after) loop_.conditions.drop(delta.key);
  if (is_only_told(before, after) && loop_.conditions.is_shown(view, delta.key)) return;
  resolve_under(view, delta.key.ns, delta.key.name, now);
  std::set<std::string> names{delta.key.name};
  for (const api::CompositePodGroup* group : {before, after})
    for (std::size_t level = 1; group && !group->parent.empty() && level < client::kTreeLevelsMax; ++level) {
      names.insert(group->parent);
      group = view.composite_groups.find(delta.key.ns, group->parent);
    }
  std::vector<std::string> under{delta.key.name};
  for (std::size_t level = 1; level < client::kTreeLevelsMax; ++level) {
    std::vector<std::string> next;
    for (const std::string& name : under)
      for (const api::CompositePodGroup* child : view.composites_under(delta.key.ns, name))
        if (names.insert(child->meta.name).second) next.push_back(child->meta.name);
    under = std::move(next);
  }
  const bool decides = changes_decisions(before, after);
  for (const std::string& name : names) {
    const EntityKey entry{delta.key.ns, name, EntityKind::CompositeGroup};
    loop_.dirty.insert(entry);
    if (decides) loop_.queue.wake_one(entry, now);
  }
}

void Intake::request_changed(const client::View& view, const client::Delta& delta, Time now) {
  const auto* before = client::object_of<api::BindRequest>(delta.before);
  const auto* after = client::object_of<api::BindRequest>(delta.after);
  for (const api::BindRequest* request : {before, after}) {
    if (!request) continue;
    const model::PodId pod = loop_.cluster.find_pod(request->meta.ns, request->pod_name);
    if (pod.valid() && loop_.cluster.pod(pod).live)
      loop_.dirty.insert(loop_.entry_of(view, *loop_.cluster.pod(pod).live));
  }
  loop_.whole_claims.note(delta.key, after);
  const bool replaced = before && (!after || after->decision_id != before->decision_id);
  if (replaced && view.bind_request_count_of_decision(before->decision_id) == 0)
    loop_.written_gangs.erase(before->decision_id);
  if (!after && has_bound(view, *before)) return loop_.device_waits.forget(*before);
  // A request of an earlier term or process that appears after this one began landed late. Others may have
  // its place by now, so it is withdrawn and decided again.
  const bool appeared = after && (!before || after->decision_id != before->decision_id);
  if (appeared && !has(KnownDefect::FirstListTrusted) &&
      (is_of_earlier_term(*after, loop_.leadership) ||
       api::is_unbegun_of_other(*after, loop_.options.process)))
    loop_.withdrawals.want(*after, now);
  const bool failed = after && api::failed_for_good(*after);
  const bool had_failed = before && api::failed_for_good(*before) && !replaced;
  if (!after || (failed && !had_failed)) loop_.queue.wake(kEventRoomFreed, now);
  if (after && api::is_failing(*after) && !had_failed)
    loop_.device_waits.note(view, *after);
  else if (before && after)
    loop_.device_waits.forget(*before);
  if (had_failed || (after && !failed)) return;
  if (after) loop_.avoid_list.note(*after, loop_.cluster, now, now + loop_.options.cool_down);
  // A request that is gone while its pod exists counts as a failure too: perhaps only this view still has
  // the pod.
  request_failed(view, after ? *after : *before, now);
}

// If the wait for devices failed, the pod gets kube-scheduler's sentence for that.
void Intake::request_failed(const client::View& view, const api::BindRequest& request, Time now) {
  const std::string sentence = loop_.device_waits.take(request);
  const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
  if (!pod) return;
  const bool told =
      !sentence.empty() && loop_.ours(*pod) && pod->meta.uid == request.pod_uid && !pod->bound();
  loop_.failures.note(loop_.entry_of(view, *pod), request.decision_id, request.pod_uid,
                      told ? DecisionFailures::Kind::Told : DecisionFailures::Kind::Silent, now);
  if (told)
    loop_.conditions.want(
        view,
        refused_pod(
            *pod, failure_of(placement::fail_pod(*pod, sentence, request.message), request.decision_id), now),
        now);
}

void Intake::apply(const client::View& view, const client::Delta& delta, const HeldDevices& held, Time now) {
  switch (delta.key.kind) {
    case api::Kind::Node:
      node_changed(view, delta, now);
      labels_changed(view, delta, now);
      places_changed(view, delta, now);
      break;
    case api::Kind::Pod:
      pod_changed(view, delta, now);
      member_moved(view, delta, now);
      break;
    case api::Kind::Namespace: {
      const std::uint64_t stamp = loop_.cluster.affinities().namespaces_stamp();
      if (std::exchange(namespaces_stamp_, stamp) != stamp) loop_.queue.wake(kEventNamespaceChanged, now);
      break;
    }
    case api::Kind::Other: {
      const std::uint64_t stamp = loop_.cluster.replica_selectors().stamp();
      if (std::exchange(selectors_stamp_, stamp) != stamp) loop_.queue.wake(kEventSelectorChanged, now);
      break;
    }
    case api::Kind::BindRequest:
      request_changed(view, delta, now);
      break;
    case api::Kind::PodGroup:
      group_changed(view, delta, now);
      break;
    case api::Kind::CompositePodGroup:
      composite_changed(view, delta, now);
      break;
    case api::Kind::PlacementPolicy:
      policy_changed(view, delta, now);
      break;
    case api::Kind::Topology:
      topology_changed(view, delta, now);
      break;
    case api::Kind::ResourceClaim:
      claim_changed(view, delta, held, now);
      break;
    case api::Kind::PersistentVolumeClaim:
    case api::Kind::PersistentVolume:
    case api::Kind::StorageClass:
    case api::Kind::CSIDriver:
    case api::Kind::CSIStorageCapacity:
    case api::Kind::CSINode:
    case api::Kind::VolumeAttachment:
      volume_changed(view, delta, now);
      break;
    case api::Kind::ResourceSlice:
    case api::Kind::DeviceTaintRule:
    case api::Kind::DeviceClass:
      devices_changed(view, delta, now);
      break;
    default:
      break;
  }
}

}  // namespace berth::scheduling

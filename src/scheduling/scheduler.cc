#include "scheduling/scheduler.h"

#include <algorithm>

#include "api/types/gang_decision.h"
#include "base/fnv.h"
#include "base/hex.h"
#include "base/known_defects.h"
#include "placement/claims.h"
#include "placement/refusal/explain.h"
#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

std::uint64_t version_digest(const api::ObjectKey& key, const std::optional<api::TypedObject>& object) {
  if (!object) return 0;
  const api::ObjectMeta& meta = api::meta_of(*object);
  return fnv1a(api::to_text(key) + "@" + meta.uid + "@" + std::to_string(meta.resource_version));
}

bool same_taints(const std::vector<api::Taint>& a, const std::vector<api::Taint>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const api::Taint& x, const api::Taint& y) {
    return x.key == y.key && x.value == y.value && x.effect == y.effect;
  });
}

// False for heartbeats: no field that decisions read has changed.
bool matters(const api::Node& before, const api::Node& after) {
  return before.unschedulable != after.unschedulable || before.allocatable != after.allocatable ||
         before.meta.labels != after.meta.labels || !same_taints(before.taints, after.taints) ||
         before.declared_features != after.declared_features;
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options, dra::SelectorEvaluator& selectors, DecisionLog* decisions,
                     InputLog* inputs)
    : options_(std::move(options)),
      decisions_(decisions),
      inputs_(inputs),
      cluster_(options_.gates.node_allocatable_resources ? model::NodeAllocatable::Counted
                                                         : model::NodeAllocatable::Ignored),
      core_(cluster_, selectors,
            {options_.gates, options_.device_scoring, options_.placements, options_.plugins}),
      overtaking_(options_.overtaking_limit) {}

std::vector<client::Interest> Scheduler::interests() const {
  std::vector<client::Interest> interests;
  for (const api::Kind kind :
       {api::Kind::Node, api::Kind::DeviceClass, api::Kind::ResourceSlice, api::Kind::ResourceClaim,
        api::Kind::PodGroup, api::Kind::PersistentVolumeClaim, api::Kind::PersistentVolume,
        api::Kind::StorageClass, api::Kind::CSIDriver, api::Kind::CSIStorageCapacity, api::Kind::CSINode,
        api::Kind::VolumeAttachment, api::Kind::BindRequest, api::Kind::Pod})
    interests.push_back({kind, {}, {}});
  if (options_.gates.device_taints) interests.push_back({api::Kind::DeviceTaintRule, {}, {}});
  return interests;
}

bool Scheduler::ours(const api::Pod& pod) const {
  const std::vector<std::string>& names = options_.scheduler_names;
  return std::find(names.begin(), names.end(), pod.scheduler_name) != names.end();
}

// A request that failed for good does not count: the next decision replaces it.
bool Scheduler::wants_place(const client::View& view, const api::Pod& pod) const {
  return ours(pod) && placement::wants_place(view, cluster_, pod);
}

EntityKey Scheduler::entry_of(const api::Pod& pod) const {
  if (pod.group.empty()) return {pod.meta.ns, pod.meta.name, EntityKind::Pod};
  return {pod.meta.ns, pod.group, EntityKind::Group};
}

void Scheduler::pod_changed(const client::View&, const client::Delta& delta, Time now) {
  const auto* before = client::object_of<api::Pod>(delta.before);
  const auto* after = client::object_of<api::Pod>(delta.after);
  const bool recreated = before && after && before->meta.uid != after->meta.uid;
  if (before && (!after || recreated)) avoid_list_.forget(before->meta.uid);
  if (!after || recreated || after->bound() || after->finished()) conditions_.drop(delta.key);
  if (before && before->bound() && !before->finished() && (!after || recreated || after->finished())) {
    overtaking_.freed(cluster_.find_node(before->node_name), now);
    queue_.wake(kEventPodGone, now);
  }
  const bool relabelled = before && after && before->meta.labels != after->meta.labels;
  if (after && after->bound() && (!before || !before->bound() || relabelled))
    queue_.wake(kEventPodPlaced, now);
  // A bound pod that was resized may ask for less.
  if (before && after && after->bound() && before->meta.generation != after->meta.generation &&
      !has(KnownDefect::ResizeWakesNobody))
    queue_.wake(kEventPodGone, now);
  if (before) dirty_.insert(entry_of(*before));
  if (before && (!after || recreated || after->bound())) failures_.forget(entry_of(*before));
  if (!after) return;
  dirty_.insert(entry_of(*after));
  if (!before && !after->group.empty()) queue_.wake_one(entry_of(*after), now);
  if (before && before->meta.generation != after->meta.generation) queue_.wake_one(entry_of(*after), now);
}

// Only freed devices help other pods. The claim's own pods are evaluated after every change.
void Scheduler::claim_changed(const client::View& view, const client::Delta& delta, Time now) {
  const auto* before = client::object_of<api::ResourceClaim>(delta.before);
  const auto* after = client::object_of<api::ResourceClaim>(delta.after);
  if (before && (!after || after->meta.uid != before->meta.uid)) avoid_list_.forget(before->meta.uid);
  const bool was_allocated = before && before->allocation, is_allocated = after && after->allocation;
  for (const api::Pod* pod : view.pods_using_claim(delta.key.ns, delta.key.name)) {
    dirty_.insert(entry_of(*pod));
    const bool has_room = before && after && before->reserved_for.size() > after->reserved_for.size();
    if (!before || was_allocated != is_allocated || has_room) queue_.wake_one(entry_of(*pod), now);
  }
  // A pod is refused while the extended-resource claim of an earlier attempt exists.
  const api::OwnerReference* owner = before && !after ? before->meta.controller() : nullptr;
  if (const api::Pod* pod = owner ? view.pods.find(delta.key.ns, owner->name) : nullptr) {
    dirty_.insert(entry_of(*pod));
    queue_.wake_one(entry_of(*pod), now);
  }
  if (was_allocated && !is_allocated) queue_.wake(kEventClaimChanged, now);
}

// The claim's own pods are evaluated after every change; one that is gone may leave a volume to others.
void Scheduler::volume_claim_changed(const client::View& view, const client::Delta& delta, Time now) {
  for (const api::Pod* pod : view.pods_using_volume_claim(delta.key.ns, delta.key.name)) {
    dirty_.insert(entry_of(*pod));
    queue_.wake_one(entry_of(*pod), now);
  }
  if (!delta.after) queue_.wake(kEventVolumeChanged, now);
}

// Such a request may go: its pod stands for itself.
bool Scheduler::has_bound(const client::View& view, const api::BindRequest& request) {
  const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
  return pod && api::is_bound_by(*pod, request);
}

// Of an earlier Lease of this name as well: this process holds the one that exists. Requests of an earlier
// release name none.
bool Scheduler::is_of_earlier_term(const api::BindRequest& request, const client::Leadership& ours) {
  if (request.epoch == 0 || ours.epoch == 0) return false;
  if (request.lease.empty()) return request.epoch < ours.epoch;
  const bool same_name = request.lease.ns == ours.lease.ns && request.lease.name == ours.lease.name;
  return same_name && (request.lease.uid != ours.lease.uid || request.epoch < ours.epoch);
}

void Scheduler::request_changed(const client::View& view, const client::Delta& delta, Time now) {
  const auto* before = client::object_of<api::BindRequest>(delta.before);
  const auto* after = client::object_of<api::BindRequest>(delta.after);
  for (const api::BindRequest* request : {before, after}) {
    if (!request) continue;
    const model::PodId pod = cluster_.find_pod(request->meta.ns, request->pod_name);
    if (pod.valid() && cluster_.pod(pod).live) dirty_.insert(entry_of(*cluster_.pod(pod).live));
  }
  const bool replaced = before && (!after || after->decision_id != before->decision_id);
  if (replaced && view.bind_request_count_of_decision(before->decision_id) == 0)
    written_gangs_.erase(before->decision_id);
  if (!after && has_bound(view, *before)) return device_waits_.forget(*before);
  // A request of an earlier term that appears after this term began landed late. Others may have its place
  // by now, so it is withdrawn and decided again.
  const bool appeared = after && (!before || after->decision_id != before->decision_id);
  if (appeared && is_of_earlier_term(*after, leadership_) && !has(KnownDefect::FirstListTrusted))
    withdrawals_.want(*after, now);
  const bool failed = after && api::failed_for_good(*after);
  const bool had_failed = before && api::failed_for_good(*before) && !replaced;
  if (!after || (failed && !had_failed)) queue_.wake(kEventPodGone, now);
  if (after && api::is_failing(*after) && !had_failed)
    device_waits_.note(view, *after);
  else if (before && after)
    device_waits_.forget(*before);
  if (had_failed || (after && !failed)) return;
  if (after) avoid_list_.note(*after, cluster_, now, now + options_.cool_down);
  // A request that is gone while its pod exists counts as a failure too: perhaps only this view still has
  // the pod.
  request_failed(view, after ? *after : *before, now);
}

// If the wait for devices failed, the pod gets kube-scheduler's sentence for that.
void Scheduler::request_failed(const client::View& view, const api::BindRequest& request, Time now) {
  const std::string sentence = device_waits_.take(request);
  const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
  if (!pod) return;
  const bool told = !sentence.empty() && ours(*pod) && pod->meta.uid == request.pod_uid && !pod->bound();
  failures_.note(entry_of(*pod), request.decision_id, request.pod_uid,
                 told ? DecisionFailures::Kind::Told : DecisionFailures::Kind::Silent, now);
  if (told)
    tell(view, *pod,
         {"SchedulerError", sentence, placement::explain_error(*pod, request.message), request.decision_id},
         now);
}

void Scheduler::apply(const client::View& view, const client::Delta& delta, Time now) {
  if (inputs_) inputs_->record({InputKind::Apply, now, delta, {}});
  state_digest_ += version_digest(delta.key, delta.after) - version_digest(delta.key, delta.before);
  taint_rules_.apply(delta, cluster_);
  if (!leading_) LateAllocations::forget_all(cluster_);
  if (!leading_ && !has(KnownDefect::StandbyRemembers)) return;
  switch (delta.key.kind) {
    case api::Kind::Node: {
      const auto* before = client::object_of<api::Node>(delta.before);
      const auto* after = client::object_of<api::Node>(delta.after);
      if (before && after && !matters(*before, *after)) break;
      queue_.wake(before ? kEventNodeChanged : kEventNodeAdded, now);
      break;
    }
    case api::Kind::Pod:
      pod_changed(view, delta, now);
      break;
    case api::Kind::BindRequest:
      request_changed(view, delta, now);
      break;
    case api::Kind::PodGroup:
      if (!delta.after) conditions_.drop(delta.key);
      dirty_.insert({delta.key.ns, delta.key.name, EntityKind::Group});
      queue_.wake_one({delta.key.ns, delta.key.name, EntityKind::Group}, now);
      break;
    case api::Kind::ResourceClaim:
      claim_changed(view, delta, now);
      break;
    case api::Kind::PersistentVolumeClaim:
      volume_claim_changed(view, delta, now);
      break;
    case api::Kind::PersistentVolume:
    case api::Kind::StorageClass:
    case api::Kind::CSIDriver:
    case api::Kind::CSIStorageCapacity:
    case api::Kind::CSINode:
      queue_.wake(kEventVolumeChanged, now);
      break;
    case api::Kind::VolumeAttachment:  // only a detached volume leaves room
      if (!delta.after) queue_.wake(kEventVolumeChanged, now);
      break;
    case api::Kind::ResourceSlice:
    case api::Kind::DeviceTaintRule:
      queue_.wake(kEventSliceChanged, now);
      break;
    case api::Kind::DeviceClass:
      queue_.wake(kEventClassChanged, now);
      break;
    default:
      break;
  }
}

void Scheduler::begin_leading(const client::View&, client::Leadership leadership, Time) {
  leadership_ = leadership;
}

// From here on apply() maintains the queue and conditions too; a standby only maintains the model.
void Scheduler::start(const client::View& view, Time now) {
  leading_ = true;
  for (const auto& [name, pod] : view.pods.all()) dirty_.insert(entry_of(*pod));
  for (const auto& [name, group] : view.pod_groups.all())
    dirty_.insert({group->meta.ns, group->meta.name, EntityKind::Group});
  for (const auto& [name, request] : view.bind_requests.all())
    if (api::failed_for_good(*request)) avoid_list_.note(*request, cluster_, now, now + options_.cool_down);
  if (!options_.records_in_memory || has(KnownDefect::TermNotSealed)) return;
  seals_.begin(view, "term " + std::to_string(leadership_.epoch) + ", " + format_micro_time(now), now);
  sealing_ = seals_.pending();
}

client::Effects Scheduler::seal_term(const client::View& view, Time now) {
  client::Effects effects = seals_.due(view, now);
  sealing_ = seals_.pending();
  if (!sealing_)
    for (const auto& [name, pod] : view.pods.all())
      if (placement::asks_for_devices(*pod)) dirty_.insert(entry_of(*pod));
  return effects;
}

placement::PreEnqueueResult Scheduler::pre_enqueue(const client::View& view, const api::Pod& pod, Time now) {
  placement::PreEnqueueResult gate = core_.pre_enqueue(view, pod);
  if (gate.kind == placement::PreEnqueueResult::Kind::Open && sealing_ && placement::asks_for_devices(pod))
    gate = {placement::PreEnqueueResult::Kind::Silent, "",
            "what an earlier process wrote about devices may still land"};
  if (gate.kind == placement::PreEnqueueResult::Kind::Reported)
    conditions_.want(view,
                     {client::key_of(api::Kind::Pod, pod.meta), pod.meta.uid,
                      pod_unscheduled(pod, gate.reason, gate.message, now), gate.message},
                     now);
  return gate;
}

void Scheduler::tell(const client::View& view, const api::Pod& pod, const SchedulingFailure& refusal,
                     Time now) {
  const std::string message = placement::joined(refusal.sentence, refusal.explanation);
  conditions_.want(
      view,
      {client::key_of(api::Kind::Pod, pod.meta), pod.meta.uid,
       pod_unscheduled(pod, refusal.reason, refusal.sentence, now), wording_class(refusal.sentence),
       refusal.reword_after, failed_scheduling(pod, message, refusal.decision), true},
      now);
}

void Scheduler::enqueue(const QueuedEntity& entry, Time now) {
  if (const std::uint32_t failures = failures_.repeated(entry.key, now); failures > 0)
    queue_.add_after_failures(entry.key, entry.priority, entry.since, failures, now);
  else
    queue_.add(entry.key, entry.priority, entry.since);
}

void Scheduler::reconsider_pod(const client::View& view, const EntityKey& key, Time now) {
  const api::Pod* pod = view.pods.find(key.ns, key.name);
  if (!pod || !pod->group.empty() || !wants_place(view, *pod)) {
    forget_overtaken(key, now);
    return queue_.erase(key);
  }
  placement::PreEnqueueResult gate = pre_enqueue(view, *pod, now);
  if (gate.kind == placement::PreEnqueueResult::Kind::Open) {
    enqueue(placement::queue_entry(*pod), now);
  } else {
    forget_overtaken(key, now);
    queue_.gate(key, pod->priority, pod->meta.created);
    log_gate(key, std::move(gate.message), now);
  }
}

void Scheduler::log_gate(const EntityKey& key, std::string why, Time now) {
  const DecisionKind kind = key.kind == EntityKind::Pod ? DecisionKind::Pod : DecisionKind::Group;
  if (decisions_) decisions_->gated({now, kind, key.ns, key.name, std::move(why)});
}

GroupMembers Scheduler::members_of(const client::View& view, const EntityKey& key) const {
  const placement::GroupQuestions questions{
      [this](const api::Pod& pod) { return ours(pod); },
      [this](const std::string& decision) {
        const auto found = in_flight_.find(decision);
        return found != in_flight_.end() && found->second.barrier;
      },
      [this](const std::string& decision) { return written_gangs_.contains(decision); }};
  return group_members(view, cluster_, questions, key.ns, key.name);
}

// Sets the condition once minCount members (without a minimum: one) are bound or committed. The commit of a
// gang sets it too, but members may be seen bound before the group is seen committed.
void Scheduler::tell_group_scheduled(const client::View& view, const api::PodGroup& group,
                                     const GroupMembers& members, Time now) {
  const std::int32_t early = has(KnownDefect::GroupScheduledBeforeItIs) ? members.at_barrier : 0;
  const std::int32_t minimum = std::max(1, group.minimum());
  if (std::max(members.scheduled + early, members.ever_bound) < minimum) return;
  const api::ObjectKey key = client::key_of(api::Kind::PodGroup, group.meta);
  if (api::condition_is_true(group.conditions, api::kGroupScheduled)) return conditions_.drop(key);
  WantedCondition scheduled{key, group.meta.uid, api::group_condition(true, "Scheduled", "", now), ""};
  if (minimum > 1) scheduled.grace = kCommitTellsWithin;
  conditions_.want(view, std::move(scheduled), now);
}

void Scheduler::tell_held_by_parent(const client::View& view, const api::PodGroup& group, Time now) {
  const std::string why = placement::held_by_parent(group);
  if (why.empty()) return;
  conditions_.want(view,
                   {client::key_of(api::Kind::PodGroup, group.meta), group.meta.uid,
                    api::group_condition(false, "Unschedulable", "pod group waits: " + why, now), why},
                   now);
}

void Scheduler::reconsider_group(const client::View& view, const EntityKey& key, Time now) {
  const GroupMembers members = members_of(view, key);
  for (const api::BindRequest* request : members.broken) withdrawals_.want(*request, now);
  const api::PodGroup* group = view.pod_groups.find(key.ns, key.name);
  if (group) tell_group_scheduled(view, *group, members, now);
  const bool begun = has(KnownDefect::BegunGangNotCompleted) && members.ever_bound > 0;
  if (members.waiting.empty() || begun) {
    forget_overtaken(key, now);
    return queue_.erase(key);
  }
  std::string why = has(KnownDefect::UnsettledGangDecidedAgain) ? "" : members.unsettled;
  for (const api::Pod* pod : members.waiting)
    if (const placement::PreEnqueueResult gate = pre_enqueue(view, *pod, now);
        gate.kind != placement::PreEnqueueResult::Kind::Open)
      why = "member " + pod->meta.name + " waits: " + gate.message;
  if (why.empty() || !group) why = placement::group_gate(key, group, members);
  if (group) tell_held_by_parent(view, *group, now);
  const QueuedEntity entry = placement::queue_entry(key, group, members);
  if (why.empty()) return enqueue(entry, now);
  forget_overtaken(key, now);  // a gated entry gets no reservation
  queue_.gate(key, entry.priority, entry.since);
  log_gate(key, std::move(why), now);
}

void Scheduler::reconsider(const client::View& view, Time now) {
  for (const EntityKey& key : dirty_.take()) {
    if (key.kind == EntityKind::Pod) {
      reconsider_pod(view, key, now);
    } else {
      reconsider_group(view, key, now);
    }
  }
}

void Scheduler::audit(const client::View& view, Time now) {
  next_audit_ = now + kAuditEvery;
  const auto repairs = audit_.look(view, cluster_, kAuditRows, [this](const client::Delta& delta) {
    taint_rules_.apply(delta, cluster_);
  });
  for (const model::Repair& repair : repairs)
    if (decisions_) decisions_->repaired({now, repair.row, repair.was, repair.is});
  if (repairs.empty()) return;
  queue_.wake(kEventAny, now);
}

client::Effects Scheduler::decide(const client::View& view, Time now) {
  if (inputs_) inputs_->record({InputKind::Decide, now, {}, {}});
  if (!leading_) start(view, now);
  if (!next_audit_.is_set() || now >= next_audit_) audit(view, now);
  if (sealing_)
    if (client::Effects effects = seal_term(view, now); !effects.empty()) return effects;
  reconsider(view, now);
  if (client::Effects effects = withdrawals_.due(view, now); !effects.empty()) return effects;
  if (client::Effects effects = conditions_.due(view, now); !effects.empty()) return effects;
  if (late_.update(cluster_, now)) queue_.wake(kEventClaimChanged, now);
  if (overtaking_.expire(now)) queue_.wake(kEventPodGone, now);
  if (const std::optional<EntityKey> starving = overtaking_.starving(now))
    keep_room(context_at(view, now), *starving);
  // The loop ends: each turn takes an entry, and none comes back without effects.
  while (std::optional<QueuedEntity> entry = queue_.pop(now)) {
    client::Effects effects = attempt(view, std::move(*entry), now);
    if (effects.empty()) effects = conditions_.due(view, now);
    if (!effects.empty()) return effects;
  }
  client::Effects idle;
  for (const std::optional<Time> next :
       {queue_.next_time(), withdrawals_.next_time(), seals_.next_time(), conditions_.next_time(),
        overtaking_.next_time(), late_.next_time(), std::optional(next_audit_)})
    if (next && (!idle.wake_at || *next < *idle.wake_at)) idle.wake_at = next;
  return idle;
}

SchedulingContext Scheduler::context_at(const client::View& view, Time now) {
  return {view, cluster_, core_.allocator(), now, options_.binding_timeout};
}

client::Effects Scheduler::attempt(const client::View& view, QueuedEntity entry, Time now) {
  const SchedulingContext context = context_at(view, now);
  if (entry.key.kind == EntityKind::Pod) {
    const api::Pod* pod = view.pods.find(entry.key.ns, entry.key.name);
    if (!pod || !wants_place(view, *pod)) return {};
    return decide_pod(context, std::move(entry), *pod, now);
  }
  const api::PodGroup* group = view.pod_groups.find(entry.key.ns, entry.key.name);
  return group ? decide_group(context, std::move(entry), *group, now) : client::Effects{};
}

std::string Scheduler::next_decision(const EntityKey& key, Time now) {
  ++sequence_;
  const std::string inputs = std::to_string(sequence_) + "|" + std::to_string(now.micros()) + "|" + key.ns +
                             "/" + key.name + "|" + std::to_string(state_digest_);
  latest_digest_ = fnv1a(inputs);
  core_.seed(latest_digest_);
  return "d" + std::to_string(sequence_) + "-" + hex_of(latest_digest_);
}

void Scheduler::log(DecisionRecord record) {
  if (!decisions_) return;
  record.inputs_digest = latest_digest_;
  decisions_->append(std::move(record));
}

client::Effects Scheduler::decide_pod(const SchedulingContext& context, QueuedEntity entry,
                                      const api::Pod& pod, Time now) {
  const std::string id = next_decision(entry.key, now);
  const AvoidSet avoid = avoid_set(pod, now);
  const bool avoids = !avoid.nodes.empty() || !avoid.devices.empty();
  model::Ledger::Transaction transaction(cluster_.ledger());
  transaction.lift_holds(pod.priority);
  PodDecision decision = core_.decide_pod(context, pod, avoid, transaction);
  if (decision.result != DecisionResult::Placed)
    return refuse_pod(context, std::move(entry), pod, std::move(decision), avoids, id, now);
  cluster_.commit(transaction, id);
  return bind_pod(context, std::move(entry), pod, decision, id, now);
}

client::Effects Scheduler::bind_pod(const SchedulingContext& context, QueuedEntity entry, const api::Pod& pod,
                                    const PodDecision& decision, const std::string& id, Time now) {
  overtaking_.placed(pod.priority, now);
  forget_overtaken(entry.key, now);

  client::Effects effects;
  effects.decision_id = id;
  const std::string& node_name = cluster_.node(decision.node).name;
  const BindRequestDraft binding{&pod, node_name, cluster_.named(model::value_of(decision.reservation)),
                                 options_.backoff_limit};
  effects.chains.push_back(bind_chain(context.view, binding, {}, id, leadership_));
  std::set<std::string> renewed;
  renew_reservations(context.view, binding, id, renewed, effects.chains.back());
  conditions_.drop(client::key_of(api::Kind::Pod, pod.meta));
  log({id,
       now,
       DecisionKind::Pod,
       pod.meta.ns,
       pod.meta.name,
       DecisionResult::Placed,
       "Scheduled",
       "",
       {{pod.meta.name, node_name}},
       {},
       "",
       0,
       {},
       pod.meta.uid});
  in_flight_[id] = {std::move(entry), {pod.meta.uid}};
  return effects;
}

client::Effects Scheduler::refuse_pod(const SchedulingContext& context, QueuedEntity entry,
                                      const api::Pod& pod, PodDecision decision, bool avoids,
                                      const std::string& id, Time now) {
  const bool failed = decision.result == DecisionResult::Error;
  client::Effects effects;
  effects.decision_id = id;
  effects.chains = std::move(decision.deallocations);
  if (!effects.chains.empty()) deallocating_[id] = entry.key;
  tell(context.view, pod, {decision.reason, decision.sentence, decision.explanation, id}, now);
  log({id,
       now,
       DecisionKind::Pod,
       pod.meta.ns,
       pod.meta.name,
       decision.result,
       decision.reason,
       decision.message(),
       {},
       decision.fit_error.named(cluster_),
       std::move(decision.explanation),
       0,
       {},
       pod.meta.uid});
  if (!failed) overtaking_.refused(entry.key, pod.priority);
  if (failed || (avoids && !has(KnownDefect::AvoidedNodesWaitForSweep))) {
    queue_.put_after_error(std::move(entry), now);
  } else {
    queue_.put_unschedulable(std::move(entry), core_.plugins().events_for(pod), now);
  }
  return effects;
}

bool Scheduler::on_other_outcome(const client::Outcome& outcome, Time now) {
  if (const auto found = deallocating_.find(outcome.decision_id); found != deallocating_.end()) {
    const EntityKey key = found->second;
    deallocating_.erase(found);
    const bool written = std::all_of(outcome.chains.begin(), outcome.chains.end(),
                                     [](const client::ChainOutcome& chain) { return chain.ok; });
    // The next attempt derives again what to deallocate.
    if (!written) queue_.wake_one(key, now);
    return true;
  }
  if (!outcome.decision_id.empty()) return false;
  for (const client::ChainOutcome& chain : outcome.chains) {
    if (seals_.write_done(chain.key, chain.ok, now)) continue;
    if (chain.key.kind == api::Kind::BindRequest)
      withdrawals_.write_done(chain.key, chain.ok, now);
    else
      conditions_.write_done(chain.key, chain.ok, now);
  }
  return true;
}

void Scheduler::on_outcome(const client::View& view, const client::Outcome& outcome, Time now) {
  if (inputs_) inputs_->record({InputKind::Settle, now, {}, outcome});
  if (on_other_outcome(outcome, now)) return;
  const auto found = in_flight_.find(outcome.decision_id);
  if (found == in_flight_.end()) return;
  InFlight flight = std::move(found->second);
  in_flight_.erase(found);
  bool written = true;
  for (std::size_t i = 0; i < flight.member_uids.size(); ++i) {
    const bool ok = i < outcome.chains.size() && outcome.chains[i].ok;
    written &= ok;
    // From here on the stored request, if there is one, reserves the place.
    cluster_.forget(outcome.decision_id, flight.member_uids[i]);
  }
  dirty_.insert(flight.entry.key);
  if (written) {
    if (flight.barrier && view.bind_request_count_of_decision(outcome.decision_id) > 0)
      written_gangs_.insert(outcome.decision_id);
    return;
  }
  log({outcome.decision_id,
       now,
       flight.entry.key.kind == EntityKind::Pod ? DecisionKind::Pod : DecisionKind::Group,
       flight.entry.key.ns,
       flight.entry.key.name,
       DecisionResult::Undone,
       "SchedulerError",
       "the bind requests could not be written",
       {},
       {},
       "",
       0,
       {},
       flight.entry.key.kind == EntityKind::Pod ? flight.member_uids.front() : ""});
  if (!queue_.contains(flight.entry.key)) queue_.put_after_error(std::move(flight.entry), now);
  queue_.wake(kEventPodGone, now);
  reconsider(view, now);
}

}  // namespace berth::scheduling

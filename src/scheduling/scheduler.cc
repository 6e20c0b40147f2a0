#include "scheduling/scheduler.h"

#include <algorithm>

#include "api/types/decision_id.h"
#include "api/types/gang_decision.h"
#include "base/fnv.h"
#include "base/hex.h"
#include "base/known_defects.h"
#include "placement/claims.h"
#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

std::uint64_t version_digest(const api::ObjectKey& key, const std::optional<api::TypedObject>& object) {
  if (!object) return 0;
  const api::ObjectMeta& meta = api::meta_of(*object);
  const std::uint64_t of_uid = fnv1a(meta.uid, fnv1a("@", fnv1a(api::to_text(key))));
  return fnv1a(std::to_string(meta.resource_version), fnv1a("@", of_uid));
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options, dra::SelectorEvaluator& selectors, DecisionLog* decisions,
                     InputLog* inputs)
    : loop_(std::move(options)),
      decisions_(decisions),
      inputs_(inputs),
      core_(loop_.cluster, selectors,
            {.gates = loop_.options.gates,
             .scoring = loop_.options.device_scoring,
             .placements = loop_.options.placements,
             .plugins = loop_.options.plugins,
             .profiles = loop_.options.profiles}) {}

std::vector<client::Interest> Scheduler::interests() const {
  std::vector<client::Interest> interests;
  for (const api::Kind kind :
       {api::Kind::Node, api::Kind::DeviceClass, api::Kind::ResourceSlice, api::Kind::ResourceClaim,
        api::Kind::PodGroup, api::Kind::PersistentVolumeClaim, api::Kind::PersistentVolume,
        api::Kind::StorageClass, api::Kind::CSIDriver, api::Kind::CSIStorageCapacity, api::Kind::CSINode,
        api::Kind::VolumeAttachment, api::Kind::PodDisruptionBudget, api::Kind::BindRequest,
        api::Kind::Namespace, api::Kind::Topology, api::Kind::PlacementPolicy, api::Kind::Pod})
    interests.push_back({kind, {}, {}});
  for (const api::ResourceRef& resource : model::ReplicaSelectors::resources())
    interests.push_back({api::Kind::Other, resource, {}});
  if (loop_.options.composite_groups) interests.push_back({api::Kind::CompositePodGroup, {}, {}});
  if (loop_.options.gates.device_taints) interests.push_back({api::Kind::DeviceTaintRule, {}, {}});
  return interests;
}

void Scheduler::apply(const client::View& view, const client::Delta& delta, Time now) {
  if (inputs_) inputs_->record({InputKind::Apply, now, delta, {}});
  if (state_digest_ == 0) loop_.cluster.expect_rows(view.pods.size(), view.claims.size());
  state_digest_ += version_digest(delta.key, delta.after) - version_digest(delta.key, delta.before);
  const Intake::HeldDevices held = intake_.held_by(delta);
  taint_rules_.apply(delta, loop_.cluster);
  if (!leading_) LateAllocations::forget_all(loop_.cluster);
  if (leading_ || has(KnownDefect::StandbyRemembers)) intake_.apply(view, delta, held, now);
}

void Scheduler::begin_leading(const client::View&, client::Leadership leadership, Time) {
  loop_.leadership = leadership;
}

std::size_t Scheduler::remembered() const {
  return loop_.dirty.size() + loop_.in_flight.size() + loop_.written_gangs.size() +
         loop_.device_waits.size() + loop_.whole_claims.size();
}

// From here on apply() maintains the queue and conditions too; a standby only maintains the model.
void Scheduler::start(const client::View& view, Time now) {
  leading_ = true;
  for (const auto& [name, pod] : view.pods.all()) {
    const bool has_place = pod->bound() && pod->group.empty();  // and no entry
    if (!has_place) loop_.dirty.insert(loop_.entry_of(view, *pod));
    if (loop_.wants_to_grow(*pod)) loop_.dirty.insert({name.ns, name.name, EntityKind::Pod});
  }
  for (const auto& [name, group] : view.pod_groups.all())
    loop_.dirty.insert(loop_.entry_of_group(view, group->meta.ns, group->meta.name));
  intake_.resolve_all(view, now);
  for (const auto& [name, request] : view.bind_requests.all()) {
    loop_.whole_claims.note(client::key_of(api::Kind::BindRequest, request->meta), request.get());
    if (api::failed_for_good(*request))
      loop_.avoid_list.note(*request, loop_.cluster, now, now + loop_.options.cool_down);
  }
  loop_.whole_claims.devices_changed();
  if (!loop_.options.records_in_memory || has(KnownDefect::TermNotSealed)) return;
  loop_.seals.begin(view, "term " + std::to_string(loop_.leadership.epoch) + ", " + format_micro_time(now),
                    now);
  loop_.sealing = loop_.seals.pending();
}

client::Effects Scheduler::seal_term(const client::View& view, Time now) {
  client::Effects effects = loop_.seals.due(view, now);
  loop_.sealing = loop_.seals.pending();
  if (!loop_.sealing)
    for (const auto& [name, pod] : view.pods.all())
      if (placement::asks_for_devices(*pod)) loop_.dirty.insert(loop_.entry_of(view, *pod));
  return effects;
}

void Scheduler::audit(const client::View& view, Time now) {
  next_audit_ = now + kAuditEvery;
  const auto repairs = audit_.look(view, loop_.cluster, kAuditRows, [this](const client::Delta& delta) {
    taint_rules_.apply(delta, loop_.cluster);
  });
  for (const model::Repair& repair : repairs)
    if (decisions_) decisions_->repaired({now, repair.row, repair.was, repair.is});
  if (repairs.empty()) return;
  loop_.queue.wake(kEventAny, now);
}

client::Effects Scheduler::decide(const client::View& view, Time now) {
  if (inputs_) inputs_->record({InputKind::Decide, now, {}, {}});
  if (!leading_) start(view, now);
  if (!next_audit_.is_set() || now >= next_audit_) audit(view, now);
  if (loop_.sealing)
    if (client::Effects effects = seal_term(view, now); !effects.empty()) return effects;
  gate_.reconsider(view, now);
  end_preemptions(now);
  if (client::Effects effects = evict(view, now); !effects.empty()) return effects;
  if (client::Effects effects = replace_failed(view, now); !effects.empty()) return effects;
  for (const api::BindRequestPtr& request :
       loop_.whole_claims.outdated(view, loop_.cluster, core_.allocator()))
    loop_.withdrawals.want(*request, now);
  const auto waiting = [&](const SchedulingContext& context, const EntityKey& key) {
    return waiting_entity(context, key);
  };
  if (client::Effects effects = defragmenter_.due(context_at(view, now), waiting); !effects.empty())
    return effects;
  if (client::Effects effects = loop_.withdrawals.due(view, now); !effects.empty()) return effects;
  if (client::Effects effects = loop_.conditions.due(view, now); !effects.empty()) return effects;
  if (client::Effects effects = follow_policies(view, now); !effects.empty()) return effects;
  if (loop_.late.update(loop_.cluster, now)) loop_.queue.wake(kEventClaimChanged, now);
  if (loop_.overtaking.expire(now)) loop_.queue.wake(kEventRoomFreed, now);
  if (const std::optional<QueuedEntity> starving = loop_.overtaking.starving(now)) {
    if (loop_.relocations.hold_of(starving->key)) {
      loop_.overtaking.give_up(starving->key, now);
    } else {
      if (loop_.overtaking.make_way()) loop_.queue.wake(kEventRoomFreed, now);
      keep_room(context_at(view, now), *starving);
    }
  }
  // The loop ends: each turn takes an entry, and none comes back without effects.
  while (std::optional<QueuedEntity> entry = loop_.queue.pop(now)) {
    client::Effects effects = attempt(view, std::move(*entry), now);
    if (effects.empty()) effects = loop_.conditions.due(view, now);
    if (!effects.empty()) return effects;
  }
  client::Effects idle;
  for (const std::optional<Time> next :
       {loop_.queue.next_time(), loop_.withdrawals.next_time(), loop_.seals.next_time(),
        loop_.conditions.next_time(), loop_.overtaking.next_time(), loop_.evictions.next_time(),
        loop_.late.next_time(), loop_.owners.next_time(), loop_.policy_statuses.next_time(),
        loop_.replacements.next_time(), loop_.rooms.next_time(), loop_.relocations.next_time(),
        std::optional(next_audit_)})
    if (next && (!idle.wake_at || *next < *idle.wake_at)) idle.wake_at = next;
  return idle;
}

client::Effects Scheduler::follow_policies(const client::View& view, Time now) {
  if (client::Effects reads = loop_.owners.due(now); !reads.empty()) return reads;
  return loop_.policy_statuses.due(view, loop_.policy_members, loop_.owners, loop_.replacements.reports(),
                                   now);
}

SchedulingContext Scheduler::context_at(const client::View& view, Time now) {
  return {view,
          loop_.cluster,
          core_.allocator(),
          now,
          loop_.options.binding_timeout,
          loop_.options.victim_scoring};
}

std::optional<placement::WaitingEntity> Scheduler::waiting_entity(const SchedulingContext& context,
                                                                  const EntityKey& key) const {
  if (key.kind == EntityKind::Pod) {
    const api::Pod* pod = context.view.pods.find(key.ns, key.name);
    if (!pod || !loop_.wants_place(context.view, *pod)) return std::nullopt;
    return placement::WaitingEntity{key, pod};
  }
  if (key.kind == EntityKind::CompositeGroup) {
    std::optional<TreeInput> tree = input_of_tree(context, key, context.now);
    if (!tree || EntryGate::is_unsettled(*tree)) return std::nullopt;
    return placement::WaitingEntity{key, *std::move(tree)};
  }
  const api::PodGroup* group = context.view.pod_groups.find(key.ns, key.name);
  std::optional<GroupInput> input = group ? input_of(context, *group, context.now) : std::nullopt;
  if (!input || EntryGate::is_unsettled(*input)) return std::nullopt;
  return placement::WaitingEntity{key, *std::move(input)};
}

client::Effects Scheduler::attempt(const client::View& view, QueuedEntity entry, Time now) {
  const SchedulingContext context = context_at(view, now);
  if (entry.key.kind == EntityKind::Pod) {
    const api::Pod* pod = view.pods.find(entry.key.ns, entry.key.name);
    if (pod && loop_.wants_to_grow(*pod)) return decide_resize(context, std::move(entry), *pod, now);
    if (!pod || !loop_.wants_place(view, *pod)) return {};
    return decide_pod(context, std::move(entry), *pod, now);
  }
  if (entry.key.kind == EntityKind::CompositeGroup) return decide_tree(context, std::move(entry), now);
  const api::PodGroup* group = view.pod_groups.find(entry.key.ns, entry.key.name);
  return group ? decide_group(context, std::move(entry), *group, now) : client::Effects{};
}

std::string Scheduler::next_decision(const EntityKey& key, Time now) {
  ++sequence_;
  const std::string inputs = std::to_string(sequence_) + "|" + std::to_string(now.micros()) + "|" + key.ns +
                             "/" + key.name + "|" + std::to_string(state_digest_);
  latest_digest_ = fnv1a(inputs);
  core_.begin(latest_digest_);
  return api::with_process("d" + std::to_string(sequence_) + "-" + hex_of(latest_digest_),
                           loop_.options.process);
}

void Scheduler::log(DecisionRecord record) {
  if (!decisions_) return;
  record.inputs_digest = latest_digest_;
  decisions_->append(std::move(record));
}

client::Effects Scheduler::decide_pod(const SchedulingContext& given, QueuedEntity entry, const api::Pod& pod,
                                      Time now) {
  const SuccessorRooms::Passed rooms = loop_.rooms.passed_by(std::array{&pod});
  const SchedulingContext context = rooms.shown_in(given);
  const std::string id = next_decision(entry.key, now);
  const AvoidSet avoid = avoid_set(pod, now);
  const bool avoids = !avoid.nodes.empty() || !avoid.devices.empty();
  const Preempting preempting = this->preempting(context, entry.key, pod);
  const PreemptionUnderWay* own = loop_.evictions.find(entry.key);
  model::Ledger::Transaction transaction(loop_.cluster.ledger());
  transaction.lift_holds(pod.priority,
                         {own ? own->hold.id() : loop_.held_for(entry.key), loop_.overtaking.open_to(entry),
                          backfilled_by(context, std::array{&pod}), rooms.holds});
  PodDecision decision = core_.decide_pod(context, pod, avoid, transaction, preempting);
  if (decision.refusal) {
    transaction.end();
    return refuse_pod(context, std::move(entry), pod, std::move(decision), avoids, id, now);
  }
  loop_.cluster.commit(transaction, id);
  return bind_pod(context, std::move(entry), pod, decision, id, now);
}

client::Effects Scheduler::bind_pod(const SchedulingContext& context, QueuedEntity entry, const api::Pod& pod,
                                    const PodDecision& decision, const std::string& id, Time now) {
  loop_.overtaking.placed(entry, now);
  if (loop_.nominations.forget(entry.key)) loop_.queue.wake(kEventRoomFreed, now);
  loop_.forget_room(entry.key, now);
  loop_.forget_successor_room(pod, decision.node, now);

  client::Effects effects;
  effects.decision_id = id;
  const std::string& node_name = loop_.cluster.node(decision.node).name;
  const BindRequestDraft binding{&pod, node_name,
                                 loop_.cluster.named(pod, model::value_of(decision.reservation)),
                                 loop_.options.backoff_limit};
  effects.chains.push_back(bind_chain(context.view, binding, {}, id, loop_));
  std::set<std::string> renewed;
  renew_reservations(context.view, binding, id, renewed, effects.chains.back());
  loop_.conditions.drop(client::key_of(api::Kind::Pod, pod.meta));
  log({id,
       now,
       DecisionKind::Pod,
       pod.meta.ns,
       pod.meta.name,
       DecisionResult::Placed,
       {{pod.meta.name, node_name}},
       nullptr,
       0,
       pod.meta.uid,
       entry.attempts,
       entry.swept});
  loop_.in_flight[id] = {std::move(entry), {pod.meta.uid}};
  return effects;
}

client::Effects Scheduler::refuse_pod(const SchedulingContext& context, QueuedEntity entry,
                                      const api::Pod& pod, PodDecision decision, bool avoids,
                                      const std::string& id, Time now) {
  const bool failed = decision.refusal->result == DecisionResult::Error;
  client::Effects effects;
  effects.decision_id = id;
  effects.chains = std::move(decision.deallocations);
  if (!effects.chains.empty()) deallocating_[id] = entry.key;
  preempt(context, entry.key, pod, decision, id, effects);
  loop_.conditions.want(context.view,
                        refused_pod(pod, failure_of(*decision.refusal, id), now,
                                    loop_.evictions.place_of(entry.key, pod.meta.name)),
                        now);
  log({id,
       now,
       DecisionKind::Pod,
       pod.meta.ns,
       pod.meta.name,
       decision.refusal->result,
       {},
       decision.refusal,
       0,
       pod.meta.uid});
  if (!failed) loop_.overtaking.refused(entry);
  if (failed || (avoids && !decision.preemption && !has(KnownDefect::AvoidedNodesWaitForSweep))) {
    loop_.queue.put_after_error(std::move(entry), now);
  } else {
    // A preemptor waits for its own victims, too.
    placement::WaitsFor waits_for = loop_.evictions.find(entry.key)
                                        ? placement::WaitsFor{core_.interests_of(context, pod)}
                                        : core_.waits_for(context, *decision.refusal);
    loop_.queue.put_unschedulable(std::move(entry), std::move(waits_for), now);
  }
  return effects;
}

bool Scheduler::on_other_outcome(const client::View& view, const client::Outcome& outcome, Time now) {
  if (const auto found = deallocating_.find(outcome.decision_id); found != deallocating_.end()) {
    const EntityKey key = found->second;
    deallocating_.erase(found);
    const bool written = std::all_of(outcome.chains.begin(), outcome.chains.end(),
                                     [](const client::ChainOutcome& chain) { return chain.ok; });
    // The next attempt derives again what to deallocate.
    if (!written) loop_.queue.wake_one(key, now);
    return true;
  }
  if (outcome.decision_id == kEvictionWrites) {
    for (const client::ChainOutcome& chain : outcome.chains)
      for (const EntityKey& refused : loop_.evictions.write_done(chain, now)) {
        loop_.queue.wake_one(refused, now);
        loop_.queue.wake(kEventRoomFreed, now);
      }
    return true;
  }
  if (outcome.decision_id == kReplacementWrites) {
    for (const client::ChainOutcome& chain : outcome.chains)
      if (const std::optional<GroupKey> group = loop_.replacements.write_done(chain, now))
        loop_.replacements.want_look(*group, now + kPlacesSettle);
    return true;
  }
  if (outcome.decision_id == kRelocationWrites) {
    for (const client::ChainOutcome& chain : outcome.chains) defragmenter_.write_done(chain, now);
    return true;
  }
  if (outcome.decision_id == kOwnerReads) {
    for (const client::ChainOutcome& chain : outcome.chains)
      for (const GroupKey& group : loop_.owners.read_done(chain, now)) intake_.owners_read(view, group, now);
    return true;
  }
  if (!outcome.decision_id.empty()) return false;
  for (const client::ChainOutcome& chain : outcome.chains) {
    if (loop_.policy_statuses.write_done(chain.key, chain.ok, now)) continue;
    if (loop_.seals.write_done(chain.key, chain.ok, now)) continue;
    if (chain.key.kind == api::Kind::BindRequest)
      loop_.withdrawals.write_done(chain.key, chain.ok, now);
    else
      loop_.conditions.write_done(chain.key, chain.ok, now);
  }
  return true;
}

void Scheduler::on_outcome(const client::View& view, const client::Outcome& outcome, Time now) {
  if (inputs_) inputs_->record({InputKind::Settle, now, {}, outcome});
  if (on_other_outcome(view, outcome, now)) return;
  const auto found = loop_.in_flight.find(outcome.decision_id);
  if (found == loop_.in_flight.end()) return;
  InFlight flight = std::move(found->second);
  loop_.in_flight.erase(found);
  bool written = true;
  for (std::size_t i = 0; i < flight.member_uids.size(); ++i) {
    const bool ok = i < outcome.chains.size() && outcome.chains[i].ok;
    written &= ok;
    // From here on the stored request, if there is one, reserves the place.
    loop_.cluster.forget(outcome.decision_id, flight.member_uids[i]);
  }
  loop_.dirty.insert(flight.entry.key);
  if (written) {
    if (flight.rest_evicts) loop_.queue.wake_one(flight.entry.key, now);
    if (flight.barrier && view.bind_request_count_of_decision(outcome.decision_id) > 0)
      loop_.written_gangs.insert(outcome.decision_id);
    return;
  }
  log({outcome.decision_id,
       now,
       kind_of(flight.entry.key),
       flight.entry.key.ns,
       flight.entry.key.name,
       DecisionResult::Undone,
       {},
       nullptr,
       0,
       flight.entry.key.kind == EntityKind::Pod ? flight.member_uids.front() : ""});
  if (!loop_.queue.contains(flight.entry.key)) loop_.queue.put_after_error(std::move(flight.entry), now);
  loop_.queue.wake(kEventRoomFreed, now);
  gate_.reconsider(view, now);
}

}  // namespace berth::scheduling

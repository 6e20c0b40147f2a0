// The part of Scheduler that has pods of lower priority evicted for a refused one.
#include <algorithm>
#include <set>

#include "api/types/claim_consumer.h"
#include "base/name_list.h"
#include "placement/preemption/eligibility.h"
#include "placement/preemption/victims.h"
#include "placement/refusal/berth_words.h"
#include "scheduling/scheduler.h"
#include "scheduling/victim_rooms.h"

namespace berth::scheduling {
namespace {

// The beginning of an event about the preemptor.
client::EventNote about(api::Kind kind, const api::ObjectMeta& meta, const std::string& scheduler_name,
                        const std::string& decision) {
  client::EventNote event;
  event.regarding = client::key_of(kind, meta);
  event.regarding_uid = meta.uid;
  event.decision_id = decision;
  event.component = scheduler_name;
  return event;
}

client::EventNote room_reserved(const client::EventNote& about, const std::string& where,
                                const placement::Refusal& refusal) {
  client::EventNote event = about;
  event.reason = "RoomReserved";
  event.action = "Preempting";
  event.message = "Room on " + where + " is reserved until these pods have ended: " +
                  placement::list_pods(refusal.searched->victims);
  return event;
}

// The nodes of the places, each once, by name.
std::string list_places(const std::map<std::string, std::string>& places) {
  std::set<std::string> names;
  for (const auto& [pod, node] : places) names.insert(node);
  const std::vector<std::string> nodes(names.begin(), names.end());
  return (nodes.size() == 1 ? "node " : "nodes ") + first_names(nodes, placement::kVictimsNamedMax);
}

}  // namespace

void Scheduler::note_delay(const EntityKey& key, const api::ObjectMeta& meta, Time now,
                           Preempting& preempting) {
  if (const std::optional<Time> over = placement::note_delay(meta, now, preempting))
    loop_.evictions.not_before(key, *over);
}

// A plan waits while all its nodes are there.
model::NodeId Scheduler::waits_for(const client::View& view, const EntityKey& key) const {
  const PreemptionUnderWay* plan = loop_.evictions.find(key);
  if (!plan || !Evictions::waits(view, *plan)) return model::NodeId::none();
  model::NodeId node;
  for (const auto& [pod, name] : plan->places) {
    node = loop_.cluster.find_node(name);
    if (!node.valid()) return node;
  }
  return node;
}

Preempting Scheduler::preempting(const SchedulingContext& context, const EntityKey& key,
                                 const api::Pod& pod) {
  Preempting preempting;
  preempting.searches = !loop_.evictions.full();
  preempting.waits_for = waits_for(context.view, key);
  if (!loop_.evictions.find(key) && placement::has_ending_victims(context.view, pod))
    preempting.first = loop_.cluster.find_node(pod.nominated_node);
  note_delay(key, pod.meta, context.now, preempting);
  return preempting;
}

Preempting Scheduler::preempting(const SchedulingContext& context, const EntityKey& key,
                                 const api::ObjectMeta& group) {
  Preempting preempting;
  preempting.searches = !loop_.evictions.full();
  preempting.waits_for = waits_for(context.view, key);
  note_delay(key, group, context.now, preempting);
  return preempting;
}

void Scheduler::give_up_preemption(const EntityKey& key, const placement::Refusal& refusal, Time now) {
  if (refusal.preemption == placement::Preemption::Waiting && loop_.evictions.find(key)) return;
  if (loop_.evictions.forget(key)) loop_.queue.wake(kEventRoomFreed, now);
}

// `plan` has the preemptor's name, priority and places; `about`: the preemptor.
void Scheduler::begin_preemption(const SchedulingContext& context, const EntityKey& key,
                                 const placement::VictimPlan& found, const placement::Refusal& refusal,
                                 PreemptionDraft draft, client::Effects& effects) {
  const std::string where = list_places(draft.places);
  loop_.evictions.forget(key);
  loop_.nominations.forget(key);
  loop_.relocations.forget(key);
  model::Hold hold = loop_.cluster.hold_for(found.place, model::binding_equals(draft.priority));
  for (const auto* pods : {&found.victims, &found.awaited})
    for (const placement::PreemptionVictim& victim : *pods) hold.leaving.push_back(victim.pod);
  const Time until = context.now + longest_grace(loop_.cluster, hold.leaving) + kPreemptionMax;
  PreemptionUnderWay under_way{draft.about.regarding_uid,
                               draft.about.component,
                               draft.priority,
                               std::move(draft.places),
                               {},
                               {},
                               model::ScopedHold(loop_.cluster.ledger(), std::move(hold)),
                               until};
  for (const auto* pods : {&found.victims, &found.awaited})
    for (const placement::PreemptionVictim& victim : *pods) {
      const api::ObjectMeta& meta = loop_.cluster.pod(victim.pod).live->meta;
      const model::NodeId node = loop_.cluster.ledger().node_of(victim.pod);
      under_way.victims.push_back(
          {client::key_of(api::Kind::Pod, meta), victim.uid, loop_.cluster.node(node).name, victim.refused});
    }
  for (const model::ClaimId id : found.claims) {
    const api::ResourceClaim& claim = *loop_.cluster.claim(id).live;
    under_way.claims.push_back({client::key_of(api::Kind::ResourceClaim, claim.meta), claim.meta.uid,
                                std::ranges::any_of(claim.reserved_for, api::is_group)});
  }
  // They are tried again: another node takes them, or their refusal clears the nomination.
  for (const auto& [name, place] : under_way.places)
    for (const EntityKey& lower : loop_.nominations.below(under_way.priority, loop_.cluster.find_node(place)))
      loop_.queue.wake_one(lower, context.now);
  for (const EntityKey& lower : loop_.evictions.begin(key, std::move(under_way), context.now))
    loop_.queue.wake_one(lower, context.now);
  loop_.forget_rooms_of_spared(context.now);
  keep_rooms_of_victims(loop_, core_, context, found, until);
  if (!found.victims.empty()) effects.events.push_back(room_reserved(draft.about, where, refusal));
}

void Scheduler::preempt(const SchedulingContext& context, const EntityKey& key, const api::Pod& pod,
                        const PodDecision& decision, const std::string& id, client::Effects& effects) {
  if (!decision.preemption) return give_up_preemption(key, *decision.refusal, context.now);
  begin_preemption(context, key, *decision.preemption, *decision.refusal,
                   {about(api::Kind::Pod, pod.meta, pod.scheduler_name, id),
                    pod.priority,
                    {{pod.meta.name, loop_.cluster.node(decision.preemption->node).name}}},
                   effects);
}

void Scheduler::preempt(const SchedulingContext& context, const EntityKey& key, const GroupInput& members,
                        const placement::GroupPreemptionPlan* plan, const placement::Refusal& refusal,
                        client::EventNote about, client::Effects& effects) {
  if (!plan) return give_up_preemption(key, refusal, context.now);
  PreemptionDraft draft{std::move(about), members.group->priority, {}};
  for (std::size_t i = 0; i < members.waiting.size(); ++i)
    if (const model::NodeId node = plan->nodes[i]; node.valid())
      draft.places[members.waiting[i]->meta.name] = loop_.cluster.node(node).name;
  begin_preemption(context, key, *plan, refusal, std::move(draft), effects);
}

void Scheduler::preempt(const SchedulingContext& context, const EntityKey& key, const GroupInput& input,
                        const GroupOutcome& outcome, const std::string& id, client::Effects& effects) {
  preempt(context, key, input, outcome.preemption.get(), *outcome.refusal,
          about(api::Kind::PodGroup, input.group->meta, input.waiting.front()->scheduler_name, id), effects);
}

void Scheduler::preempt(const SchedulingContext& context, const EntityKey& key, const TreeInput& input,
                        const TreeOutcome& outcome, const std::string& id, client::Effects& effects) {
  api::PodGroup as_group;
  const GroupInput members = placement::as_one_group(input, as_group);
  preempt(context, key, members, outcome.preemption.get(), *outcome.refusal,
          about(api::Kind::CompositePodGroup, input.nodes.front().meta(),
                members.waiting.front()->scheduler_name, id),
          effects);
}

client::Effects Scheduler::decide_resize(const SchedulingContext& context, QueuedEntity entry,
                                         const api::Pod& pod, Time now) {
  client::Effects effects;
  if (!waits_for(context.view, entry.key).valid()) {
    loop_.evictions.forget(entry.key);
    const std::string id = next_decision(entry.key, now);
    placement::Refusal refusal;
    model::Ledger::Transaction transaction(loop_.cluster.ledger());
    transaction.lift_holds(pod.priority, {});
    const std::optional<placement::VictimPlan> plan = core_.decide_resize(context, pod, transaction, refusal);
    transaction.end();
    // The ledger charges the pod with what it wants: nobody else takes the room.
    if (plan && !loop_.evictions.full())
      begin_preemption(context, entry.key, *plan, refusal,
                       {about(api::Kind::Pod, pod.meta, pod.scheduler_name, id),
                        placement::priority_of(context.view, pod),
                        {{pod.meta.name, pod.node_name}}},
                       effects);
  }
  placement::WaitsFor node_changes;
  node_changes.hints.add(
      kEventNodeAdded | kEventNodeChanged | kEventPodGone | kEventPodPlaced | kEventPodResized,
      {{placement::facts::on_node(pod.node_name), placement::kFactHolds}});
  loop_.queue.put_unschedulable(std::move(entry), std::move(node_changes), now);
  return effects;
}

void Scheduler::end_preemptions(Time now) {
  loop_.forget_rooms_of_spared(now);
  const std::vector<EntityKey> over = loop_.evictions.expire(now);
  for (const EntityKey& key : over) loop_.queue.wake_one(key, now);
  if (!over.empty()) loop_.queue.wake(kEventRoomFreed, now);
}

client::Effects Scheduler::evict(const client::View& view, Time now) {
  return loop_.evictions.due(view, now,
                             {[&](const api::BindRequest& request) { loop_.withdrawals.want(request, now); },
                              [&](const api::ObjectKey& claim) {
                                const model::ClaimId id = loop_.cluster.find_claim(claim.ns, claim.name);
                                return id.valid() && loop_.cluster.ledger().users(id) > 0;
                              }});
}

}  // namespace berth::scheduling

// The part of Scheduler that has pods of lower priority evicted for a refused one.
#include <algorithm>

#include "placement/preemption/victims.h"
#include "placement/refusal/berth_words.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {
namespace {

// Victims of this pod that end on the node that it is nominated for: of an earlier process, if this one has
// no plan of it. Source: kube-scheduler's PodEligibleToPreemptOthers.
bool has_ending_victims(const client::View& view, const api::Pod& pod) {
  return !pod.nominated_node.empty() &&
         std::ranges::any_of(view.pods_on_node(pod.nominated_node), [&](const api::Pod* other) {
           const api::Condition* why = api::find_condition(other->conditions, kDisruptionTarget);
           return other->meta.deleting() && placement::priority_of(view, *other) < pod.priority && why &&
                  why->status == "True" && why->reason == kPreemptionByScheduler;
         });
}

// The longest time until one of them is gone.
Duration grace_of(const model::Cluster& cluster, const placement::PreemptionPlan& plan) {
  std::int64_t longest = 0;
  for (const auto* pods : {&plan.victims, &plan.awaited})
    for (const placement::PreemptionVictim& victim : *pods)
      longest = std::max(longest, cluster.pod(victim.pod).live->termination_grace_s);
  return Duration::seconds(std::min(longest, kGraceCountedMax));
}

client::EventNote room_reserved(const api::Pod& pod, const placement::Refusal& refusal,
                                const std::string& decision) {
  const placement::PreemptionSearched& searched = *refusal.searched;
  client::EventNote event;
  event.regarding = client::key_of(api::Kind::Pod, pod.meta);
  event.regarding_uid = pod.meta.uid;
  event.reason = "RoomReserved";
  event.action = "Preempting";
  event.message = "Room on node " + searched.node +
                  " is reserved until these pods have ended: " + placement::list_pods(searched.victims);
  event.decision_id = decision;
  event.component = pod.scheduler_name;
  return event;
}

}  // namespace

Preempting Scheduler::preempting(const SchedulingContext& context, const EntityKey& key,
                                 const api::Pod& pod) {
  Preempting preempting;
  preempting.searches = !loop_.evictions.full();
  if (const PreemptionUnderWay* plan = loop_.evictions.find(key)) {
    if (Evictions::waits(context.view, *plan)) preempting.waits_for = loop_.cluster.find_node(plan->node);
  } else if (has_ending_victims(context.view, pod)) {
    preempting.first = loop_.cluster.find_node(pod.nominated_node);
  }
  const std::string_view delay = pod.meta.annotation(placement::kPreemptionDelayAnnotation);
  if (delay.empty()) return preempting;
  const Result<Duration> parsed = parse_duration(delay);
  if (!parsed || *parsed < Duration()) {
    preempting.invalid_delay = delay;
  } else if (const Time at = pod.meta.created + *parsed; context.now < at) {
    preempting.not_before = format_time(at);
    loop_.evictions.not_before(key, at);
  }
  return preempting;
}

std::string Scheduler::begin_preemption(const SchedulingContext& context, const EntityKey& key,
                                        const api::Pod& pod, const PodDecision& decision,
                                        const std::string& id, client::Effects& effects) {
  if (decision.refusal->preemption == placement::Preemption::Waiting && !decision.preemption)
    if (const PreemptionUnderWay* plan = loop_.evictions.find(key)) return plan->node;
  if (!decision.preemption) {
    if (loop_.evictions.forget(key)) loop_.queue.wake(kEventRoomFreed, context.now);
    return "";
  }
  const placement::PreemptionPlan& plan = *decision.preemption;
  // Equal priorities respect the room, too.
  const std::int32_t bound = pod.priority == INT32_MAX ? pod.priority : pod.priority + 1;
  loop_.evictions.forget(key);
  PreemptionUnderWay under_way{
      pod.meta.uid,
      pod.scheduler_name,
      pod.priority,
      loop_.cluster.node(plan.node).name,
      {},
      {},
      model::ScopedHold(loop_.cluster.ledger(), loop_.cluster.hold_for(plan.place, bound)),
      context.now + grace_of(loop_.cluster, plan) + kPreemptionMax};
  for (const auto* pods : {&plan.victims, &plan.awaited})
    for (const placement::PreemptionVictim& victim : *pods) {
      const api::ObjectMeta& meta = loop_.cluster.pod(victim.pod).live->meta;
      const model::NodeId node = loop_.cluster.ledger().node_of(victim.pod);
      under_way.victims.push_back(
          {client::key_of(api::Kind::Pod, meta), victim.uid, loop_.cluster.node(node).name, victim.refused});
    }
  for (const model::ClaimId claim : plan.claims)
    under_way.claims.push_back(
        {client::key_of(api::Kind::ResourceClaim, loop_.cluster.claim(claim).live->meta),
         loop_.cluster.claim(claim).live->meta.uid});
  std::string node = under_way.node;
  for (const EntityKey& lower : loop_.evictions.begin(key, std::move(under_way), context.now))
    loop_.queue.wake_one(lower, context.now);
  if (!plan.victims.empty()) effects.events.push_back(room_reserved(pod, *decision.refusal, id));
  return node;
}

void Scheduler::end_preemptions(Time now) {
  const std::vector<EntityKey> over = loop_.evictions.expire(now);
  for (const EntityKey& key : over) loop_.queue.wake_one(key, now);
  if (!over.empty()) loop_.queue.wake(kEventRoomFreed, now);
}

client::Effects Scheduler::evict(const client::View& view, Time now) {
  return loop_.evictions.due(view, now,
                             [&](const api::BindRequest& request) { loop_.withdrawals.want(request, now); });
}

}  // namespace berth::scheduling

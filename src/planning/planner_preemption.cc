// The part of Planner that has pods of lower priority evicted for a refused one.
#include <algorithm>

#include "placement/preemption/eligibility.h"
#include "placement/preemption/victims.h"
#include "planning/objects.h"
#include "planning/planner.h"

namespace berth::planning {
namespace {

using placement::VictimPlan;

// What the API has no more once the victims have ended.
struct Ended {
  std::vector<client::NamedKey> pods;
  std::vector<client::NamedKey> claims;  // that give their devices back
};

Ended ended_by(const VictimPlan& plan, const model::Cluster& cluster,
               model::Ledger::Transaction& transaction) {
  const auto before = transaction.savepoint();
  for (const auto* pods : {&plan.victims, &plan.awaited})
    for (const placement::PreemptionVictim& victim : *pods)
      placement::remove_victim(cluster, victim.pod, model::GroupClaims::Kept, transaction);
  Ended ended;
  for (const model::Step& step : transaction.take_since(before).steps)
    if (const auto* removed = std::get_if<model::RemovePod>(&step))
      ended.pods.push_back(cluster.pod(removed->pod).key);
  for (const model::ClaimId claim : plan.claims) ended.claims.push_back(cluster.claim(claim).key);
  return ended;
}

std::vector<PlannedVictim> victims_of(const VictimPlan& plan, const model::Cluster& cluster) {
  std::vector<PlannedVictim> victims;
  for (const placement::PreemptionVictim& victim : plan.victims) {
    const api::Pod& pod = *cluster.pod(victim.pod).live;
    victims.push_back({pod.meta.ns, pod.meta.name, victim.with_group ? pod.group : ""});
  }
  return victims;
}

}  // namespace

placement::Preempting Planner::preempting(const api::Pod& pod) const {
  placement::Preempting preempting;
  preempting.searches = options_.preempts;
  if (placement::has_ending_victims(offline_.view(), pod))
    preempting.first = context_.cluster.find_node(pod.nominated_node);
  placement::note_delay(pod.meta, context_.now, preempting);
  return preempting;
}

placement::Preempting Planner::preempting(const api::ObjectMeta& group) const {
  placement::Preempting preempting;
  preempting.searches = options_.preempts;
  placement::note_delay(group, context_.now, preempting);
  return preempting;
}

std::vector<PlannedPod*> Planner::pods_of(Decision& decision) {
  std::vector<PlannedPod*> pods;
  for (PlannedPod& pod : decision.pods) pods.push_back(&pod);
  return pods;
}

// The pods are in the view, too; a victim's end does not change those that wait.
void Planner::preempt(const VictimPlan& plan, std::span<PlannedPod* const> pods, Decision& decision) {
  model::Cluster& cluster = offline_.cluster();
  decision.result = ResultKind::Preempting;
  decision.reason = name_of(ResultKind::Preempting);
  decision.victims = victims_of(plan, cluster);
  const Ended ended = [&] {
    model::Ledger::Transaction transaction(cluster.ledger());
    return ended_by(plan, cluster, transaction);
  }();
  for (const client::NamedKey& key : ended.pods)
    if (offline_.evict(key) == OfflineCluster::Evicted::WaitsAgain) add_turn(key);
  for (const client::NamedKey& key : ended.claims) offline_.release_claim(key);
  for (const model::Step& step : plan.place.steps) {
    const auto* place = std::get_if<model::Place>(&step);
    if (!place) continue;
    const client::NamedKey& key = cluster.pod(place->pod).key;
    const auto planned = std::ranges::find_if(
        pods, [&](const PlannedPod* one) { return one->ns == key.ns && one->name == key.name; });
    const auto pod = offline_.view().pods.find_shared(key.ns, key.name);  // the place replaces the view's
    take_place({*pod, place->node, place->reservation}, **planned);
    if (options_.objects) nominated_.push_back(nominated_pod(*pod, (*planned)->node));
  }
}

// Of a pod that lost its decision: its priority is below that of the turn.
void Planner::add_turn(const client::NamedKey& key) {
  const auto pod = offline_.view().pods.find_shared(key.ns, key.name);
  Turn turn{placement::queue_entry(*pod), pod, nullptr};
  const auto rest = turns_.begin() + static_cast<std::ptrdiff_t>(turn_) + 1;
  const auto at =
      std::ranges::lower_bound(rest, turns_.end(), turn.entry, placement::queue_sort_less, &Turn::entry);
  turns_.insert(at, std::move(turn));
}

}  // namespace berth::planning

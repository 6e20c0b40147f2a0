#include "scheduling/keepers/evictions.h"

#include <algorithm>

#include "api/evictions.h"
#include "api/types/claim_consumer.h"
#include "client/claim_writes.h"
#include "placement/groups/group_members.h"
#include "placement/preemption/eligibility.h"
#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

// The request that gives the victim its node; null: there is none.
const api::BindRequest* request_of(const client::View& view, const api::Pod& pod, const EvictedPod& victim) {
  const api::BindRequest* request = placement::standing_request(view, pod);
  return request && request->node == victim.node ? request : nullptr;
}

// The pod that was chosen, while it has its node; null: it has left.
const api::Pod* placed(const client::View& view, const EvictedPod& victim) {
  const api::Pod* pod = view.pods.find(victim.key.ns, victim.key.name);
  if (!pod || pod->meta.uid != victim.uid || pod->finished()) return nullptr;
  const bool there = pod->bound() ? pod->node_name == victim.node : request_of(view, *pod, victim) != nullptr;
  return there ? pod : nullptr;
}

bool is_marked(const api::Pod& pod) {
  const api::Condition* shown = api::find_condition(pod.conditions, api::kDisruptionTarget);
  return shown && shown->status == "True" && shown->reason == api::kPreemptionByScheduler;
}

// kube-scheduler's words.
std::string_view kind_of(const EntityKey& preemptor) {
  constexpr std::string_view kKinds[] = {"pod", "podgroup", "compositepodgroup"};
  return kKinds[static_cast<std::size_t>(preemptor.kind)];
}

bool shares_a_node(const PreemptionUnderWay& a, const PreemptionUnderWay& b) {
  return std::ranges::any_of(a.places, [&](const auto& place) {
    return std::ranges::any_of(b.places, [&](const auto& other) { return place.second == other.second; });
  });
}

api::Condition disruption(const api::Pod& pod, const EntityKey& preemptor, const std::string& scheduler_name,
                          Time now) {
  return {std::string(api::kDisruptionTarget),
          "True",
          std::string(api::kPreemptionByScheduler),
          scheduler_name + ": preempting to accommodate a higher priority " + std::string(kind_of(preemptor)),
          now,
          pod.meta.generation};
}

client::EventNote preempted(const EvictedPod& victim, const EntityKey& preemptor,
                            const PreemptionUnderWay& plan) {
  client::EventNote event;
  event.regarding = victim.key;
  event.regarding_uid = victim.uid;
  event.reason = "Preempted";
  event.action = "Preempting";
  const bool one = preemptor.kind == placement::EntityKind::Pod && !plan.places.empty();
  event.message = "Preempted by " + std::string(kind_of(preemptor)) + " " + plan.uid + " on node " +
                  (one ? plan.places.begin()->second : "cluster");
  event.component = plan.scheduler_name;
  return event;
}

}  // namespace

Duration longest_grace(const model::Cluster& cluster, std::span<const model::PodId> pods) {
  std::int64_t longest_s = 0;
  for (const model::PodId pod : pods)
    longest_s = std::max(longest_s, cluster.pod(pod).live->termination_grace_s);
  return Duration::seconds(std::min(longest_s, kGraceCountedMax));
}

std::vector<EntityKey> Evictions::begin(const EntityKey& key, PreemptionUnderWay plan, Time now) {
  forget(key);
  std::vector<EntityKey> given_up;
  for (const auto& [other, lower] : plans_)
    if (lower.priority < plan.priority && shares_a_node(lower, plan)) given_up.push_back(other);
  for (const EntityKey& lower : given_up) forget(lower);
  for (const EvictedPod& victim : plan.victims) {
    Eviction& eviction = evictions_[victim.key];
    if (eviction.pod.uid != victim.uid) {
      eviction.pod = victim;
      eviction.plans.clear();
      eviction.accepted = false;
    }
    eviction.pod.refused = victim.refused;
    eviction.plans.insert(key);
    if (!eviction.accepted) writes_.want(victim.key, now);
  }
  for (const AwaitedClaim& claim : plan.claims)
    if (claim.of_group) {
      ClaimGivenBack& given = group_claims_[claim.key];
      if (given.uid != claim.uid) given = {claim.uid, {}, false};
      given.due = false;  // since it was given back for another plan, it may have been allocated again
      given.plans.insert(key);
    }
  ends_.emplace(plan.until, key);
  plans_.emplace(key, std::move(plan));
  return given_up;
}

const PreemptionUnderWay* Evictions::find(const EntityKey& key) const {
  const auto found = plans_.find(key);
  return found == plans_.end() ? nullptr : &found->second;
}

std::string Evictions::place_of(const EntityKey& key, const std::string& pod) const {
  const PreemptionUnderWay* plan = find(key);
  if (!plan) return "";
  const auto place = plan->places.find(pod);
  return place == plan->places.end() ? "" : place->second;
}

bool Evictions::waits(const client::View& view, const PreemptionUnderWay& plan) {
  const auto is_allocated = [&](const AwaitedClaim& awaited) {
    const api::ResourceClaim* claim = view.claims.find(awaited.key.ns, awaited.key.name);
    return claim && claim->meta.uid == awaited.uid && claim->allocation;
  };
  return std::ranges::any_of(plan.victims,
                             [&](const EvictedPod& victim) { return placed(view, victim) != nullptr; }) ||
         std::ranges::any_of(plan.claims, is_allocated);
}

void Evictions::end(Plans::iterator plan) {
  for (const EvictedPod& victim : plan->second.victims) {
    const auto eviction = evictions_.find(victim.key);
    if (eviction == evictions_.end()) continue;
    eviction->second.plans.erase(plan->first);
    if (eviction->second.plans.empty() && eviction->second.asked.empty()) forget_eviction(victim.key);
  }
  for (const AwaitedClaim& claim : plan->second.claims) {
    const auto found = group_claims_.find(claim.key);
    if (found == group_claims_.end() || found->second.plans.erase(plan->first) == 0) continue;
    if (!found->second.plans.empty()) continue;
    group_claims_.erase(found);
    claim_writes_.erase(claim.key);
  }
  ends_.erase({plan->second.until, plan->first});
  plans_.erase(plan);
}

// No plan has the victim any more, and no write is under way.
void Evictions::forget_eviction(const api::ObjectKey& victim) {
  const auto eviction = evictions_.find(victim);
  writes_.erase(victim);
  if (!eviction->second.accepted) spared_.push_back(eviction->second.pod);
  evictions_.erase(eviction);
}

bool Evictions::forget(const EntityKey& key) {
  const auto found = plans_.find(key);
  if (found == plans_.end()) return false;
  end(found);
  return true;
}

bool Evictions::leave(const EntityKey& key) {
  forget_delay(key);
  return forget(key);
}

void Evictions::not_before(const EntityKey& key, Time at) {
  forget_delay(key);
  delays_.emplace(at, key);
  delay_of_.emplace(key, at);
}

void Evictions::forget_delay(const EntityKey& key) {
  const auto found = delay_of_.find(key);
  if (found == delay_of_.end()) return;
  delays_.erase({found->second, key});
  delay_of_.erase(found);
}

std::vector<EntityKey> Evictions::expire(Time now) {
  std::vector<EntityKey> over;
  while (!ends_.empty() && ends_.begin()->first <= now) {
    over.push_back(ends_.begin()->second);
    forget(EntityKey(over.back()));
  }
  while (!delays_.empty() && delays_.begin()->first <= now) {
    over.push_back(delays_.begin()->second);
    forget_delay(over.back());
  }
  return over;
}

std::optional<client::Chain> Evictions::chain_of(
    const client::View& view, const Eviction& eviction, Time now,
    const std::function<void(const api::BindRequest&)>& withdraw) const {
  const api::Pod* pod = placed(view, eviction.pod);
  if (!pod || pod->meta.deleting()) return std::nullopt;
  if (!pod->bound()) {
    withdraw(*request_of(view, *pod, eviction.pod));
    return std::nullopt;
  }
  client::Chain chain{eviction.pod.key, {}};
  if (!is_marked(*pod)) {
    const EntityKey& preemptor = *eviction.plans.begin();
    chain.writes.push_back(client::condition_patch(
        eviction.pod.key, pod->meta, disruption(*pod, preemptor, plans_.at(preemptor).scheduler_name, now)));
  }
  chain.writes.push_back(eviction.pod.refused ? client::delete_object(eviction.pod.key, eviction.pod.uid)
                                              : client::evict(eviction.pod.key, eviction.pod.uid));
  return chain;
}

void Evictions::give_claims_back(const client::View& view, Time now, const EvictionQuestions& questions,
                                 client::Effects& effects) {
  for (auto& [claim, given] : group_claims_)
    if (!given.due && !questions.is_used(claim)) {
      given.due = true;
      claim_writes_.want(claim, now);
    }
  while (in_flight_ < kEvictionsInFlightMax) {
    const std::optional<api::ObjectKey> key = claim_writes_.next(now);
    if (!key) return;
    const api::ResourceClaim* claim = view.claims.find(key->ns, key->name);
    if (!claim || claim->meta.uid != group_claims_.at(*key).uid || !claim->allocation) {
      claim_writes_.erase(*key);
    } else if (questions.is_used(*key) || !std::ranges::all_of(claim->reserved_for, api::is_group)) {
      claim_writes_.write_done(*key, false, now);
    } else {
      effects.chains.push_back({*key, {client::clear_allocation(*claim)}});
      ++in_flight_;
    }
  }
}

client::Effects Evictions::due(const client::View& view, Time now, const EvictionQuestions& questions) {
  client::Effects effects;
  effects.events = std::exchange(events_, {});
  while (in_flight_ < kEvictionsInFlightMax) {
    const std::optional<api::ObjectKey> key = writes_.next(now);
    if (!key) break;
    Eviction& eviction = evictions_.at(*key);
    std::optional<client::Chain> chain;
    if (!eviction.accepted) chain = chain_of(view, eviction, now, questions.withdraw);
    const api::Pod* pod = chain || eviction.accepted ? nullptr : placed(view, eviction.pod);
    if (chain) {
      effects.chains.push_back(*std::move(chain));
      eviction.asked = eviction.pod.uid;
      eviction.event = preempted(eviction.pod, *eviction.plans.begin(), plans_.at(*eviction.plans.begin()));
      ++in_flight_;
    } else if (pod && !pod->bound()) {
      writes_.write_done(*key, false, now);  // it may get bound all the same
    } else {
      writes_.erase(*key);
    }
  }
  give_claims_back(view, now, questions, effects);
  if (!effects.chains.empty()) effects.decision_id = kEvictionWrites;
  return effects;
}

std::vector<EntityKey> Evictions::write_done(const client::ChainOutcome& outcome, Time now) {
  if (in_flight_ > 0) --in_flight_;
  if (outcome.key.kind == api::Kind::ResourceClaim) {
    if (outcome.ok)
      claim_writes_.erase(outcome.key);
    else
      claim_writes_.write_done(outcome.key, false, now);
    return {};
  }
  const auto found = evictions_.find(outcome.key);
  if (found == evictions_.end() || !writes_.write_done(outcome.key, outcome.ok, now)) return {};
  Eviction& eviction = found->second;
  const bool is_same = std::exchange(eviction.asked, {}) == eviction.pod.uid;
  if (outcome.ok) events_.push_back(std::move(eviction.event));
  eviction.accepted |= outcome.ok && is_same;
  const std::vector<EntityKey> refused(eviction.plans.begin(), eviction.plans.end());
  if (refused.empty()) forget_eviction(outcome.key);
  if (outcome.ok || !is_same || !refused_by_budget(outcome.last)) return {};
  for (const EntityKey& key : refused) forget(key);
  return refused;
}

std::optional<Time> Evictions::next_time() const {
  std::optional<Time> next;
  for (const auto* times : {&ends_, &delays_})
    if (!times->empty() && (!next || times->begin()->first < *next)) next = times->begin()->first;
  for (const RetriedWrites* writes : {&writes_, &claim_writes_})
    if (in_flight_ < kEvictionsInFlightMax)
      if (const auto write = writes->next_time(); write && (!next || *write < *next)) next = write;
  return next;
}

}  // namespace berth::scheduling

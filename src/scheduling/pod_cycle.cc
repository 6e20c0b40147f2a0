#include "scheduling/pod_cycle.h"

#include <algorithm>

#include "base/assert.h"
#include "dra/allocator.h"

namespace berth::scheduling {

void PodCycle::begin(Attempt& attempt, const World& world, const api::Pod& pod, std::span<const NodeId> nodes,
                     std::span<const NodeId> avoid) const {
  attempt.world = &world;
  attempt.pod = &pod;
  attempt.pod_id = world.cluster.find_pod(pod.meta.ns, pod.meta.name);
  attempt.candidates.assign(nodes.begin(), nodes.end());
  attempt.scores.clear();
  attempt.diagnosis.clear();
  attempt.claims.clear();
  attempt.ask.reset();
  attempt.allocations.clear();
  if (avoid.empty()) return;
  const ReasonId reason = attempt.diagnosis.reason(kAvoidedReason);
  attempt.keep_if([&](NodeId node) {
    if (std::find(avoid.begin(), avoid.end(), node) == avoid.end()) return true;
    attempt.diagnosis.refuse(node, Refusal::Unschedulable, reason);
    return false;
  });
}

void PodCycle::filter_only(Attempt& attempt) const {
  for (const auto& filter : plugins_.filters) {
    if (attempt.candidates.empty() || attempt.over()) return;
    filter->filter(attempt);
  }
}

NodeId PodCycle::choose(Attempt& attempt) const {
  if (attempt.candidates.empty()) return NodeId::none();
  for (const auto& prefilter : plugins_.prefilters) {
    prefilter->prepare(attempt);
    if (attempt.over()) return NodeId::none();
  }
  filter_only(attempt);
  if (attempt.candidates.empty() || attempt.over()) return NodeId::none();
  attempt.scores.assign(attempt.candidates.size(), 0);
  if (attempt.candidates.size() > 1)
    for (const PluginSet::Weighted& row : plugins_.scores) row.score->score(attempt, row.weight);
  return best_accepted(attempt);
}

NodeId PodCycle::best_accepted(Attempt& attempt) const {
  std::vector<const CostlyFilter*> wanted;
  for (const auto& filter : plugins_.costly_filters)
    if (filter->wanted(attempt)) wanted.push_back(filter.get());
  const std::vector<std::int64_t>& scores = attempt.scores;
  if (wanted.empty())
    return attempt.candidates[std::max_element(scores.begin(), scores.end()) - scores.begin()];

  std::vector<std::uint32_t> order(scores.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto worse = [&](std::uint32_t a, std::uint32_t b) {
    return scores[a] != scores[b] ? scores[a] < scores[b] : a > b;
  };
  std::make_heap(order.begin(), order.end(), worse);
  while (!order.empty()) {
    std::pop_heap(order.begin(), order.end(), worse);
    const NodeId node = attempt.candidates[order.back()];
    order.pop_back();
    const auto accepts = [&](const CostlyFilter* filter) { return filter->accepts(attempt, node); };
    if (std::all_of(wanted.begin(), wanted.end(), accepts)) return node;
    if (attempt.over()) return NodeId::none();
  }
  return NodeId::none();
}

void PodCycle::reserve(Attempt& attempt, NodeId node, model::Ledger::Transaction& transaction) const {
  model::Cluster& cluster = attempt.world->cluster;
  transaction.place(attempt.pod_id, node, cluster.pod(attempt.pod_id).requests);
  std::size_t next = 0;
  for (ClaimChoice& choice : attempt.claims) {
    if (choice.allocation) continue;
    BERTH_ASSERT(next < attempt.allocations.size(), "every claim of the ask has an allocation");
    choice.allocation = attempt.allocations[next++];
    transaction.allocate(attempt.pod_id, choice.claim, cluster.hold_for(choice.allocation));
  }
}

}  // namespace berth::scheduling

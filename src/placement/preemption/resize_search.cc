#include "placement/preemption/resize_search.h"

#include <algorithm>

#include "placement/free_resources.h"

namespace berth::placement {

// A resize changes no pod slot, and nobody's pods change what a node without the resource has.
bool resize_fits(const model::Cluster& cluster, PodId pod) {
  const NodeId node = cluster.ledger().node_of(pod);
  return std::ranges::all_of(cluster.ledger().charge(pod).requests, [&](const model::ResourceAmount& asked) {
    const bool counts = asked.amount > 0 && model::is_asked(asked.resource) &&
                        asked.resource != model::kPodSlots &&
                        model::amount_in(cluster.node(node).allocatable, asked.resource) > 0;
    return !counts || free_of(cluster.node(node), cluster.ledger().node(node), asked.resource) >= 0;
  });
}

std::optional<VictimPlan> find_resize_victims(const SchedulingContext& context, const api::Pod& pod,
                                              model::Ledger::Transaction& transaction) {
  const PodId self = context.cluster.find_pod(pod.meta.ns, pod.meta.name);
  const NodeId node = context.cluster.ledger().node_of(self);
  VictimUnits search(context, {priority_of(context.view, pod), self}, transaction);
  VictimUnits::Units units;
  VictimUnits::UnitSet removed;
  const auto fits_without = [&](const VictimUnits::UnitSet& without) {
    search.remove(units, without);
    return resize_fits(context.cluster, self);
  };
  do {
    search.restore();
    units = search.on({&node, 1});
    const bool enough = !units.empty() && fits_without(all_of(units));
    if (enough)
      removed = reprieve(all_of(units), all_of(units), fits_without,
                         [](const VictimUnits::UnitSet&) { return true; });
    if (enough && context.victim_scoring == VictimScoring::LeastLostWork)
      removed = cheapest_set({removed, search.cost_of(units, removed)}, all_of(units),
                             {fits_without,
                              [&](const VictimUnits::UnitSet& gone) { return search.cost_of(units, gone); },
                              [] { return true; }})
                    .units;
    search.restore();
    if (!enough) return std::nullopt;
  } while (search.takes_broken_gangs_whole(units, removed));
  const VictimUnits::Units victims = search.sorted(units, removed);
  VictimPlan plan;
  plan.cost = search.cost_of(units, removed);
  search.name_victims(victims, plan);
  return plan;
}

}  // namespace berth::placement

#include "placement/preemption/lost_work.h"

#include <algorithm>

#include "api/kinds/core_parts.h"
#include "api/types/gpu_share.h"
#include "placement/nearest_annotation.h"
#include "placement/refusal/preemption_refusal.h"

namespace berth::placement {

LastCheckpoint last_checkpoint(const client::View& view, const api::Pod& pod, Time now) {
  const std::string_view text = nearest_annotation(view, pod, kLastCheckpointAnnotation);
  if (text.empty()) return {};
  const Result<Time> at = parse_time(text);
  if (!at || *at > now + kCheckpointSkewMax) return {std::nullopt, true};
  return {*at, false};
}

// What devices of claims serve is no resource of the node.
std::int64_t held_devices(const model::Cluster& cluster, PodId pod) {
  const model::PodCharge& charge = cluster.ledger().charge(pod);
  std::int64_t devices = 0;
  for (const model::ResourceAmount& one : charge.requests)
    if (model::kGpu.index() <= one.resource.index() &&
        cluster.node(charge.node).allocatable[one.resource] > 0 &&
        api::is_extended_resource(cluster.resources().text(one.resource)))
      devices += std::min(one.amount, cluster.node(charge.node).allocatable[one.resource]);
  for (const model::ClaimId claim : charge.claims)
    if (const auto& reservation = cluster.ledger().reservation(claim))
      devices += static_cast<std::int64_t>(reservation->devices.size());
  const std::int64_t shares = charge.gpu_share ? static_cast<std::int64_t>(charge.gpu_share->groups.size()) *
                                                     charge.gpu_share->hundredths
                                               : 0;
  return devices * api::kWholeGpu + shares;
}

__int128 lost_work(const SchedulingContext& context, PodId id) {
  const bool counts = context.victim_scoring == VictimScoring::LeastLostWork && context.now.is_set();
  const auto& live = context.cluster.pod(id).live;
  if (!counts || !live || !live->started.is_set()) return 0;
  const Time saved =
      std::max(live->started, last_checkpoint(context.view, *live, context.now).at.value_or(live->started));
  const std::int64_t seconds = std::max<std::int64_t>(0, (context.now - saved).whole_seconds());
  return static_cast<__int128>(held_devices(context.cluster, id)) * seconds;
}

}  // namespace berth::placement

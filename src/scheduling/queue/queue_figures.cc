#include "scheduling/queue/queue_figures.h"

#include <bit>

#include "api/metric_table.h"

namespace berth::scheduling {
namespace {

constexpr std::array<std::string_view, kIncomingQueueCount> kQueueNames = {"active", "backoff",
                                                                           "unschedulable", "gated"};
// QueueEvent's, then those of ClusterEvent by bit.
constexpr std::array<std::string_view, kQueueEventCount + placement::kClusterEventCount> kEventNames = {
    "UnscheduledPodAdd",
    "ScheduleAttemptFailure",
    "BackoffComplete",
    "PopFromBackoffQ",
    "ForceActivate",
    "UnschedulableTimeout",
    "NodeAdd",
    "NodeDelete",
    "NodeUpdateNodeAllocatable",
    "NodeUpdateNodeLabel",
    "NodeUpdateNodeTaint",
    "NodeUpdateNodeDeclaredFeature",
    "NodeUpdate",
    "AssignedPodDelete",
    "resource.k8s.io/ResourceSliceUpdate",
    "resource.k8s.io/DeviceClassUpdate",
    "resource.k8s.io/ResourceClaimUpdate",
    "PersistentVolumeUpdate",
    "AssignedPodAdd",
    "AssignedPodUpdate",
    "NamespaceUpdate",
    "AssignedPodUpdatePodScaleDown",
    "ServiceUpdate",
};

}  // namespace

void QueueFigures::count_change(IncomingQueue queue, std::uint32_t events) {
  ++at(queue, kQueueEventCount + static_cast<std::size_t>(std::countr_zero(events)));
}

void QueueFigures::write_metrics(MetricsText& text) const {
  text.family(api::family_of(api::Metric::IncomingPods));
  for (std::size_t queue = 0; queue < counts_.size(); ++queue)
    for (std::size_t event = 0; event < kEventCount; ++event)
      if (counts_[queue][event] > 0)
        text.sample({kQueueNames[queue], kEventNames[event]}, counts_[queue][event]);
}

}  // namespace berth::scheduling

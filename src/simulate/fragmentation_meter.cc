#include "simulate/fragmentation_meter.h"

#include "api/types/gpu_share.h"
#include "placement/fragmentation/learned_workload.h"
#include "placement/plugins/gpu_fragmentation.h"
#include "placement/plugins/node_inclusion.h"

namespace berth::simulate {
namespace {

constexpr double kUnusablePerGpu = double{placement::kMixParts} * api::kWholeGpu;

}  // namespace

void FragmentationMeter::add(const placement::GpuDemand& asked, const std::shared_ptr<const api::Pod>& pod) {
  if (asked.devices > 0 && asked.hundredths == 0) return;
  placement::WorkloadDemand demand{asked};
  const std::string key = placement::affinity_key_of(*pod);
  if (!key.empty()) {
    const auto [at, is_new] =
        affinity_index_.try_emplace(key, static_cast<std::uint32_t>(affinity_pods_.size()) + 1);
    if (is_new && affinity_pods_.size() == kMeteredAffinitiesMax)
      at->second = 0;
    else if (is_new)
      affinity_pods_.push_back(pod);
    demand.affinity = at->second;
  }
  demands_.push_back(demand);
}

std::uint64_t FragmentationMeter::affinities_of(const api::Node& node) const {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < affinity_pods_.size(); ++i)
    if (placement::plugins::matches_node_affinity(*affinity_pods_[i], node)) bits |= std::uint64_t{1} << i;
  return bits;
}

double FragmentationMeter::percent(const model::Cluster& cluster) {
  double unusable = 0, gpus = 0;
  for (const auto& [name, id] : cluster.live_nodes()) {
    const model::NodeRow& row = cluster.node(id);
    const std::int64_t offered = model::amount_in(row.allocatable, model::kGpu);
    if (offered <= 0) continue;
    gpus += static_cast<double>(offered);
    const auto [known, is_new] = bits_.try_emplace(row.labels_stamp);
    if (is_new) known->second = affinities_of(*row.live);
    unusable +=
        static_cast<double>(mix_.unusable(placement::plugins::gpu_room_of(cluster, id), known->second));
  }
  return gpus == 0 ? 0 : 100 * unusable / kUnusablePerGpu / gpus;
}

}  // namespace berth::simulate

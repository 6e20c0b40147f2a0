// GpuFragmentation: prefers the node that stays most useful for the pods with GPUs that the cluster gets.
// Says nothing while too few of them exist to know. It outranks other scores, except where a pod has
// preferences or is spread, and on nodes that ask by their taints to be avoided. Source:
// docs/placement-quality.md.
#include "placement/plugins/gpu_fragmentation.h"

#include <algorithm>

#include "api/types/gpu_share.h"
#include "placement/free_resources.h"
#include "placement/plugins/node_inclusion.h"
#include "placement/plugins/plugins.h"
#include "placement/plugins/spread.h"

namespace berth::placement::plugins {
namespace {

constexpr std::string_view kGpuFragmentation = "GpuFragmentation";
// The middle of the scale, so that no score is negative.
constexpr std::int64_t kNeutralPoints = 100 * kPointsPerGpu;
// For a pod with preferences: one GPU is worth a score of 1 to 100.
constexpr std::int64_t kPointsOfPreference = 1000;

// Of its own, or because default constraints spread the pods of its Service or controller.
bool prefers_nodes(const PodQuery& query) {
  const api::Pod& pod = *query.pod;
  return !pod.preferred_nodes.empty() || !pod.preferred_spread.empty() || !pod.preferred_affinity.empty() ||
         query.slots.read<DefaultSpread>().replicas;
}

class GpuWorkloadOfPod final : public PreFilter {
 public:
  std::string_view name() const override { return kGpuFragmentation; }
  void prepare(PodQuery& query, Diagnosis&) const override {
    GpuWorkload& workload = query.slots.write<GpuWorkload>();
    const GpuDemand asked = gpu_demand_of(query.context->cluster.pod(query.pod_id));
    if (asked.devices > 0) workload.learned.pod_arrives(*query.context);
    if (!workload.learned.known()) return;
    workload.demand = asked;
    workload.has_preferences = prefers_nodes(query);
    if (asked.devices == 0) return;
    workload.any_model = workload.learned.accepts_any_model(*query.pod);
    if (asked.hundredths == 0) workload.memory_mib = api::gpu_share_request(query.pod->meta)->memory_mib;
  }
};

class GpuFragmentation final : public Score {
 public:
  std::string_view name() const override { return kGpuFragmentation; }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    sign_gpu_workload(query, signature);
    if (query.slots.read<GpuWorkload>().learned.known()) sign_tolerations(*query.pod, signature);
    return Signing::Signed;
  }
  void score(const PodQuery& query, std::span<const NodeId> nodes, std::int64_t weight,
             std::span<std::int64_t> scores) const override {
    const GpuWorkload& workload = query.slots.read<GpuWorkload>();
    if (!workload.learned.known()) return;
    const std::int64_t scale = workload.has_preferences ? kPointsOfPreference : 1;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const model::NodeRow& row = query.context->cluster.node(nodes[i]);
      if (row.tainted && untolerated_soft_taints(*query.pod, *row.live) > 0) continue;
      const std::int64_t points = kNeutralPoints + points_on(query, workload, nodes[i]);
      scores[i] += weight * (std::clamp<std::int64_t>(points, 0, 2 * kNeutralPoints) / scale);
    }
  }

 private:
  static std::int64_t points_on(const PodQuery& query, const GpuWorkload& workload, NodeId node) {
    const model::Cluster& cluster = query.context->cluster;
    const bool has_gpus = model::amount_in(cluster.node(node).allocatable, model::kGpu) > 0;
    if (!has_gpus) return kPackingPoints;
    const std::optional<ScoredDemand> scored = demand_on(query, node);
    if (!scored) return 0;
    return workload.learned.points_on(gpu_room_of(cluster, node),
                                      workload.learned.affinities_of(cluster, node), *scored);
  }
};

}  // namespace

std::optional<ScoredDemand> demand_on(const PodQuery& query, NodeId node) {
  const GpuWorkload& workload = query.slots.read<GpuWorkload>();
  ScoredDemand scored{workload.demand, workload.any_model};
  if (workload.memory_mib > 0) {
    const auto hundredths =
        api::gpu_hundredths({0, workload.memory_mib, 1}, query.context->cluster.node(node).live->meta.labels);
    if (!hundredths) return std::nullopt;
    scored.demand.hundredths = *hundredths;
  }
  return scored;
}

GpuRoom gpu_room_of(const model::Cluster& cluster, NodeId node) {
  const model::NodeRow& row = cluster.node(node);
  const model::NodeUse& use = cluster.ledger().node(node);
  const auto bounded = [](std::int64_t amount, std::int64_t most) {
    return std::clamp<std::int64_t>(amount, 0, most);
  };
  GpuRoom room(bounded(free_of(row, use, model::kCpu), kCpuMost),
               bounded(free_of(row, use, model::kGpu), kGpusMost));
  for (const model::GpuGroupUse& group : use.gpu_groups) room.add_shared(api::kWholeGpu - group.hundredths);
  return room;
}

void sign_gpu_workload(const PodQuery& query, PodSignature& signature) {
  const GpuWorkload& workload = query.slots.read<GpuWorkload>();
  if (!workload.learned.known() || !signature.begin("GpuWorkload")) return;
  signature.put(workload.learned.digest());
  for (const std::int64_t number :
       {workload.demand.cpu, workload.demand.devices, std::int64_t{workload.demand.hundredths},
        std::int64_t{workload.any_model}, std::int64_t{workload.has_preferences}})
    signature.put(static_cast<std::uint64_t>(number));
  signature.put(workload.memory_mib);
}

std::unique_ptr<PreFilter> gpu_workload() {
  return std::make_unique<GpuWorkloadOfPod>();
}
std::unique_ptr<Score> gpu_fragmentation() {
  return std::make_unique<GpuFragmentation>();
}

}  // namespace berth::placement::plugins

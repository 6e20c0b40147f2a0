// GpuFragmentation: prefers the node that stays most useful for the pods with GPUs that the cluster gets.
// GPUs are the resource, or devices that the pod claims: whole ones of a class, or partitions and shares.
// Says nothing while too few of them exist to know. It outranks other scores, except where a pod has
// preferences or is spread, and on nodes that ask by their taints to be avoided. Source:
// docs/placement-quality.md.
#include "placement/plugins/gpu_fragmentation.h"

#include <algorithm>

#include "api/types/gpu_share.h"
#include "placement/free_resources.h"
#include "placement/plugins/dynamic_resources.h"
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

bool is_known(const GpuWorkload& workload) {
  return workload.of_class || workload.learned.known();
}

class GpuWorkloadOfPod final : public PreFilter {
 public:
  std::string_view name() const override { return kGpuFragmentation; }
  void prepare(PodQuery& query, Diagnosis&) const override {
    GpuWorkload& workload = query.slots.write<GpuWorkload>();
    const GpuDemand asked = gpu_demand_of(query.context->cluster.pod(query.pod_id));
    if (asked.devices == 0) learn_of_claims(query, workload);
    if (workload.of_class) return;
    if (asked.devices > 0) workload.learned.pod_arrives(*query.context, query.pod_id, resource_gpus());
    if (!workload.learned.known()) return;
    workload.demand = asked;
    workload.has_preferences = prefers_nodes(query);
    if (asked.devices == 0) return;
    workload.any_model = workload.learned.accepts_any_model(*query.pod);
    if (asked.hundredths == 0) workload.memory_mib = api::gpu_share_request(query.pod->meta)->memory_mib;
  }

 private:
  static void learn_of_claims(const PodQuery& query, GpuWorkload& workload) {
    const SchedulingContext& context = *query.context;
    if (context.cluster.live_nodes().size() > kCountedNodesMax) return;
    learn_of_driver(query, workload);
    if (workload.of_class) return;
    const std::string device_class = unallocated_class_of(context.view, *query.pod);
    if (device_class.empty()) return;
    const auto known = workload.of_classes.find(device_class);
    if (known == workload.of_classes.end() && workload.of_classes.size() == kLearnedClassesMax) return;
    std::shared_ptr<const ClaimedDevices> claimed = ClaimedDevices::of(context, device_class);
    if (!claimed) return;
    LearnedWorkload& learned = workload.of_classes[device_class];
    learned.pod_arrives(context, query.pod_id, *claimed);
    if (!learned.known()) return;
    score_by(query, workload, learned, claimed->demand_of(context, context.cluster.pod(query.pod_id)));
    workload.claimed = std::move(claimed);
  }
  static void learn_of_driver(const PodQuery& query, GpuWorkload& workload) {
    const SchedulingContext& context = *query.context;
    if (query.pod->claims.empty() || !context.cluster.slice_traits().have_parts()) return;
    const std::string driver = divided_driver_of(context, *query.pod);
    if (driver.empty()) return;
    const auto known = workload.of_drivers.find(driver);
    if (known == workload.of_drivers.end() && workload.of_drivers.size() == kLearnedClassesMax) return;
    DriverWorkload& of_driver = workload.of_drivers[driver];
    of_driver.pod_arrives(context, query.pod_id, driver);
    if (!of_driver.learned.known()) return;
    const GpuDemand asked = of_driver.devices->demand_of(context, context.cluster.pod(query.pod_id));
    workload.kinds = asked.devices > 0 ? of_driver.devices->kinds(context) : nullptr;
    if (workload.kinds) score_by(query, workload, of_driver.learned, asked);
  }
  static void score_by(const PodQuery& query, GpuWorkload& workload, const LearnedWorkload& learned,
                       const GpuDemand& asked) {
    workload.demand = asked;
    workload.any_model = learned.accepts_any_model(*query.pod);
    workload.has_preferences = prefers_nodes(query);
    workload.of_class = &learned;
  }
};

class GpuFragmentation final : public Score {
 public:
  std::string_view name() const override { return kGpuFragmentation; }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    sign_gpu_workload(query, signature);
    if (is_known(query.slots.read<GpuWorkload>())) sign_tolerations(*query.pod, signature);
    return Signing::Signed;
  }
  void score(const PodQuery& query, std::span<const NodeId> nodes, std::int64_t weight,
             std::span<std::int64_t> scores) const override {
    const GpuWorkload& workload = query.slots.read<GpuWorkload>();
    if (!is_known(workload)) return;
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
    if (workload.kinds) return points_by_units(query, workload, node);
    if (workload.of_class) return points_by_claims(query, workload, node);
    const model::Cluster& cluster = query.context->cluster;
    const bool has_gpus = model::amount_in(cluster.node(node).allocatable, model::kGpu) > 0;
    if (!has_gpus) return kPackingPoints;
    const std::optional<ScoredDemand> scored = demand_on(query, node);
    if (!scored) return 0;
    return workload.learned.points_on(gpu_room_of(cluster, node),
                                      workload.learned.affinities_of(cluster, node), *scored);
  }
  // Of a node with too few free devices the least.
  static std::int64_t points_by_claims(const PodQuery& query, const GpuWorkload& workload, NodeId node) {
    const SchedulingContext& context = *query.context;
    const auto room = workload.claimed->room_of(context, node);
    if (!room) return 0;
    if (room->fit(api::kWholeGpu).devices < workload.demand.devices) return -kNeutralPoints;
    return workload.of_class->points_on(*room, workload.of_class->affinities_of(context.cluster, node),
                                        {workload.demand, workload.any_model});
  }
  // Of a node that has no such devices the least.
  static std::int64_t points_by_units(const PodQuery& query, const GpuWorkload& workload, NodeId node) {
    const SchedulingContext& context = *query.context;
    const auto& chosen = claims_of(query).allocation_request;
    if (!chosen) return 0;
    const auto units = context.allocator.units_around(*workload.kinds, *chosen, node);
    if (!units) return 0;
    if (!units->fits) return -kNeutralPoints;
    const std::int64_t cpu =
        free_of(context.cluster.node(node), context.cluster.ledger().node(node), model::kCpu);
    return workload.of_class->points_on(*units, std::clamp<std::int64_t>(cpu, 0, kCpuMost),
                                        workload.of_class->affinities_of(context.cluster, node),
                                        {workload.demand, workload.any_model});
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
  if (!is_known(workload) || !signature.begin("GpuWorkload")) return;
  signature.put(workload.of_class ? workload.of_class->digest() : workload.learned.digest());
  signature.put(workload.claimed ? workload.claimed->signature() : 0);
  const auto& chosen = claims_of(query).allocation_request;
  signature.put(workload.kinds ? workload.kinds->signature() : 0);
  signature.put(workload.kinds && chosen ? chosen->signature() : 0);
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

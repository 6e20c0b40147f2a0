// What pods with GPUs the cluster gets, learned from those that exist, and what a placement costs them.
//
// The mix is that of the newest pods of the view, so a restart learns the same mix from the live objects. It
// changes only when another look finds a clearly different one: every change makes cached scores invalid.
// Owner: one CycleState, one thread. Cost: a look O(pods + nodes x affinities), once in many pods with GPUs;
// an arrival O(log pods that arrived at the same time); points_on() as two DemandMix::unusable(). Memory: 16
// bytes a node, and a row for each pod that arrived at the latest time, at most kArrivalsKeptMax. Source: FGD
// for the measure; docs/placement-quality.md.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "placement/fragmentation/gpu_room.h"
#include "placement/pod_query.h"

namespace berth::placement {

// Pods of one look: the newest ones. With fewer than the least nothing is known.
inline constexpr std::size_t kWorkloadPodsMax = 1024;
inline constexpr std::size_t kWorkloadPodsMin = 64;
// Node affinities that are distinguished, the most frequent ones; other pods count as if they accepted all
// nodes.
inline constexpr std::size_t kWorkloadAffinitiesMax = 32;
// Of one time; a pod that comes back after so many others counts again.
inline constexpr std::size_t kArrivalsKeptMax = 16'384;
// A look replaces the mix if more pods than this ask for something else than before.
inline constexpr std::int64_t kMixChangePercent = 10;

// Points that one GPU is worth, and the weights of what is added to FGD's measure. Measured on the public
// trace (docs/placement-quality.md).
inline constexpr std::int64_t kPointsPerGpu = 100'000;
inline constexpr std::int64_t kPackingPoints = kPointsPerGpu / 20;   // between an empty node and a full one
inline constexpr std::int64_t kStrandedPoints = kPointsPerGpu / 10;  // a GPU without CPU for it
inline constexpr std::int64_t kScarcityPoints = kPointsPerGpu / 2;   // a GPU of a model of mean demand
// A model that is scarcer than this counts as this: all sums fit.
inline constexpr std::int64_t kScarcityMillionthsMax = 100'000 * kMixParts;

// What a live pod asks for, at most kCpuMost and kGpusMost. `hundredths` is 0 for a share by memory, which is
// another one on every model.
GpuDemand gpu_demand_of(const model::PodRow& row);
// Equal exactly for pods with equal spec.nodeSelector and required node affinity; empty: it has neither.
std::string affinity_key_of(const api::Pod& pod);

// The devices that a workload is about: what pods ask of them, and how many nodes have.
class WorkloadDevices {
 public:
  WorkloadDevices() = default;
  WorkloadDevices(const WorkloadDevices&) = delete;
  WorkloadDevices& operator=(const WorkloadDevices&) = delete;
  virtual ~WorkloadDevices() = default;
  // False: the live pod asks for none of them, as a look at it alone says.
  virtual bool may_ask(const model::PodRow& row) const = 0;
  // Of a live pod; without any devices it is not learned from.
  virtual GpuDemand demand_of(const SchedulingContext& context, const model::PodRow& row) const = 0;
  // At most kGpusMost.
  virtual std::int64_t offered(const SchedulingContext& context, model::NodeId node) const = 0;
};
// The resource nvidia.com/gpu, whole ones and shares.
const WorkloadDevices& resource_gpus();

// What the pod under decision asks for.
struct ScoredDemand {
  GpuDemand demand;
  bool any_model = false;  // its node affinity excludes no node with GPUs
};

class LearnedWorkload {
 public:
  // A pod with such devices is about to be decided: looks at the view again if that is due. A group tries its
  // members on many domains: a pod counts once at one time.
  void pod_arrives(const SchedulingContext& context, model::PodId pod, const WorkloadDevices& devices);
  // The two parts of it. Whether a look is due, which also counts the pod; then the look.
  bool is_due(const SchedulingContext& context, model::PodId pod);
  void look(const SchedulingContext& context, const WorkloadDevices& devices);
  // Knows nothing until the next look.
  void forget() { become({}); }
  // False: too few pods with GPUs exist.
  bool known() const { return !mix_.empty(); }
  const DemandMix& mix() const { return mix_; }
  // Equal digests give equal points.
  std::uint64_t digest() const { return digest_; }
  // Of a pod with GPUs.
  bool accepts_any_model(const api::Pod& pod) const;
  std::uint64_t affinities_of(const model::Cluster& cluster, model::NodeId node) const;
  // The larger, the more useful the rest of the node: FGD's measure. It prefers a full node to an empty one,
  // no GPU without CPU for it, and no scarce model for a pod that takes any. `room`: before the placement,
  // which fits.
  std::int64_t points_on(const GpuRoom& room, std::uint64_t affinities, const ScoredDemand& scored) const;
  // The same of devices that drivers divide; `units` fits. `cpu`: free before the placement, millicores.
  std::int64_t points_on(const dra::UnitsOfChoice& units, std::int64_t cpu, std::uint64_t affinities,
                         const ScoredDemand& scored) const;
  // How full the node is then: 0 for the largest empty one, kPackingPoints for a full one.
  std::int64_t packing_points(const GpuRoom& after) const;

 private:
  struct Affinity {
    std::string key;                       // its bytes
    std::shared_ptr<const api::Pod> pod;   // with it
    bool accepts_all = false;              // nodes with GPUs
    std::int64_t scarcity_millionths = 0;  // its demand for each GPU that it accepts; 1: the cluster's mean
  };
  struct NodeAffinities {
    std::uint64_t labels_stamp = 0;
    std::uint64_t bits = 0;
  };
  struct Arrivals {
    Time at;
    std::set<model::PodId> pods;  // at that time
    std::uint64_t until_look = 0;
  };
  using Counts = std::map<WorkloadDemand, std::int64_t>;
  struct Sample;

  // Before a placement, or after it.
  struct Rest {
    std::int64_t unusable = 0;    // in millionths of a hundredth of a GPU
    std::int64_t cpu = 0;         // millicores
    std::int64_t hundredths = 0;  // free, of all GPUs
  };
  std::int64_t points_of(const Rest& before, const Rest& after, std::uint64_t affinities, std::int64_t gpus,
                         bool any_model) const;
  std::int64_t packing_points(std::int64_t cpu, std::int64_t hundredths) const;
  std::vector<Affinity> affinities_in(const Sample& sample) const;
  void read_nodes(const SchedulingContext& context, const WorkloadDevices& devices, const Sample& sample);
  std::uint64_t match(const api::Node& node) const;
  bool differs(const LearnedWorkload& next) const;
  std::uint64_t digest_of_points() const;
  // All but the arrivals.
  void become(LearnedWorkload next);

  Arrivals arrivals_;
  std::vector<Affinity> affinities_;  // by key
  std::vector<NodeAffinities> nodes_;
  DemandMix mix_;
  std::int64_t cpu_per_gpu_ = 0;               // millicores, of the workload's mean pod
  std::int64_t cpu_most_ = 1, gpus_most_ = 1;  // of one node; hundredths
  Counts counts_;
  std::uint64_t digest_ = 0;
};

}  // namespace berth::placement

// The decisions of one plan, one after the other: each sees what the ones before have taken.
//
// Owner: one call of make_plan. Deterministic. Runs the scheduler's own cycles.
#pragma once

#include "base/random.h"
#include "dra/allocator.h"
#include "planning/offline_cluster.h"
#include "planning/plan.h"
#include "scheduling/group_cycle.h"
#include "scheduling/signature_cache.h"

namespace berth::planning {

// One turn: a pod that stands alone, or a group with its waiting pods.
struct Turn {
  std::int32_t priority = 0;
  Time created;
  std::string ns, name;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  bool of_group = false;
  const api::PodGroup* group = nullptr;  // null for a group that does not exist
};

// Pending pods and groups: priority descending, creation time, namespace/name.
std::vector<Turn> turns_of(const client::View& view, const model::Cluster& cluster);

class Planner {
 public:
  Planner(OfflineCluster& offline, const PlanOptions& options, dra::SelectorEvaluator& selectors);
  Plan run();

 private:
  // False when the pod cannot be tried now; the decision says why.
  bool may_be_tried(const api::Pod& pod, Decision& decision) const;
  void decide_pod(const api::Pod& pod, Decision& decision);
  void refuse_pod(const api::Pod& pod, std::span<const model::NodeId> nodes, Decision& decision);
  void decide_group(const Turn& turn, Decision& decision);
  void place_group(const scheduling::GroupInput& input, const scheduling::GroupOutcome& outcome,
                   Decision& decision);
  scheduling::GroupInput group_input(const Turn& turn) const;
  struct Chosen {
    const api::Pod& pod;
    model::NodeId node;
    const std::vector<scheduling::ClaimChoice>& claims;
    const model::NodeAllocatablePtr& node_allocatable;
  };
  void place(const Chosen& chosen, const api::BindGroup& group, const std::string& id, PlannedPod& planned);
  std::vector<Json> objects() const;

  OfflineCluster& offline_;
  const PlanOptions& options_;
  SeededRandom random_{0};
  dra::Allocator allocator_;
  scheduling::SchedulingContext context_;
  scheduling::PluginSet plugins_;
  scheduling::DomainIndex domains_;
  scheduling::PodCycle cycle_;
  scheduling::SignatureCache signature_cache_;
  scheduling::GroupCycle groups_;
  scheduling::CycleState state_;
  std::vector<Json> bind_requests_;
  std::vector<client::NamedKey> placed_;  // pods, in the order of their placing
  Plan plan_;
};

}  // namespace berth::planning

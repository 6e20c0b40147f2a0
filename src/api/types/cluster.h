// The other core kinds that decisions read: nodes, namespaces, leases, priority classes, pod groups.
#pragma once

#include "api/types/meta.h"
#include "api/types/pod.h"

namespace berth::api {

// An image on a node, by one of its names.
struct NodeImage {
  std::string name;
  std::int64_t bytes = 0;
  friend bool operator==(const NodeImage&, const NodeImage&) = default;
};

struct Node {
  RawPtr raw;
  ObjectMeta meta;
  bool unschedulable = false;
  bool disables_resize_preemption = false;  // spec.podPreemptionPolicy
  std::vector<Taint> taints;
  ResourceMap capacity;
  ResourceMap allocatable;
  std::vector<Condition> conditions;
  std::vector<std::string> declared_features;
  std::vector<NodeImage> images;  // sorted by name, each name once

  // Of the image with this name; 0: the node has it not.
  std::int64_t bytes_of_image(std::string_view name) const;
  // Whether it has a taint with the effect PreferNoSchedule.
  bool softly_tainted() const;
};

struct Namespace {
  RawPtr raw;
  ObjectMeta meta;
  std::string phase;
  std::vector<std::string> finalizers;  // spec.finalizers
};

// coordination.k8s.io/v1
struct Lease {
  RawPtr raw;
  ObjectMeta meta;
  std::string holder;
  std::int32_t duration_s = 0;
  Time renewed;
  std::int32_t transitions = 0;
};

// scheduling.k8s.io/v1
struct PriorityClass {
  RawPtr raw;
  ObjectMeta meta;
  std::int32_t value = 0;
  bool global_default = false;
  std::string preemption_policy;
};

struct GroupClaim {
  std::string name;
  std::string claim_name;
  std::string template_name;
};

// scheduling.k8s.io/v1beta1 PodGroup (KEP-4671, KEP-5732).
struct PodGroup {
  RawPtr raw;
  ObjectMeta meta;
  std::string parent;                      // spec.parentCompositePodGroupName
  std::string workload;                    // spec.workloadRef.workloadName
  std::optional<std::int32_t> gang_min;    // gang.minCount; absent for the basic policy
  std::vector<std::string> topology_keys;  // node label keys; all pods in one domain of each
  std::vector<GroupClaim> claims;
  std::int32_t priority = 0;
  std::string preemption_policy;
  std::string disruption_mode;  // single, all
  std::vector<Condition> conditions;

  // Members that must be placed together; 1 without a gang.
  std::int32_t minimum() const { return gang_min.value_or(1); }
};

// scheduling.k8s.io/v1alpha3 CompositePodGroup (KEP-6012): a group of groups.
struct CompositePodGroup {
  RawPtr raw;
  ObjectMeta meta;
  std::string parent;                      // spec.parentCompositePodGroupName; empty: a root
  std::string workload;                    // spec.workloadRef.workloadName
  std::optional<std::int32_t> gang_min;    // gang.minGroupCount; absent for the basic policy
  std::vector<std::string> topology_keys;  // as PodGroup's
  std::int32_t priority = 0;
  std::string preemption_policy;
  std::string disruption_mode;  // single, all
  std::vector<Condition> conditions;

  // Children that must be placed together; 1 without a gang.
  std::int32_t minimum() const { return gang_min.value_or(1); }
};

// The fields of any kind that garbage collection and namespace finalization need.
struct AnyObject {
  RawPtr raw;
  ObjectMeta meta;
};

Node decode_node(const Json& object, RawPtr raw);
Namespace decode_namespace(const Json& object, RawPtr raw);
Lease decode_lease(const Json& object, RawPtr raw);
PriorityClass decode_priority_class(const Json& object, RawPtr raw);
PodGroup decode_pod_group(const Json& object, RawPtr raw);
CompositePodGroup decode_composite_pod_group(const Json& object, RawPtr raw);

}  // namespace berth::api

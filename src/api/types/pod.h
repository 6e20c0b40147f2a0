// core/v1 Pod, as far as placement, binding and reporting need it.
#pragma once

#include "api/selectors.h"
#include "api/types/group_membership.h"
#include "api/types/node_allocatable.h"

namespace berth::api {

struct ContainerClaim {
  std::string name;     // of spec.resourceClaims
  std::string request;  // empty: every request of the claim
};

// What the node gives to a container or a pod that was resized in place. None: the status does not say.
// Source: KEP-1287, KEP-5419.
struct ReportedRequests {
  std::optional<ResourceMap> allocated, actual;
  friend bool operator==(const ReportedRequests&, const ReportedRequests&) = default;
};

struct Container {
  std::string name;
  std::string image;
  ResourceMap requests;
  ResourceMap limits;
  std::vector<ContainerClaim> claims;
  bool restartable_init = false;  // an init container with restartPolicy Always
  // Null: no more and no less than `requests`.
  std::shared_ptr<const ReportedRequests> reported;
};

// A node port that a container listens on.
struct HostPort {
  std::int32_t port = 0;
  std::string protocol;  // TCP, UDP, SCTP
  std::string ip;        // of the node; 0.0.0.0: every one
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

struct Toleration {
  std::string key;
  std::string op;  // Exists, Equal, Gt, Lt (of the taint's value, as numbers); empty means Equal
  std::string value;
  std::string effect;  // empty: all
  std::optional<std::int64_t> seconds;
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  Time added;
};
// "key=value:effect", as kubectl writes it; "key:effect" without a value.
std::string to_text(const Taint& taint);

// Canonical decimal: no leading zeros, no sign but '-', not "-0". The operand of Gt and Lt.
bool is_decimal_integer(std::string_view text);
bool tolerates(const Toleration& toleration, const Taint& taint);
bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);

// spec.resourceClaims[]: exactly one of the two names is set.
struct PodClaim {
  std::string name;
  std::string claim_name;
  std::string template_name;
};

// A volume of the pod that is a PersistentVolumeClaim.
struct PodVolume {
  std::string name;
  std::string claim_name;  // the PersistentVolumeClaim
  bool ephemeral = false;  // the claim is made for the pod, and belongs to it
};

struct PodClaimStatus {
  std::string name;
  std::string claim_name;  // empty: no claim was needed
  friend bool operator==(const PodClaimStatus&, const PodClaimStatus&) = default;
};

// A term of spec.affinity.podAffinity or podAntiAffinity.
struct PodAffinityTerm {
  LabelSelector pods;  // with the pod's own values of matchLabelKeys, without those of mismatchLabelKeys
  std::vector<std::string> namespaces;  // sorted; the pod's own if the term names and selects none
  std::optional<LabelSelector> namespace_selector;
  std::string topology_key;

  // Whether the term means a pod with these labels in a namespace with these labels.
  bool means(std::string_view ns, const StringMap& labels, const StringMap& namespace_labels) const;
  // Whether it means pods of some namespaces because of the labels of these.
  bool reads_namespaces() const { return namespace_selector && !namespace_selector->selects_everything(); }
};

// A preferred term; the weight of anti-affinity is negative.
struct PodPreference {
  std::int64_t weight = 0;
  PodAffinityTerm term;
};

// An entry of the node affinity that is preferred.
struct NodePreference {
  std::int64_t weight = 0;
  NodeSelector nodes;  // with one term
};

// An entry of spec.topologySpreadConstraints.
struct SpreadConstraint {
  std::string topology_key;
  std::int64_t max_skew = 1;
  std::int64_t min_domains = 1;
  LabelSelector pods;  // of the pod's namespace; with the pod's own values of matchLabelKeys
  bool honors_affinity = true;
  bool honors_taints = false;
};

struct Pod {
  RawPtr raw;
  ObjectMeta meta;

  std::string node_name;
  std::string scheduler_name;
  std::string preemption_policy;
  std::string priority_class;
  std::int32_t priority = 0;
  std::string restart_policy;
  std::int64_t termination_grace_s = 30;
  StringMap node_selector;
  std::optional<NodeSelector> required_node_affinity;
  std::vector<Toleration> tolerations;
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  std::vector<HostPort> host_ports;  // of containers and sidecars
  // Features that a node must declare in status.declaredFeatures; names of static lifetime. Source: KEP-5328.
  std::vector<std::string_view> required_features;
  std::vector<PodAffinityTerm> required_affinity, required_anti_affinity;
  std::vector<PodPreference> preferred_affinity;
  std::vector<NodePreference> preferred_nodes;
  // With whenUnsatisfiable: DoNotSchedule, and ScheduleAnyway.
  std::vector<SpreadConstraint> required_spread, preferred_spread;
  ResourceMap overhead;
  std::optional<ResourceMap> pod_level_requests, pod_level_limits;
  std::vector<std::string> scheduling_gates;
  std::vector<PodClaim> claims;
  std::vector<PodVolume> volumes;          // those that are claims
  std::vector<std::string> image_volumes;  // references of those that are images
  std::string group;  // its PodGroup: spec.schedulingGroup.podGroupName, else that of its labels
  GroupSource group_source = GroupSource::Kubernetes;  // who says so; of a pod without a group, Kubernetes

  std::string phase;
  Time started;  // status.startTime
  std::string nominated_node;
  std::vector<Condition> conditions;
  std::vector<PodClaimStatus> claim_statuses;
  std::string extended_claim;  // status.extendedResourceClaimStatus.resourceClaimName
  std::string only_gpu;        // the one GPU of a container with one, as its allocatedResourcesStatus has it
  NodeAllocatableClaims node_allocatable;
  // Of the whole pod; null: no more and no less than pod_level_requests.
  std::shared_ptr<const ReportedRequests> reported;
  bool resize_infeasible = false;  // its node will never have room for what the spec asks for

  bool finished() const { return phase == "Succeeded" || phase == "Failed"; }
  bool bound() const { return !node_name.empty(); }
};

// The pod's charge on a node, by the rules of core/v1 (docs/scheduling.md#requests), without the pod slot. It
// covers containers, init containers, sidecars, overhead, pod-level requests, and the node's report of a
// resize. `by_devices` is what its devices consume of the node; a pod-level request includes it. `floors`
// count for each container that does not name the resource.
ResourceMap effective_requests(const Pod& pod, const NodeAllocatableClaims& by_devices = {},
                               const ResourceMap& floors = {});
// Whether an update of the pod changes its charge. Cost: O(1) unless it may.
bool counts_differently(const Pod& before, const Pod& after);
// The amounts that pod-level requests must cover: all containers together, and the devices.
ResourceMap container_requests(const Pod& pod, const NodeAllocatableClaims& by_devices);
// The same sum of the containers' limits.
ResourceMap container_limits(const Pod& pod);

// The name of the ResourceClaim of a pod claim: from the spec, or from the status for one made from a
// template. Empty while unknown.
std::string claim_object_name(const Pod& pod, const PodClaim& claim);
// Whether the claim controller has recorded that this entry needs none.
bool needs_no_claim(const Pod& pod, const PodClaim& claim);

// Whether its node's kubelet puts a resize in place off for lack of room. Source: core/v1, PodResizePending.
bool is_resize_deferred(const Pod& pod);

Pod decode_pod(const Json& object, RawPtr raw);
Toleration decode_toleration(const Json& item);
Taint decode_taint(const Json& item);
Json to_json(const Toleration& toleration);

}  // namespace berth::api

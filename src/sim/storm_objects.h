// The objects of storms: a cluster of racks with several kinds of devices, and what users request of it.
//
// Pure. Device kinds, by their attribute `type`:
//   - `gpu`: whole ones that differ in model, memory, firmware, NUMA node, links and board; one on odd nodes
//     is degraded, by a taint;
//   - `mig-1g`, `vgpu` and `whole`: one more GPU a node, partitioned in one of these ways;
//   - `shared-nic` and `nic`: of the same lanes: shares of one, or the other;
//   - `uplink` (any node, shares) and `fabric` (any node, with binding conditions).
// A need is a row of storm_needs.h.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace berth::sim {

// Of each node, as nvidia.com/gpu: whole or shared.
inline constexpr int kStormNodeGpus = 2;
// How the names of pods begin that hold shared GPUs.
inline constexpr std::string_view kReservationPods = "kube-system/gpu-reservation-";

struct StormCluster {
  int racks = 3;
  int nodes_per_rack = 3;
  int gpus_per_node = 4;
  int cpus_per_node = 16;
  int fabric_cards = 4;
};

// A second namespace; its users have admin access to devices.
inline constexpr std::string_view kStormNamespace = "team-b";

// The fabric attaches exactly when the binder gives up.
inline constexpr std::string_view kReadyTooLate = "ready-after 60s";

std::string storm_node_name(int number);  // from 1
Json storm_node(const StormCluster& cluster, int number);
// The pool of one node: its counters' slice and its devices' slice. Devices named in `without` are left out.
std::vector<Json> storm_slices(const StormCluster& cluster, int number, std::int64_t generation,
                               const std::vector<std::string>& without);
// Objects that belong to no node: a namespace, device classes, claim templates, priority classes, slices.
std::vector<Json> storm_basics(const StormCluster& cluster);

// Names of namespaced objects may begin with a namespace: "team-b/pod-3".
//
// {name, group, need, cpuMillis, runS, priority, fabric, share, shareGpus, gpus, volumes, staysS} as a Pod.
// `staysS`: it tolerates a failed node for so many seconds. `need`: empty, or
// needs joined by "+", each of which is a row of storm_needs.h, "extended" (an extended resource) or
// "claim/NAME" (a claim that pods share).
Json storm_pod(const Json& words);
// The same words and {count} as a ReplicaSet of such pods, which run until they are deleted.
Json storm_replicas(const Json& words);
// {name, min, topology, priority, claim, parent} as a PodGroup; without `min` its policy is basic. Its
// members whose need is `claim` share one claim.
Json storm_group(const Json& words);
// {name, min, topology, priority, parent} as a CompositePodGroup; `min` counts groups.
Json storm_composite(const Json& words);
// {levels} as the Topology `default`: names of levels, "rack,host".
Json storm_topology(const Json& words);
// {name, target, kind, preferred, required, topology, ranks} as a PlacementPolicy about a group.
Json storm_policy(const Json& words);
// {name, min} as a PodDisruptionBudget for the pods of this group that have `staysS`.
Json storm_budget(const Json& words);
// {name, need} as a ResourceClaim; without `need` for one whole GPU.
Json storm_claim(const Json& words);

// Classes of volumes: `local` (storm_volume), and provisioned ones: `made` after 3 s, `slow` after 20 s,
// `flaky` (gives up on nodes 1 and 2), `now` (binds at once).
std::vector<Json> storm_volume_classes();
// {name, node} as a local PersistentVolume; {name, class} as a PersistentVolumeClaim.
Json storm_volume(const Json& words);
Json storm_volume_claim(const Json& words);
// Taints devices that are ill, and evicts their pods.
Json storm_health_policy();

}  // namespace berth::sim

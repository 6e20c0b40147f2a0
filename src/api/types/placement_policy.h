// PlacementPolicy of scheduling.berth.dev/v1alpha1: what is wished of the places of some groups, beyond what
// the groups themselves demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/types/topology.h"

namespace berth::api {

inline constexpr std::size_t kPreferredLevelsMax = kTopologyLevelsMax;
inline constexpr std::size_t kPlacedGroupsMax = 64;   // in a policy's status
inline constexpr std::size_t kPlacedDomainsMax = 32;  // of one of them
inline constexpr std::string_view kGroupsApi = "scheduling.k8s.io";
inline constexpr std::string_view kPolicyAccepted = "Accepted";  // condition

// The object that the policy is about: a group, its Workload, or an owner of them.
struct PlacementTarget {
  std::string group;  // of the API; empty: core
  std::string kind;
  std::string name;
  friend auto operator<=>(const PlacementTarget&, const PlacementTarget&) = default;
};
// "Job.batch/train"
std::string to_text(const PlacementTarget& target);
// Without the version of its API.
PlacementTarget target_of(const OwnerReference& owner);
// Of an object of any kind; of a Workload also the object that it is for (controllerRef).
std::vector<OwnerReference> owners_of_document(const Json& object);
// A PodGroup or a CompositePodGroup.
bool is_about_groups(const PlacementTarget& target);

struct PolicySegments {
  std::string level;
  std::optional<std::int64_t> min, max;  // pods per domain
};

struct PolicySameDevices {
  std::string claim;
  std::string attribute;
};

struct PlacementPolicy {
  RawPtr raw;
  ObjectMeta meta;
  PlacementTarget target;
  std::string topology;  // empty: kDefaultTopology
  std::string required;  // a level's name, or a label key; empty: none
  std::vector<std::string> preferred;
  std::optional<PolicySegments> segments;
  bool balanced = false;          // distribution
  bool contiguous_ranks = false;  // ranks
  std::optional<PolicySameDevices> same_devices;
  bool replaces_failed_nodes = false;  // replaceFailedNodes: WithinDomain
  Json status;                         // as stored: its writer compares

  std::string_view topology_name() const {
    return topology.empty() ? kDefaultTopology : std::string_view(topology);
  }
};

PlacementPolicy decode_placement_policy(const Json& object, RawPtr raw);

}  // namespace berth::api

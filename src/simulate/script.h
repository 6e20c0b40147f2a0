// What happens in one simulated run: the cluster at the start, what arrives and when, which nodes fail.
//
// Plain data, made from a scenario or a trace and a seed; the same seed gives the same script. Times count
// from the start of the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "planning/plan.h"

namespace berth::simulate {

// Objects of one script: pods and nodes first of all.
inline constexpr std::size_t kScriptObjectsMax = 2'000'000;

// A pod, a group with its pods, or a tree of groups: what the scheduler decides as one.
struct Arrival {
  Duration at;
  // How long each of its pods runs; none: for ever.
  std::optional<Duration> runs = {};
  // Equal for arrivals whose pods differ in name alone; empty: like no other. Of those that wait and have no
  // placed pod, only the first is tried within one instant.
  std::string alike = {};
  std::vector<planning::Document> objects;  // pods, their groups and claims
};

struct NodeFailure {
  Duration at;
  std::optional<Duration> lasts = {};  // none: it stays away
  std::vector<std::string> nodes;
};

struct Script {
  std::vector<planning::Document> objects;   // nodes and all that exists from the start
  std::vector<std::string> lost_nodes = {};  // that are gone at the start; their pods wait again
  std::vector<Arrival> arrivals;             // by time
  std::vector<NodeFailure> failures;         // by time
  // The label whose values are racks, for figures about groups; empty: there are none.
  std::string rack_label = {};
  // Whether pods that are evicted, or whose node fails, come back and start from the beginning.
  bool restarts_lost = true;
};

// A node in stored form. `gpus`: nvidia.com/gpu.
struct NodeShape {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t gpus = 0;
  std::vector<std::pair<std::string, std::string>> labels = {};
};
planning::Document node_document(const std::string& name, const NodeShape& shape);

// A pod's requests. `hundredths`: of each GPU; 100 asks for whole ones.
struct PodShape {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t gpus = 0;
  std::int64_t hundredths = 100;
  std::int64_t priority = 0;
  std::string label = {};                // of a node that takes the pod
  std::vector<std::string> values = {};  // the label has one of these; empty: any node
  // Equal for equal shapes.
  std::string text() const;
};
// `group`: of the namespace default; empty: none.
planning::Document pod_document(const std::string& name, const PodShape& shape, const std::string& group);
// A group whose `pods` pods start together, within one value of the label `within` (empty: anywhere).
planning::Document group_document(const std::string& name, std::int64_t pods, const std::string& within,
                                  std::int64_t priority);

// Labels of nodes; empty: of none.
struct GangTopology {
  std::string within = {};   // of which all pods of a group have one value
  std::string prefers = {};  // one value as a wish: a PlacementPolicy; also a level of the Topology default
};
// One pod `name`, or a group `name` of pods `name`-0, `name`-1, … . Its time is still to be set.
Arrival equal_pods(const std::string& name, const PodShape& shape, std::int64_t pods,
                   const GangTopology& topology);

}  // namespace berth::simulate

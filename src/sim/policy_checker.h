// PlacementPolicies with `required`: a pod of their group is bound in the domain of the other members. From
// the stored JSON alone.
//
// I5. Excused: decisions that may not know the policy or the Topology yet, policies that widen the level,
// relabelled nodes. Owner: SafetyChecker. Cost: the members of the pod's group for each policy about it.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sim/stored_state.h"

namespace berth::sim {

class PolicyChecker {
 public:
  explicit PolicyChecker(const StoredState& state) : state_(state) {}

  // null: deleted.
  void policy_event(const std::string& name, const Json* object, Time now);
  void topology_event(const std::string& name, const Json* object, Time now);
  // A pod was bound by a decision that knows what was there at `known`. Empty: nothing is wrong.
  std::string placed(const StoredPod& pod, Time known,
                     const std::function<bool(const std::string&)>& relabelled) const;

 private:
  struct Policy {
    std::string kind, target, required;
    std::string spec;  // as text
    Time since;
  };
  std::vector<std::string> groups_of(const Policy& policy) const;
  std::vector<const StoredPod*> members_of(std::span<const std::string> groups) const;
  std::vector<std::string> keys_of(const std::string& level, Time known) const;
  std::string domain_of(const StoredPod& pod, const std::vector<std::string>& keys) const;

  const StoredState& state_;
  std::map<std::string, Policy> policies_;
  // Of the default Topology.
  struct Levels {
    std::vector<std::pair<std::string, std::string>> rows;  // name and label
    std::string text;
    Time until = {};  // of an earlier version

    std::vector<std::string> keys_of(const std::string& level) const;
  };
  std::vector<Levels> topologies_{1};  // every version; the last one is the present
};

}  // namespace berth::sim

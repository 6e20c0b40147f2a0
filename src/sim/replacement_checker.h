// Members of groups that leave failed nodes: who is evicted, and who stays. From the stored JSON alone.
//
// I19: of a group whose PlacementPolicy replaces failed nodes, the scheduler evicts members that lost their
// place, and no others. It does so through the Eviction API, which asks their budget. At rest no member stays
// on a failed node while its domain has room for as many as the minimum of its gang asks for. Excused:
// policies, nodes and taints that changed lately, and budgets that refuse. Owner: SafetyChecker. Cost: the
// devices of the pod for each rule.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/stored_state.h"

namespace berth::sim {

// The PodGroup or CompositePodGroup of a policy, with its namespace. `policy`: the same of the policy.
std::string target_of_policy(const std::string& policy, const Json& spec);

class ReplacementChecker {
 public:
  explicit ReplacementChecker(const StoredState& state) : state_(state) {}

  // null: deleted.
  void policy_event(const std::string& name, const Json* object, Time now);
  void node_changed(const std::string& name, const StoredNode* before, const StoredNode* after, Time now);
  // The rule is changed or deleted.
  void taint_rule_ends(const StoredTaintRule& rule, Time now) { ended_rules_.push_back({rule, now}); }

  // Whether a policy has replaced failed nodes of the group since then.
  bool is_about(const std::string& group, Time since) const;
  // A member was deleted, by this process. What ended before `since` is known to all. Empty: nothing is
  // wrong.
  std::string deleted(const StoredPod& pod, const std::string& process, Time since) const;
  // Of which no budget refuses an eviction.
  std::vector<const StoredGroup*> unhindered_groups() const;

 private:
  struct Policy {
    std::string group;
    bool refused = false;  // by a budget, its status says
    bool ended = false;
    Time end;
  };
  bool has_lost_place(const StoredPod& pod, Time since) const;
  bool has_tainted_device(const StoredPod& pod, Time since) const;

  const StoredState& state_;
  std::map<std::string, Policy> policies_;
  std::map<std::string, Time> recovered_;  // nodes
  struct EndedRule {
    StoredTaintRule rule;
    Time end;
  };
  std::vector<EndedRule> ended_rules_;  // of one storm
};

}  // namespace berth::sim

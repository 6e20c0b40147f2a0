#include "sim/replacement_checker.h"

#include <algorithm>

namespace berth::sim {
namespace {

bool evicts_from(const StoredTaintRule& rule, const std::string& device) {
  return rule.taint.effect == "NoExecute" && device.starts_with(rule.driver + "/" + rule.pool + "/") &&
         (rule.device.empty() || device.ends_with("/" + rule.device));
}

}  // namespace

std::string target_of_policy(const std::string& policy, const Json& spec) {
  const std::size_t slash = policy.find('/');
  return (slash == std::string::npos ? "" : policy.substr(0, slash + 1)) +
         std::string(spec.part("targetRef").string_at("name"));
}

void ReplacementChecker::policy_event(const std::string& name, const Json* object, Time now) {
  const Json& spec = object ? object->part("spec") : Json();
  const bool replaces = spec.string_at("replaceFailedNodes") == "WithinDomain" &&
                        spec.part("targetRef").string_at("kind") == "PodGroup";
  if (!replaces) {
    const auto known = policies_.find(name);
    if (known == policies_.end() || known->second.ended) return;
    known->second.ended = true;
    known->second.end = now;
    return;
  }
  Policy policy{target_of_policy(name, spec)};
  for (const Json& condition : object->part("status").items_at("conditions"))
    policy.refused |= condition.string_at("type") == "FailedNodesReplaced" &&
                      condition.string_at("reason") == "BudgetRefuses";
  policies_[name] = std::move(policy);
}

void ReplacementChecker::node_changed(const std::string& name, const StoredNode* before,
                                      const StoredNode* after, Time now) {
  if ((!before || before->failed) && after && !after->failed) recovered_[name] = now;
}

bool ReplacementChecker::is_about(const std::string& group, Time since) const {
  return std::ranges::any_of(policies_, [&](const auto& one) {
    const Policy& policy = one.second;
    return policy.group == group && (!policy.ended || policy.end >= since);
  });
}

bool ReplacementChecker::has_tainted_device(const StoredPod& pod, Time since) const {
  const auto evicts = [&](const std::string& device) {
    return std::ranges::any_of(state_.taint_rules,
                               [&](const auto& one) { return evicts_from(one.second, device); }) ||
           std::ranges::any_of(ended_rules_, [&](const EndedRule& one) {
             return one.end >= since && evicts_from(one.rule, device);
           });
  };
  return std::ranges::any_of(pod.claims, [&](const std::string& name) {
    const auto claim = state_.claims.find(name);
    return claim != state_.claims.end() &&
           std::ranges::any_of(claim->second.results,
                               [&](const StoredResult& result) { return evicts(result.device); });
  });
}

bool ReplacementChecker::has_lost_place(const StoredPod& pod, Time since) const {
  const auto node = state_.nodes.find(pod.node);
  if (node == state_.nodes.end() || node->second.failed) return true;
  const auto recovered = recovered_.find(pod.node);
  return (recovered != recovered_.end() && recovered->second >= since) || has_tainted_device(pod, since);
}

std::string ReplacementChecker::deleted(const StoredPod& pod, const std::string& process, Time since) const {
  if (pod.node.empty()) return "";
  const std::string who = "I19: pod " + pod.name + " of group " + pod.group;
  if (pod.evicted && !has_lost_place(pod, since))
    return who + " is evicted from " + pod.node + ", which has not failed";
  if (!pod.evicted && process.starts_with("scheduler"))
    return who + " is deleted by " + process + ", which asked no budget";
  return "";
}

std::vector<const StoredGroup*> ReplacementChecker::unhindered_groups() const {
  std::vector<const StoredGroup*> groups;
  for (const auto& [name, group] : state_.groups) {
    const auto has = [&](const auto& one) { return one.second.group == name && !one.second.ended; };
    const auto refuses = [&](const auto& one) { return has(one) && one.second.refused; };
    if (std::ranges::any_of(policies_, has) && std::ranges::none_of(policies_, refuses))
      groups.push_back(&group);
  }
  return groups;
}

}  // namespace berth::sim

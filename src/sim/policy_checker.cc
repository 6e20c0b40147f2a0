#include "sim/policy_checker.h"

#include <algorithm>
#include <set>

#include "sim/replacement_checker.h"
#include "sim/tree_checker.h"

namespace berth::sim {

void PolicyChecker::policy_event(const std::string& name, const Json* object, Time now) {
  if (!object) return void(policies_.erase(name));
  const Json& spec = object->part("spec");
  const std::string text = to_string(spec);
  Policy& policy = policies_[name];
  if (policy.spec == text) return;
  policy.target = target_of_policy(name, spec);
  policy.kind = spec.part("targetRef").string_at("kind");
  const bool holds = spec.string_at("topology").empty() && spec.string_at("whenNoSpare") != "Widen";
  policy.required = holds ? spec.string_at("required") : "";
  policy.spec = text;
  policy.since = now;
}

void PolicyChecker::topology_event(const std::string& name, const Json* object, Time now) {
  if (name != "default") return;
  const std::string text = object ? to_string(object->part("spec")) : "";
  if (text == topologies_.back().text) return;
  topologies_.back().until = now;
  Levels& present = topologies_.emplace_back();
  present.text = text;
  if (!object) return;
  for (const Json& level : object->part("spec").items_at("levels"))
    present.rows.emplace_back(level.string_at("name"), level.string_at("nodeLabel"));
}

std::vector<std::string> PolicyChecker::groups_of(const Policy& policy) const {
  if (policy.kind == "PodGroup") return {policy.target};
  std::vector<std::string> names;
  for (const StoredGroup* group : groups_under(state_, policy.target)) names.push_back(group->name);
  return names;
}

std::vector<const StoredPod*> PolicyChecker::members_of(std::span<const std::string> groups) const {
  std::vector<const StoredPod*> members;
  for (const std::string& group : groups) {
    const auto found = state_.members.find(group);
    if (found == state_.members.end()) continue;
    for (const std::string& name : found->second) members.push_back(&state_.pods.at(name));
  }
  return members;
}

// The labels of the level and of the broader ones; empty: there is no such level, and the group waits.
std::vector<std::string> PolicyChecker::Levels::keys_of(const std::string& level) const {
  std::vector<std::string> keys;
  for (const auto& [name, label] : rows) {
    keys.push_back(label);
    if (name == level || label == level) return keys;
  }
  if (rows.empty() && level.find('/') != std::string::npos) return {level};
  return {};
}

// The same by every Topology that was there at `known` or later; empty also if these differ.
std::vector<std::string> PolicyChecker::keys_of(const std::string& level, Time known) const {
  std::vector<std::string> keys;
  for (const Levels& one : topologies_) {
    if (&one != &topologies_.back() && one.until < known) continue;
    std::vector<std::string> own = one.keys_of(level);
    if (!own.empty() && !keys.empty() && own != keys) return {};
    if (!own.empty()) keys = std::move(own);
  }
  return keys;
}

std::string PolicyChecker::domain_of(const StoredPod& pod, const std::vector<std::string>& keys) const {
  const auto node = state_.nodes.find(pod.node);
  if (node == state_.nodes.end()) return "no domain";
  std::string domain;
  for (const std::string& key : keys) {
    const auto label = node->second.labels.find(key);
    if (label == node->second.labels.end()) return "no domain";
    domain += (domain.empty() ? "" : "/") + label->second;
  }
  return domain;
}

std::string PolicyChecker::placed(const StoredPod& pod, Time known,
                                  const std::function<bool(const std::string&)>& relabelled) const {
  for (const auto& [name, policy] : policies_) {
    if (policy.required.empty() || known < policy.since) continue;
    const std::vector<std::string> keys = keys_of(policy.required, known);
    const std::vector<std::string> groups = groups_of(policy);
    if (keys.empty() || std::ranges::find(groups, pod.group) == groups.end()) continue;
    std::set<std::string> domains;
    bool excused = relabelled(pod.node);
    for (const StoredPod* member : members_of(groups)) {
      if (!member->runs_or_will() || member->uid == pod.uid || !state_.nodes.contains(member->node)) continue;
      excused |= relabelled(member->node);
      domains.insert(domain_of(*member, keys));
    }
    const std::string own = domain_of(pod, keys);
    if (!excused && !domains.empty() && !domains.contains(own))
      return "I5: pod " + pod.name + " is bound in " + own + ", and PlacementPolicy " + name + " requires " +
             *domains.begin() + " for its group";
  }
  return "";
}

}  // namespace berth::sim

#include "sim/tree_checker.h"

#include <algorithm>

namespace berth::sim {
namespace {

template <class Map>
auto* find(Map& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

const std::set<std::string>& members_of(const StoredState& state, const std::string& group) {
  static const std::set<std::string> kNone;
  const auto* found = find(state.members, group);
  return found ? *found : kNone;
}

std::string progress(std::int64_t have, std::int64_t want) {
  return std::to_string(have) + " of " + std::to_string(want) + " groups";
}

}  // namespace

std::vector<const StoredGroup*> groups_under(const StoredState& state, const std::string& composite) {
  std::vector<const StoredGroup*> below;
  for (const auto& [name, group] : state.groups)
    if (group.parent == composite) below.push_back(&group);
  for (const auto& [name, child] : state.composites)
    if (child.parent == composite)
      for (const StoredGroup* group : groups_under(state, name)) below.push_back(group);
  return below;
}

// Finished pods are bound, too.
bool TreeChecker::has_minimum(const StoredGroup& group, Count count, const Excuses& excuses) const {
  std::int64_t there = excuses.lost(group.name);
  for (const std::string& name : members_of(state_, group.name)) {
    const StoredPod& pod = state_.pods.at(name);
    there += !pod.node.empty() || (count == Count::Ready && state_.is_prepared(pod));
  }
  return there >= std::max<std::int64_t>(1, excuses.minimum(group));
}

std::int64_t TreeChecker::children_with_minimum(const StoredComposite& composite, Count count,
                                                const Excuses& excuses) const {
  const auto* gone = find(gone_, composite.name);
  std::int64_t complete = gone ? *gone : 0;
  for (const auto& [name, group] : state_.groups)
    complete += group.parent == composite.name && has_minimum(group, count, excuses);
  for (const auto& [name, child] : state_.composites)
    complete += child.parent == composite.name && has_minimum(child, count, excuses);
  return complete;
}

bool TreeChecker::has_minimum(const StoredComposite& composite, Count count, const Excuses& excuses) const {
  return children_with_minimum(composite, count, excuses) >= std::max<std::int64_t>(1, composite.min);
}

bool TreeChecker::has_bound(const StoredComposite& composite) const {
  const auto groups = groups_under(state_, composite.name);
  return std::any_of(groups.begin(), groups.end(), [&](const StoredGroup* group) {
    const auto& members = members_of(state_, group->name);
    return std::any_of(members.begin(), members.end(),
                       [&](const std::string& name) { return !state_.pods.at(name).node.empty(); });
  });
}

std::string TreeChecker::begun(const StoredPod& pod, const Excuses& excuses) const {
  const StoredGroup* group = find(state_.groups, pod.group);
  const StoredComposite* above = group ? find(state_.composites, group->parent) : nullptr;
  for (; above; above = find(state_.composites, above->parent))
    if (!has_minimum(*above, Count::Ready, excuses))
      return "I4: " + pod.name + " is bound while CompositePodGroup " + above->name + " has " +
             progress(children_with_minimum(*above, Count::Ready, excuses), above->min) + " that it needs";
  return "";
}

// By the nodes' current labels, or by those at the time when members were bound there.
std::string TreeChecker::placed(const StoredPod& pod, const Excuses& excuses) {
  const StoredGroup* own = find(state_.groups, pod.group);
  const StoredComposite* above = own ? find(state_.composites, own->parent) : nullptr;
  for (; above; above = find(state_.composites, above->parent)) {
    if (above->key.empty()) continue;
    std::set<std::string> now, at_bind;
    bool known = true;
    for (const StoredGroup* group : groups_under(state_, above->name))
      for (const std::string& name : members_of(state_, group->name)) {
        const StoredPod& member = state_.pods.at(name);
        const StoredNode* node = find(state_.nodes, member.node);
        if (!member.runs_or_will() || !node) continue;
        known &= !excuses.relabelled(member.node);
        const auto label = node->labels.find(above->key);
        const std::string domain = label == node->labels.end() ? "no domain" : label->second;
        now.insert(domain);
        at_bind.insert(domain_at_bind_.try_emplace(member.uid + above->key, domain).first->second);
      }
    if (known && now.size() > 1 && at_bind.size() > 1)
      return "I5: pods under CompositePodGroup " + above->name + " are bound in " +
             std::to_string(now.size()) + " domains since pod " + pod.name + " is bound";
  }
  return "";
}

std::string TreeChecker::told(const StoredComposite* before, const StoredComposite& after,
                              const Excuses& excuses) const {
  const bool was = before && before->uid == after.uid && before->scheduled == "True";
  const std::string who = "I17: CompositePodGroup " + after.name;
  if (was && after.scheduled != "True") return who + " is no longer reported as scheduled";
  if (after.scheduled != "True" || was || !after.committed.empty()) return "";
  // The outcome is on the root; a group under it may be told as soon as that is committed.
  for (const StoredComposite* above = find(state_.composites, after.parent); above;
       above = find(state_.composites, above->parent))
    if (!above->committed.empty()) return "";
  if (has_minimum(after, Count::Bound, excuses)) return "";
  return who + " says that it is scheduled with " +
         progress(children_with_minimum(after, Count::Bound, excuses), after.min);
}

std::vector<std::string> TreeChecker::broken(const Excuses& excuses) const {
  const Excuses none{[](const StoredGroup& group) { return group.min; },
                     [](const std::string&) { return std::int64_t{0}; }, excuses.relabelled};
  std::vector<std::string> sentences;
  for (const auto& [name, composite] : state_.composites) {
    if (!has_bound(composite)) continue;
    const std::string who = "CompositePodGroup " + name;
    if (!has_minimum(composite, Count::Bound, excuses))
      sentences.push_back("I4: " + who + " is bound with " +
                          progress(children_with_minimum(composite, Count::Bound, excuses), composite.min));
    else if (composite.scheduled != "True" && !gone_.contains(name) &&
             has_minimum(composite, Count::Bound, none))
      sentences.push_back("I17: " + who + " is bound and is not reported as scheduled");
  }
  return sentences;
}

}  // namespace berth::sim

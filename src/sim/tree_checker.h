// Trees of groups: what must hold when a pod of one is bound, and at rest. From the stored JSON alone.
//
// I4: of a tree that has begun, each group with bound pods has its minimum, and so has each group above it.
// I5: members under a group with a topology key are in one domain. I10: a tree that waits would not fit.
// I17: a group of groups is called scheduled when it is. Excused: members that users deleted or whose node
// was removed, groups that users deleted, edited minima, relabelled nodes. Owner: SafetyChecker.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/stored_state.h"

namespace berth::sim {

// PodGroups at any level below the CompositePodGroup of this name.
std::vector<const StoredGroup*> groups_under(const StoredState& state, const std::string& composite);

class TreeChecker {
 public:
  explicit TreeChecker(const StoredState& state) : state_(state) {}

  struct Excuses {
    std::function<std::int64_t(const StoredGroup&)> minimum;  // the least that may be known
    std::function<std::int64_t(const std::string&)> lost;     // members of the group
    std::function<bool(const std::string&)> relabelled;       // a node, lately
  };
  // The first pod of its group was bound.
  std::string begun(const StoredPod& pod, const Excuses& excuses) const;
  // A pod was bound.
  std::string placed(const StoredPod& pod, const Excuses& excuses);
  std::string told(const StoredComposite* before, const StoredComposite& after, const Excuses& excuses) const;
  void group_gone(const StoredGroup& group) { ++gone_[group.parent]; }
  // At rest.
  std::vector<std::string> broken(const Excuses& excuses) const;

 private:
  enum class Count { Bound, Ready };  // ready: bound, or prepared to be bound
  bool has_minimum(const StoredGroup& group, Count count, const Excuses& excuses) const;
  bool has_minimum(const StoredComposite& composite, Count count, const Excuses& excuses) const;
  bool has_bound(const StoredComposite& composite) const;
  std::int64_t children_with_minimum(const StoredComposite& composite, Count count,
                                     const Excuses& excuses) const;

  const StoredState& state_;
  std::map<std::string, std::int64_t> gone_;           // by parent: children that users deleted
  std::map<std::string, std::string> domain_at_bind_;  // by UID of a pod and key
};

}  // namespace berth::sim

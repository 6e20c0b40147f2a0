#include "binding/gang_minima.h"

#include <algorithm>

#include "base/known_defects.h"
#include "client/group_tree.h"

namespace berth::binding {
namespace {

using client::View;

class Minima {
 public:
  Minima(const View& view, const GangShares& shares) : view_(view), shares_(shares) {}

  // What is known of a group, or of a tree under one.
  struct Found {
    bool reached = false;
    bool touched = false;  // pods of the decision are in it
  };

  Found of(const api::PodGroup& group) {
    const auto share = shares_.groups.find(group.meta.name);
    const GangShare own = share == shares_.groups.end() ? GangShare() : share->second;
    std::size_t count = own.left + own.coming;
    for (const api::Pod* pod : view_.pods_of_group(group.meta.ns, group.meta.name))
      count += pod->bound() && lives(*pod) && !shares_.counted.contains(pod->meta.uid);
    const std::int32_t read = has(KnownDefect::GangMinimumNotRead) ? 1 : group.minimum();
    found_ += share != shares_.groups.end();
    return checked({count >= static_cast<std::size_t>(std::max(read, 1)), own.left > 0});
  }

  Found of(const api::CompositePodGroup& composite, std::size_t level) {
    Found found;
    std::int32_t reached = 0;
    const auto add = [&](Found child) {
      reached += child.reached;
      found.touched |= child.touched;
    };
    if (level < client::kTreeLevelsMax) {
      for (const api::PodGroup* group : view_.groups_under(composite.meta.ns, composite.meta.name))
        add(of(*group));
      for (const api::CompositePodGroup* child :
           view_.composites_under(composite.meta.ns, composite.meta.name))
        add(of(*child, level + 1));
    }
    found.reached = reached >= std::max(1, composite.minimum());
    return checked(found);
  }

  // After the walk: every group of the decision was found, and has its minimum.
  bool all_reached() const { return all_reached_ && found_ == shares_.groups.size(); }

 private:
  Found checked(Found found) {
    if (found.touched && !found.reached) all_reached_ = false;
    return found;
  }

  const View& view_;
  const GangShares& shares_;
  std::size_t found_ = 0;  // of the groups in shares_
  bool all_reached_ = true;
};

}  // namespace

bool lives(const api::Pod& pod) {
  return !pod.finished() && !pod.meta.deleting();
}

std::vector<const api::PodGroup*> groups_of_gang(const View& view, const api::ObjectKey& gang) {
  if (gang.kind == api::Kind::CompositePodGroup) return client::groups_below(view, gang.ns, gang.name);
  const api::PodGroup* group = view.pod_groups.find(gang.ns, gang.name);
  return group ? std::vector{group} : std::vector<const api::PodGroup*>();
}

bool reaches_minima(const View& view, const api::ObjectKey& gang, const GangShares& shares) {
  Minima minima(view, shares);
  if (gang.kind == api::Kind::CompositePodGroup) {
    const api::CompositePodGroup* root = view.composite_groups.find(gang.ns, gang.name);
    return root && minima.of(*root, 1).reached && minima.all_reached();
  }
  const api::PodGroup* group = view.pod_groups.find(gang.ns, gang.name);
  return group && minima.of(*group).reached && minima.all_reached();
}

}  // namespace berth::binding

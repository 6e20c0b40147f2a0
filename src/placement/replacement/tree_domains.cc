#include "placement/replacement/tree_domains.h"

#include <algorithm>
#include <set>

#include "client/group_tree.h"
#include "placement/replacement/lost_places.h"
#include "placement/replacement/replacement.h"
#include "placement/wishes/reached.h"

namespace berth::placement {
namespace {

// Those of the group's tree that have nodes.
std::vector<WishMember> members_below(const client::View& view, const api::CompositePodGroup& above) {
  std::vector<WishMember> all, healthy;
  for (const api::PodGroup* group : client::groups_below(view, above.meta.ns, above.meta.name))
    for (const api::Pod* pod : view.pods_of_group(group->meta.ns, group->meta.name)) {
      const api::Node* node = pod->finished() ? nullptr : view.nodes.find("", pod->node_name);
      if (!node) continue;
      all.push_back({pod, &node->meta.labels});
      if (!is_failing_for(*node, *pod)) healthy.push_back(all.back());
    }
  return healthy.empty() ? all : healthy;
}

std::set<std::string> keeping_keys(const api::CompositePodGroup& above, const GroupWishPtr& wish,
                                   std::span<const WishMember> members) {
  std::set<std::string> keys(above.topology_keys.begin(), above.topology_keys.end());
  if (!wish) return keys;
  const std::optional<std::size_t> narrowest =
      wish->replaces_failed_nodes ? reached_level(*wish, members) : wish->required;
  for (std::size_t level = 0; narrowest && level <= *narrowest; ++level) keys.insert(wish->levels[level].key);
  return keys;
}

struct KeptLabel {
  std::string key, value;
};

}  // namespace

bool is_replaced_by_tree(const client::View& view, const OwnersOf& owners, const api::PodGroup& group) {
  return std::ranges::any_of(client::groups_above(view, group), [&](const api::CompositePodGroup* above) {
    const WishAnswer answer = wish_of(view, owners, *above);
    return answer.wish && answer.wish->replaces_failed_nodes;
  });
}

std::vector<NodeId> outside_of_tree(const client::View& view, const model::Cluster& cluster,
                                    const OwnersOf& owners, const api::PodGroup& group) {
  std::vector<KeptLabel> kept;
  for (const api::CompositePodGroup* above : client::groups_above(view, group)) {
    const std::vector<WishMember> members = members_below(view, *above);
    for (const std::string& key : keeping_keys(*above, wish_of(view, owners, *above).wish, members)) {
      std::set<std::string> values;
      for (const WishMember& member : members)
        if (const auto label = member.node_labels->find(key); label != member.node_labels->end())
          values.insert(label->second);
      if (values.size() == 1) kept.push_back({key, *values.begin()});
    }
  }
  std::vector<NodeId> outside;
  for (const auto& [name, node] : view.nodes.all()) {
    const auto differs = [&](const KeptLabel& one) {
      const auto label = node->meta.labels.find(one.key);
      return label == node->meta.labels.end() || label->second != one.value;
    };
    if (std::ranges::any_of(kept, differs)) outside.push_back(cluster.find_node(name.name));
  }
  std::ranges::sort(outside);
  return outside;
}

void avoid_failing_nodes(const model::Cluster& cluster, TreeInput& tree) {
  std::vector<bool> is_replaced(tree.nodes.size());
  std::vector<GroupInput*> groups;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    TreeNode& node = tree.nodes[i];
    const GroupWish* wish = node.own_wish();
    is_replaced[i] = (wish && wish->replaces_failed_nodes) || (node.parent && is_replaced[*node.parent]);
    if (is_replaced[i] && node.is_group()) groups.push_back(&node.group);
  }
  avoid_failing_nodes(cluster, groups);
}

}  // namespace berth::placement

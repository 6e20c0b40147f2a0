#include "placement/replacement/tree_domains.h"

#include <algorithm>
#include <set>

#include "client/group_tree.h"

namespace berth::placement {
namespace {

std::vector<std::string> required_keys(const client::View& view, const OwnersOf& owners,
                                       const api::CompositePodGroup& above) {
  std::vector<std::string> keys = above.topology_keys;
  const WishAnswer answer = wish_of(view, owners, above);
  if (answer.wish && answer.wish->required)
    for (std::size_t level = 0; level <= *answer.wish->required; ++level)
      keys.push_back(answer.wish->levels[level].key);
  return keys;
}

std::set<const api::Node*> nodes_below(const client::View& view, const api::CompositePodGroup& above) {
  std::set<const api::Node*> nodes;
  for (const api::PodGroup* group : client::groups_below(view, above.meta.ns, above.meta.name))
    for (const api::Pod* pod : view.pods_of_group(group->meta.ns, group->meta.name))
      if (const api::Node* node = pod->finished() ? nullptr : view.nodes.find("", pod->node_name))
        nodes.insert(node);
  return nodes;
}

struct KeptLabel {
  std::string key, value;
};

}  // namespace

std::vector<NodeId> outside_of_tree(const client::View& view, const model::Cluster& cluster,
                                    const OwnersOf& owners, const api::PodGroup& group) {
  std::vector<KeptLabel> kept;
  for (const api::CompositePodGroup* above : client::groups_above(view, group)) {
    const std::set<const api::Node*> nodes = nodes_below(view, *above);
    for (const std::string& key : required_keys(view, owners, *above)) {
      std::set<std::string> values;
      for (const api::Node* node : nodes)
        if (const auto label = node->meta.labels.find(key); label != node->meta.labels.end())
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

}  // namespace berth::placement

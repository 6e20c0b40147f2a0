#include "placement/trees/test_trees.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace berth::placement {
namespace {

std::string label(const char* key, int value) {
  return "\"" + std::string(key) + "\":\"" + key[0] + std::to_string(value) + "\"";
}

std::string text_of(const TreeSpec& spec) {
  static const char* const kClaims[] = {"", " of one model", " shared"};
  std::string text = "{" + (spec.key.empty() ? "" : spec.key + " ") + "min " + std::to_string(spec.minimum);
  if (spec.devices > 0)
    text += " devices " + std::to_string(spec.devices) + kClaims[static_cast<int>(spec.claims)];
  for (const int cpu : spec.pods) text += " " + std::to_string(cpu);
  for (const TreeSpec& child : spec.children) text += " " + text_of(child);
  return text + "}";
}

// Tries everything; `then` is called with each way to meet the minima, until one returns true.
class Trial {
 public:
  explicit Trial(const TreeWorld& world) : world_(world) {
    for (const TreeWorld::Node& node : world.nodes) {
      free_.push_back(node.cpu);
      devices_.push_back(node.devices);
    }
    for (const TreeWorld::Occupant& pod : world.occupants)
      free_[static_cast<std::size_t>(pod.node)] -= pod.cpu;
  }

  std::optional<bool> run() {
    std::vector<std::size_t> all(world_.nodes.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const bool found = place(world_.tree, all, [] { return true; });
    return steps_ > kTreeJudgeStepsMax ? std::nullopt : std::optional(found);
  }

 private:
  using Nodes = std::vector<std::size_t>;
  using Then = std::function<bool()>;

  bool place(const TreeSpec& spec, const Nodes& nodes, const Then& then) {
    if (spec.key.empty()) return place_inside(spec, nodes, then);
    std::set<int> domains;
    for (const std::size_t n : nodes) domains.insert(domain_of(n, spec.key));
    return std::ranges::any_of(domains, [&](int domain) {
      Nodes inside;
      for (const std::size_t n : nodes)
        if (domain_of(n, spec.key) == domain) inside.push_back(n);
      return place_inside(spec, inside, then);
    });
  }
  bool place_inside(const TreeSpec& spec, const Nodes& nodes, const Then& then) {
    if (spec.children.empty()) return place_pods(spec, 0, spec.minimum, 0, nodes, then);
    return place_children(spec, 0, spec.minimum, nodes, then);
  }
  bool place_children(const TreeSpec& spec, std::size_t child, int needed, const Nodes& nodes,
                      const Then& then) {
    if (needed == 0) return then();
    if (child == spec.children.size()) return false;
    return place(spec.children[child], nodes,
                 [&, child, needed] { return place_children(spec, child + 1, needed - 1, nodes, then); }) ||
           place_children(spec, child + 1, needed, nodes, then);
  }
  // Equal pods go to nodes in their order.
  bool place_pods(const TreeSpec& spec, std::size_t pod, int needed, std::size_t first, const Nodes& nodes,
                  const Then& then) {
    if (++steps_ > kTreeJudgeStepsMax) return false;
    if (needed == 0) return then();
    if (pod == spec.pods.size()) return false;
    const int cpu = spec.pods[pod];
    const bool same_next = pod + 1 < spec.pods.size() && spec.pods[pod + 1] == cpu;
    for (std::size_t i = first; i < nodes.size(); ++i) {
      if (free_[nodes[i]] < cpu) continue;
      free_[nodes[i]] -= cpu;
      const bool found = with_devices(spec, nodes[i], [&] {
        return place_pods(spec, pod + 1, needed - 1, same_next ? i : 0, nodes, then);
      });
      free_[nodes[i]] += cpu;
      if (found) return true;
    }
    std::size_t next = pod + 1;
    while (next < spec.pods.size() && spec.pods[next] == cpu) ++next;
    return next < spec.pods.size() && place_pods(spec, next, needed, 0, nodes, then);
  }
  // Every choice of the devices of one pod on the node.
  bool with_devices(const TreeSpec& spec, std::size_t node, const Then& then) {
    if (spec.devices == 0) return then();
    const auto shared = shared_at_.find(&spec);
    if (shared != shared_at_.end()) return shared->second == node && then();
    if (spec.claims == TreeSpec::Claims::Shared) shared_at_.emplace(&spec, node);
    bool found = false;
    for (int first = 0; first <= spec.devices && !found; ++first) {
      const std::array<int, 2> taken{first, spec.devices - first};
      const bool mixed = taken[0] > 0 && taken[1] > 0;
      if (mixed && spec.claims == TreeSpec::Claims::OwnOfOneModel) continue;
      if (devices_[node][0] < taken[0] || devices_[node][1] < taken[1]) continue;
      for (std::size_t model = 0; model < 2; ++model) devices_[node][model] -= taken[model];
      found = then();
      for (std::size_t model = 0; model < 2; ++model) devices_[node][model] += taken[model];
    }
    if (spec.claims == TreeSpec::Claims::Shared) shared_at_.erase(&spec);
    return found;
  }
  int domain_of(std::size_t node, const std::string& key) const {
    return key == "rack" ? world_.nodes[node].rack : world_.nodes[node].block;
  }

  const TreeWorld& world_;
  std::vector<int> free_;
  std::vector<std::array<int, 2>> devices_;
  std::map<const TreeSpec*, std::size_t> shared_at_;  // the node with the devices of a shared claim
  std::size_t steps_ = 0;
};

std::string slice_json(const std::string& node, const std::array<int, 2>& devices) {
  std::string text;
  for (int model = 0, number = 0; model < 2; ++model)
    for (int i = 0; i < devices[static_cast<std::size_t>(model)]; ++i, ++number)
      text += std::string(number == 0 ? "" : ",") + R"({"name":"d)" + std::to_string(number) +
              R"(","attributes":{"model":{"string":"m)" + std::to_string(model) + R"("}}})";
  return R"({"metadata":{"name":"s-)" + node + R"("},"spec":{"driver":"gpu.example.com","pool":{"name":")" +
         node + R"(","generation":1,"resourceSliceCount":1},"nodeName":")" + node + R"(","devices":[)" +
         text + "]}}";
}

std::string claim_json_of(const TreeSpec& spec, const std::string& name) {
  const bool matched = spec.claims == TreeSpec::Claims::OwnOfOneModel;
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"c-)" + name +
         R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)" +
         R"("allocationMode":"ExactCount","count":)" + std::to_string(spec.devices) + "}}]" +
         (matched ? R"(,"constraints":[{"requests":["r"],"matchAttribute":"gpu.example.com/model"}])" : "") +
         "}}}";
}

// Of the pod "g.0-1" of group "g.0".
std::string claim_name_of(const TreeSpec& spec, const std::string& group, const std::string& pod) {
  return spec.claims == TreeSpec::Claims::Shared ? group : pod;
}

TreeSpec random_tree(Random& random, int depth, int& pods_left) {
  const auto below = [&](int bound) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(bound)));
  };
  static const char* const keys[] = {"", "rack", "block"};
  TreeSpec spec;
  spec.key = keys[below(3)];
  const bool is_group = depth == 0 || below(3) == 0;
  const int count = 1 + below(is_group ? 4 : 3);
  for (int i = 0; i < count && pods_left > 0; ++i) {
    if (is_group) {
      spec.pods.push_back(below(3) > 0 ? 1 : 2);
      --pods_left;
    } else {
      spec.children.push_back(random_tree(random, depth - 1, pods_left));
    }
  }
  if (spec.pods.empty() && spec.children.empty()) spec.pods.push_back(1);
  if (below(2) == 0) std::ranges::sort(spec.pods);
  const int size = static_cast<int>(spec.pods.size() + spec.children.size());
  spec.minimum = below(2) == 0 ? size : 1 + below(size);
  return spec;
}

}  // namespace

TreeWorld random_world(std::uint64_t seed) {
  SeededRandom random(seed);
  const auto below = [&](int bound) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(bound)));
  };
  TreeWorld world;
  const int blocks = 1 + below(2), each = 1 + below(3);
  for (int i = 0; i < 8; ++i) {
    const int rack = below(blocks * each);
    world.nodes.push_back({rack / each, rack, 1 + below(2)});
  }
  int pods_left = 12;
  world.tree = random_tree(random, 2, pods_left);
  return world;
}

void ask_for_devices(TreeSpec& spec, Random& random) {
  for (TreeSpec& child : spec.children) ask_for_devices(child, random);
  if (!spec.children.empty() || random.below(3) == 0) return;
  spec.claims = static_cast<TreeSpec::Claims>(random.below(3));
  spec.devices = 1 + static_cast<int>(random.below(2));
}

TreeWorld random_device_world(std::uint64_t seed) {
  TreeWorld world = random_world(seed);
  SeededRandom random(seed + 2'000'000);
  for (TreeWorld::Node& node : world.nodes)
    for (int& of_model : node.devices) of_model = static_cast<int>(random.below(3));
  ask_for_devices(world.tree, random);
  return world;
}

std::string TreeWorld::text() const {
  std::string text = "nodes";
  for (const Node& node : nodes)
    text += " b" + std::to_string(node.block) + "/r" + std::to_string(node.rack) + ":" +
            std::to_string(node.cpu) + "," + std::to_string(node.devices[0]) + "," +
            std::to_string(node.devices[1]);
  text += "\n" + text_of(tree) + "\n";
  for (const Occupant& pod : occupants)
    text += "n" + std::to_string(pod.node) + ":" + std::to_string(pod.cpu) + "p" +
            std::to_string(pod.priority) + " ";
  return text + (is_spread ? "spread\n" : "\n");
}

std::optional<bool> fits_by_trying_all(const TreeWorld& world) {
  return Trial(world).run();
}

TreeBench::TreeBench(const TreeWorld& world, const DecisionOptions& options) : world_(world) {
  for (std::size_t i = 0; i < world.nodes.size(); ++i) {
    const TreeWorld::Node& node = world.nodes[i];
    const std::string name = "n" + std::to_string(i);
    bench_.put(api::Kind::Node, R"({"metadata":{"name":")" + name + R"(","labels":{)" +
                                    label("block", node.block) + "," + label("rack", node.rack) +
                                    R"(}},"status":{"allocatable":{"cpu":")" + std::to_string(node.cpu) +
                                    R"(","memory":"800Gi","pods":"500"}}})");
    if (node.devices[0] + node.devices[1] > 0)
      bench_.put(api::Kind::ResourceSlice, slice_json(name, node.devices));
  }
  bench_.put(api::Kind::DeviceClass,
             R"({"metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":{"expression":"true"}}]}})");
  for (std::size_t i = 0; i < world.occupants.size(); ++i) {
    const TreeWorld::Occupant& pod = world.occupants[i];
    const std::string name = "o" + std::to_string(i);
    bench_.put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
                                   R"("},"spec":{"nodeName":"n)" + std::to_string(pod.node) +
                                   R"(","priority":)" + std::to_string(pod.priority) +
                                   R"(,"containers":[{"name":"c","resources":{"requests":{"cpu":")" +
                                   std::to_string(pod.cpu) + R"("}}}]},"status":{"phase":"Running"}})");
  }
  put(world_.tree, "g");
  add(world_.tree, "g", std::nullopt);
  if (world.is_spread) {
    GroupWish wish;
    wish.policy = "spread";
    wish.distribution = WishDistribution::Balanced;
    input_.nodes.front().wish = std::make_shared<const GroupWish>(std::move(wish));
  }
  core_ = std::make_unique<DecisionCore>(bench_.cluster, bench_.selectors, options);
}

void TreeBench::put(const TreeSpec& spec, const std::string& name) {
  for (std::size_t i = 0; i < spec.pods.size(); ++i) {
    const std::string pod = name + "-" + std::to_string(i);
    std::string claims;
    if (spec.devices > 0) {
      const std::string claim = claim_name_of(spec, name, pod);
      if (!bench_.view.claims.find("ns", claim))
        bench_.put(api::Kind::ResourceClaim, claim_json_of(spec, claim));
      claims = R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + claim + "\"}]";
    }
    bench_.put(api::Kind::Pod, R"({"metadata":{"name":")" + pod + R"(","namespace":"ns","uid":")" + pod +
                                   R"("},"spec":{"schedulingGroup":{"podGroupName":")" + name + "\"}" +
                                   claims + R"(,"containers":[{"name":"c","resources":{"requests":{"cpu":")" +
                                   std::to_string(spec.pods[i]) + R"("}}}]}})");
  }
  for (std::size_t i = 0; i < spec.children.size(); ++i)
    put(spec.children[i], name + "." + std::to_string(i));
}

void TreeBench::add(const TreeSpec& spec, const std::string& name, std::optional<std::size_t> parent) {
  const std::size_t at = input_.nodes.size();
  TreeNode& node = input_.nodes.emplace_back();
  node.parent = parent;
  specs_.push_back(&spec);
  const auto fill = [&](auto& group) {
    group.meta.ns = "ns";
    group.meta.name = group.meta.uid = name;
    group.gang_min = spec.minimum;
    if (!spec.key.empty()) group.topology_keys = {spec.key};
  };
  if (spec.children.empty()) {
    fill(*groups_.emplace_back(std::make_unique<api::PodGroup>()));
    node.group.group = groups_.back().get();
    for (std::size_t i = 0; i < spec.pods.size(); ++i)
      node.group.waiting.push_back(bench_.view.pods.find("ns", name + "-" + std::to_string(i)));
  } else {
    fill(*composites_.emplace_back(std::make_unique<api::CompositePodGroup>()));
    node.composite = composites_.back().get();
  }
  for (std::size_t i = 0; i < spec.children.size(); ++i) {
    input_.nodes[at].children.push_back(input_.nodes.size());
    add(spec.children[i], name + "." + std::to_string(i), at);
  }
}

TreeOutcome TreeBench::decide(const Preempting& preempting) {
  const SchedulingContext context{bench_.view, bench_.cluster, core_->allocator()};
  model::Ledger::Transaction transaction(bench_.cluster.ledger());
  return core_->decide_tree(context, input_, transaction, preempting);
}

std::string TreeBench::nodes_of(const TreeOutcome& outcome) const {
  std::string text;
  for (std::size_t i = 0; i < outcome.nodes.size(); ++i) {
    if (!outcome.nodes[i].placed || !input_.nodes[i].is_group()) continue;
    text += (text.empty() ? "" : "; ") + input_.nodes[i].meta().name + ":";
    for (const MemberOutcome& member : outcome.nodes[i].members)
      text += " " + (member.node.valid() ? bench_.cluster.node(member.node).name : "-");
  }
  return text;
}

std::string TreeBench::complaint_about(const TreeOutcome& outcome) const {
  std::vector<int> free;
  for (const TreeWorld::Node& node : world_.nodes) free.push_back(node.cpu);
  for (const TreeWorld::Occupant& pod : world_.occupants) free[static_cast<std::size_t>(pod.node)] -= pod.cpu;
  std::vector<std::vector<std::size_t>> below(outcome.nodes.size());  // world nodes of all members
  for (std::size_t i = outcome.nodes.size(); i-- > 0;) {
    const TreeNode& node = input_.nodes[i];
    const TreeNodeOutcome& own = outcome.nodes[i];
    std::int64_t count = 0;
    for (std::size_t m = 0; m < own.members.size(); ++m) {
      if (!own.members[m].node.valid()) continue;
      ++count;
      const auto at = std::stoul(bench_.cluster.node(own.members[m].node).name.substr(1));
      below[i].push_back(at);
      if ((free[at] -= specs_[i]->pods[m]) < 0) return "n" + std::to_string(at) + " has too many pods";
    }
    for (const std::size_t child : node.children) count += outcome.nodes[child].placed ? 1 : 0;
    if (own.placed != (count >= node.minimum()))
      return node.meta().name + " says placed=" + (own.placed ? "1" : "0") + " with " + std::to_string(count);
    if (!own.placed && !below[i].empty()) return node.meta().name + " has members without its minimum";
    std::set<int> domains;
    for (const std::size_t at : below[i])
      domains.insert(specs_[i]->key == "rack" ? world_.nodes[at].rack : world_.nodes[at].block);
    if (!specs_[i]->key.empty() && domains.size() > 1) return node.meta().name + " is in several domains";
    if (node.parent) below[*node.parent].insert(below[*node.parent].end(), below[i].begin(), below[i].end());
  }
  return outcome.nodes.front().placed == (outcome.kind == GroupOutcome::Kind::Placed)
             ? ""
             : "the outcome is not that of its root";
}

}  // namespace berth::placement

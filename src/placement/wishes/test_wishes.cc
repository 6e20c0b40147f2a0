#include "placement/wishes/test_wishes.h"

#include <map>

namespace berth::placement {

GroupWish wish_for(std::vector<std::size_t> preferred, std::optional<std::size_t> required) {
  GroupWish wish;
  wish.policy = "p";
  wish.levels = {{"block", "block"}, {"rack", "rack"}, {"host", "host"}};
  wish.preferred = std::move(preferred);
  wish.required = required;
  return wish;
}

WishBench::WishBench(const WishWorld& world) : world_(world) {
  bench_.put(api::Kind::DeviceClass, R"({"metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":)"
                                     R"({"expression":"device.driver == 'gpu.example.com'"}}]}})");
  for (std::size_t i = 0; i < world.nodes.size(); ++i) put_node(i, world.nodes[i]);
  group_.meta.ns = "ns";
  group_.meta.name = group_.meta.uid = "g";
  group_.gang_min = static_cast<std::int32_t>(world.minimum > 0 ? static_cast<std::size_t>(world.minimum)
                                                                : world.pods.size() + world.placed.size());
  if (!world.key.empty()) group_.topology_keys = {world.key};
  for (std::size_t i = 0; i < world.placed.size(); ++i) {
    const std::string name = "placed-" + std::to_string(i);
    put_pod(name, "g", 1, "n" + std::to_string(world.placed[i]));
    input_.placed.push_back(bench_.view.pods.find("ns", name));
    input_.occupied.push_back(bench_.cluster.find_node("n" + std::to_string(world.placed[i])));
    input_.recorded.push_back(world.recorded);
    ++input_.scheduled;
  }
  if (!world.groups.empty())
    add_groups();
  else
    for (std::size_t i = 0; i < world.pods.size(); ++i) put_waiting(i, "g", input_);
  input_.group = &group_;
  input_.wish = std::make_shared<const GroupWish>(world.wish);
  core_ = std::make_unique<DecisionCore>(bench_.cluster, bench_.selectors, DecisionOptions{});
}

void WishBench::put_waiting(std::size_t pod, const std::string& group, GroupInput& input) {
  const std::string name = world_.names.empty() ? "g-" + std::to_string(pod) : world_.names[pod];
  put_pod(name, group, world_.pods[pod], "");
  input.waiting.push_back(bench_.view.pods.find("ns", name));
}

// Below the root, whose name is "g".
void WishBench::add_groups() {
  root_.meta = group_.meta;
  root_.topology_keys = group_.topology_keys;
  root_.gang_min =
      world_.groups_min > 0 ? world_.groups_min : static_cast<std::int32_t>(world_.groups.size());
  tree_.nodes.emplace_back().composite = &root_;
  tree_.nodes.front().wish = std::make_shared<const GroupWish>(world_.wish);
  std::size_t next = 0;
  for (const WishGroup& one : world_.groups) {
    api::PodGroup& group = *groups_.emplace_back(std::make_unique<api::PodGroup>());
    group.meta.ns = "ns";
    group.meta.name = group.meta.uid = "g-" + std::to_string(groups_.size() - 1);
    group.gang_min = one.minimum;
    if (!one.key.empty()) group.topology_keys = {one.key};
    tree_.nodes.front().children.push_back(tree_.nodes.size());
    TreeNode& node = tree_.nodes.emplace_back();
    node.parent = 0;
    node.group.group = &group;
    for (int i = 0; i < one.pods; ++i) put_waiting(next++, group.meta.name, node.group);
  }
}

void WishBench::put_node(std::size_t at, const WishNode& node) {
  const std::string name = "n" + std::to_string(at);
  std::string labels = R"("host":")" + name + "\"";
  if (!node.block.empty()) labels += R"(,"block":")" + node.block + "\"";
  if (!node.rack.empty()) labels += R"(,"rack":")" + node.rack + "\"";
  bench_.put(api::Kind::Node, R"({"metadata":{"name":")" + name + R"(","labels":{)" + labels +
                                  R"(}},"status":{"allocatable":{"cpu":")" + std::to_string(node.cpu) +
                                  R"(","memory":"800Gi","pods":"500"}}})");
  put_slice(name, "nic", std::vector<int>(static_cast<std::size_t>(node.nics)));
  put_slice(name, "gpu", node.rails);
}

void WishBench::put_slice(const std::string& node, const std::string& kind, const std::vector<int>& rails) {
  if (rails.empty()) return;
  std::string devices;
  for (std::size_t i = 0; i < rails.size(); ++i)
    devices += std::string(i == 0 ? "" : ",") + R"({"name":"d)" + std::to_string(i) +
               R"(","attributes":{"rail":{"int":)" + std::to_string(rails[i]) + "}}}";
  bench_.put(api::Kind::ResourceSlice, R"({"metadata":{"name":")" + kind + node + R"("},"spec":{"driver":")" +
                                           kind + R"(.example.com","pool":{"name":")" + node +
                                           R"(","generation":1,"resourceSliceCount":1},"nodeName":")" + node +
                                           R"(","devices":[)" + devices + "]}}");
}

void WishBench::put_pod(const std::string& name, const std::string& group, int cpu, const std::string& node) {
  const int devices = node.empty() ? world_.devices : 0;
  std::string more;
  if (devices > 0) {
    const std::string constraints =
        world_.one_rail ? R"(,"constraints":[{"matchAttribute":"gpu.example.com/rail"}])" : "";
    bench_.put(api::Kind::ResourceClaim,
               R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"c-)" + name +
                   R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)" +
                   R"("allocationMode":"ExactCount","count":)" + std::to_string(devices) + "}}]" +
                   constraints + "}}}");
    more = R"(,"resourceClaims":[{"name":"c","resourceClaimName":")" + name + "\"}]";
  }
  if (!node.empty()) more += R"(,"nodeName":")" + node + "\"";
  bench_.put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
                                 R"("},"spec":{"schedulingGroup":{"podGroupName":")" + group + "\"}" + more +
                                 R"(,"containers":[{"name":"c","resources":{"requests":{"cpu":")" +
                                 std::to_string(cpu) + R"("}}}]}})");
}

GroupOutcome WishBench::decide() {
  const SchedulingContext context{bench_.view, bench_.cluster, core_->allocator()};
  model::Ledger::Transaction transaction(bench_.cluster.ledger());
  return core_->decide_group(context, input_, transaction);
}

GroupOutcome WishBench::decide_tree() {
  const SchedulingContext context{bench_.view, bench_.cluster, core_->allocator()};
  model::Ledger::Transaction transaction(bench_.cluster.ledger());
  TreeOutcome outcome = core_->decide_tree(context, tree_, transaction);
  GroupOutcome all;
  all.kind = outcome.kind;
  all.refusal = outcome.refusal;
  all.wish = outcome.nodes.front().wish;
  for (TreeNodeOutcome& node : outcome.nodes)
    for (MemberOutcome& member : node.members) all.members.push_back(std::move(member));
  return all;
}

std::string WishBench::nodes_of(const GroupOutcome& outcome) const {
  std::map<std::string, int> counts;
  for (const MemberOutcome& member : outcome.members)
    ++counts[member.node.valid() ? bench_.cluster.node(member.node).name : "-"];
  std::string text;
  for (const auto& [name, count] : counts)
    text += (text.empty() ? "" : ", ") + name + ": " + std::to_string(count);
  return text;
}

std::string WishBench::wish_of(const GroupOutcome& outcome) {
  if (!outcome.wish) return "none";
  std::string text = outcome.wish->reached + ":";
  for (std::size_t i = 0; i < outcome.wish->domains.size(); ++i)
    text +=
        (i == 0 ? " " : ", ") + outcome.wish->domains[i] + " " + std::to_string(outcome.wish->segments[i]);
  return text;
}

}  // namespace berth::placement

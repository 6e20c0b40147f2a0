#include "placement/trees/tree_grounds.h"

#include <algorithm>

#include "placement/wishes/wish_levels.h"

namespace berth::placement {
namespace {

const std::string kTooManyLevels =
    "a group and those above it name more than " + std::to_string(topology::kLevelsMax) + " topology keys";

}  // namespace

TreeGrounds::TreeGrounds(const PluginSet& plugins, DomainIndex& domains, const SchedulingContext& context,
                         const TreeInput& input, Placements placements, std::size_t root_levels)
    : plugins_(plugins), domains_(domains), context_(context), input_(input) {
  chains_.reserve(kTreeChainsMax);
  find_chain({});
  for (std::size_t node = 0; node < input.nodes.size() && error_.empty(); ++node) {
    std::vector<std::string> keys = chains_[chain_of_parent(node)].keys;
    const auto add = [&](const std::string& key) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    };
    std::vector<std::string> own;
    if (placements == Placements::ByTopology) own = input.nodes[node].topology_keys();
    const GroupWish* const wish = input.nodes[node].own_wish();
    const std::size_t levels = wish ? std::max(required_levels(own, *wish), node == 0 ? root_levels : 0) : 0;
    for (const std::string& key : own)
      if (!wish || std::ranges::find(wish->levels, key, &WishLevel::key) == wish->levels.end()) add(key);
    for (std::size_t level = 0; level < levels; ++level) add(wish->levels[level].key);
    if (keys.size() > topology::kLevelsMax) error_ = kTooManyLevels;
    chain_of_.push_back(error_.empty() ? find_chain(std::move(keys)) : 0);
  }
  for (std::size_t node = 0; node < input.nodes.size() && error_.empty(); ++node) {
    if (!chooses(node)) continue;
    const auto own = pinned(node);
    if (!own)
      error_ = own.error().message();
    else if (!own->empty())
      pinned_to_.emplace(node, own->front().domain);
  }
}

std::size_t TreeGrounds::chain_of_parent(std::size_t node) const {
  return input_.nodes[node].parent ? chain_of_[*input_.nodes[node].parent] : 0;
}

std::size_t TreeGrounds::find_chain(std::vector<std::string> keys) {
  const auto known = std::ranges::find(chains_, keys, &Chain::keys);
  if (known != chains_.end()) return static_cast<std::size_t>(known - chains_.begin());
  if (chains_.size() == kTreeChainsMax) {
    error_ = "the groups name more than " + std::to_string(kTreeChainsMax - 1) +
             " different chains of topology keys";
    return 0;
  }
  Chain& chain = chains_.emplace_back();
  chain.keys = std::move(keys);
  chain.topology = domains_.kept_topology(chain.keys, context_.cluster);
  const topology::Tree* const tree = chain.keys.empty() ? nullptr : &chain.topology->tree();
  auto all = plugins_.placement_generator->generate({tree, domains_.nodes(context_.cluster), {}, {}, {}});
  if (!all) {
    error_ = all.error().message();
    return 0;
  }
  chain.all = *std::move(all);
  for (const Placement& one : chain.all) chain.by_path.push_back(&one);
  std::ranges::sort(chain.by_path, {}, [&](const Placement* one) -> auto& { return path_of(chain, *one); });
  chain.around.resize(chain.all.size());
  return chains_.size() - 1;
}

Result<std::vector<Placement>> TreeGrounds::pinned(std::size_t node) const {
  std::vector<const api::Pod*> placed;
  std::vector<NodeId> occupied;
  std::vector<std::string> recorded;
  std::vector<std::size_t> below{node};
  while (!below.empty()) {
    const TreeNode& one = input_.nodes[below.back()];
    below.pop_back();
    below.insert(below.end(), one.children.begin(), one.children.end());
    placed.insert(placed.end(), one.group.placed.begin(), one.group.placed.end());
    occupied.insert(occupied.end(), one.group.occupied.begin(), one.group.occupied.end());
    recorded.insert(recorded.end(), one.group.recorded.begin(), one.group.recorded.end());
  }
  if (placed.empty()) return std::vector<Placement>{};
  const topology::Tree& tree = chains_[chain_of_[node]].topology->tree();
  return plugins_.placement_generator->generate({&tree, {}, placed, occupied, recorded});
}

Ground TreeGrounds::whole_cluster() const {
  const std::vector<Placement>& all = chains_.front().all;
  return {0, all.empty() || all.front().nodes.empty() ? nullptr : &all.front()};
}

const std::string& TreeGrounds::path_of(const Chain& chain, const Placement& placement) {
  return chain.topology->tree().path_of(domain_of(placement));
}

const std::string& TreeGrounds::path_above(const Chain& chain, const Placement& placement,
                                           std::size_t levels) {
  const topology::Tree& tree = chain.topology->tree();
  topology::DomainId above = domain_of(placement);
  for (std::size_t i = 0; i < levels; ++i) above = tree.domain(above).parent;
  return tree.path_of(above);
}

std::vector<const Placement*>::const_iterator TreeGrounds::place_of(const Chain& chain,
                                                                    std::string_view path) {
  return std::ranges::lower_bound(
      chain.by_path, path, {}, [&](const Placement* one) { return std::string_view(path_of(chain, *one)); });
}

std::span<const Placement* const> TreeGrounds::inside(std::size_t index, const Ground& outer) {
  const Chain& chain = chains_[index];
  const Chain& of_outer = chains_[outer.chain];
  if (of_outer.keys.empty()) return chain.by_path;
  const std::string& path = path_of(of_outer, *outer.placement);
  if (of_outer.keys.size() == chain.keys.size()) {
    const auto same = place_of(chain, path);
    if (same == chain.by_path.end() || path_of(chain, **same) != path) return {};
    return {same, same + 1};
  }
  constexpr char kSeparator = '/';  // of Tree::path_of
  return {place_of(chain, path + kSeparator), place_of(chain, path + char(kSeparator + 1))};
}

std::span<const Placement* const> TreeGrounds::candidates(std::size_t node, const Ground& of_parent) {
  const std::span<const Placement* const> all = inside(chain_of_[node], of_parent);
  const auto own = pinned_to_.find(node);
  if (own == pinned_to_.end()) return all;
  for (const Placement* const& one : all)
    if (one->domain == own->second) return {&one, 1};
  return {};
}

const std::vector<Ground>& TreeGrounds::around(const Ground& ground) {
  Chain& own = chains_[ground.chain];
  std::vector<Ground>& around = own.around[static_cast<std::size_t>(ground.placement - own.all.data())];
  if (!around.empty()) return around;
  for (std::size_t c = 0; c < chains_.size(); ++c) {
    const Chain& chain = chains_[c];
    if (chain.keys.size() > own.keys.size() ||
        !std::equal(chain.keys.begin(), chain.keys.end(), own.keys.begin()))
      continue;
    const std::string& path = path_above(own, *ground.placement, own.keys.size() - chain.keys.size());
    const auto outer = place_of(chain, path);
    if (outer != chain.by_path.end() && path_of(chain, **outer) == path) around.push_back({c, *outer});
  }
  return around;
}

}  // namespace berth::placement

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
  for (const Placement& one : chain.all) chain.by_path.emplace(one.name, &one);
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

std::string TreeGrounds::path_above(const Chain& chain, const Placement& placement,
                                    std::size_t levels) const {
  const topology::Tree& tree = chain.topology->tree();
  topology::DomainId above = domain_of(placement);
  for (std::size_t i = 0; i < levels; ++i) above = tree.domain(above).parent;
  return tree.path_of(above);
}

void TreeGrounds::sort_by_domains_above(Chain& chain, std::size_t levels) {
  if (chain.knows_inside.size() <= levels) chain.knows_inside.resize(levels + 1);
  if (chain.knows_inside[levels]) return;
  chain.knows_inside[levels] = true;
  for (const Placement& one : chain.all)
    chain.inside[{levels, path_above(chain, one, levels)}].push_back(&one);
}

std::span<const Placement* const> TreeGrounds::inside(std::size_t index, const Ground& outer) {
  Chain& chain = chains_[index];
  const std::size_t levels = chain.keys.size() - chains_[outer.chain].keys.size();
  sort_by_domains_above(chain, levels);
  const auto found = chain.inside.find({levels, outer.placement->name});
  if (found == chain.inside.end()) return {};
  return found->second;
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
  const auto [at, is_new] = own.around.try_emplace(ground.placement);
  if (!is_new) return at->second;
  for (std::size_t c = 0; c < chains_.size(); ++c) {
    const std::vector<std::string>& keys = chains_[c].keys;
    if (keys.size() > own.keys.size() || !std::equal(keys.begin(), keys.end(), own.keys.begin())) continue;
    const auto outer =
        chains_[c].by_path.find(path_above(own, *ground.placement, own.keys.size() - keys.size()));
    if (outer != chains_[c].by_path.end()) at->second.push_back({c, outer->second});
  }
  return at->second;
}

}  // namespace berth::placement

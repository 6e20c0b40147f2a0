#include "placement/trees/tree_needs.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>

namespace berth::placement {
namespace {

// By those of its children that ask for least.
std::int64_t asked_by_children(std::span<const std::size_t> children, const TreeNeed& need,
                               const std::vector<TreeNeed>& needs) {
  std::vector<std::int64_t> each;
  for (const std::size_t child : children) each.push_back(needs[child].asks);
  std::ranges::sort(each);
  each.resize(std::min(each.size(), static_cast<std::size_t>(need.needed)));
  return std::accumulate(each.begin(), each.end(), std::int64_t{0});
}

}  // namespace

std::vector<std::size_t> children_to_place(const TreeNode& node, const std::vector<TreeNeed>& needs) {
  std::vector<std::size_t> children;
  std::ranges::copy_if(node.children, std::back_inserter(children),
                       [&](std::size_t child) { return needs[child].ready && !needs[child].has_minimum(); });
  return children;
}

std::vector<TreeNeed> needs_of(const TreeInput& input) {
  std::vector<TreeNeed> needs(input.nodes.size());
  for (std::size_t node = input.nodes.size(); node-- > 0;) {
    const TreeNode& one = input.nodes[node];
    TreeNeed& need = needs[node];
    const std::vector<std::size_t> children = children_to_place(one, needs);
    const auto have = one.is_group() ? std::int64_t{one.group.scheduled}
                                     : std::ranges::count_if(one.children, [&](std::size_t child) {
                                         return needs[child].has_minimum();
                                       });
    const std::size_t may_have = one.is_group() ? one.group.waiting.size() : children.size();
    need.needed = std::max<std::int64_t>(0, one.minimum() - have);
    need.ready = need.needed <= static_cast<std::int64_t>(may_have);
    need.asks = one.is_group() ? need.needed : asked_by_children(children, need, needs);
  }
  return needs;
}

}  // namespace berth::placement

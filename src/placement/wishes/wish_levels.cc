#include "placement/wishes/wish_levels.h"

#include <algorithm>

#include "base/known_defects.h"

namespace berth::placement {

std::size_t required_levels(std::span<const std::string> own, const GroupWish& wish) {
  const bool is_read = wish.required && !has(KnownDefect::RequiredLevelNotRead);
  std::size_t levels = is_read ? *wish.required + 1 : 0;
  for (std::size_t level = levels; level < wish.levels.size(); ++level)
    if (std::ranges::find(own, wish.levels[level].key) != own.end()) levels = level + 1;
  return levels;
}

WishLevels::WishLevels(std::span<const std::string> own, const GroupWish& wish, Placements placements,
                       DomainIndex& domains, const model::Cluster& cluster)
    : wish_(wish), domains_(domains), cluster_(cluster) {
  if (placements != Placements::ByTopology) own = {};
  own = own.first(std::min<std::size_t>(own.size(), 1));
  if (!own.empty() && std::ranges::find(wish.levels, own.front(), &WishLevel::key) == wish.levels.end())
    keys_.push_back(own.front());
  outside_ = keys_.size();
  std::size_t levels = required_levels(own, wish);
  required_ = outside_ + levels;
  for (const std::size_t level : wish.preferred) levels = std::max(levels, level + 1);
  if (wish.segments) levels = std::max(levels, wish.segments->level + 1);
  for (std::size_t level = 0; level < levels; ++level) keys_.push_back(wish.levels[level].key);
}

std::vector<WishRung> WishLevels::rungs() const {
  std::vector<WishRung> rungs;
  const auto add = [&](std::size_t depth) {
    if (!rungs.empty() && rungs.back().depth <= depth) return;
    WishRung& rung = rungs.emplace_back(WishRung{depth});
    for (const std::size_t wished : wish_.preferred) {
      if (rung.parts == 0 && depth_of(wished) > depth) rung.parts = depth_of(wished);
    }
    if (wish_.segments) rung.parts = depth_of(wish_.segments->level);
    for (const std::size_t wished : wish_.preferred)
      if (depth_of(wished) > depth && depth_of(wished) < rung.parts) rung.parents.push_back(depth_of(wished));
  };
  for (const std::size_t wished : wish_.preferred) add(std::max(required_, depth_of(wished)));
  add(required_);
  return rungs;
}

Topology& WishLevels::topology(std::size_t depth) {
  return domains_.topology(std::span<const std::string>(keys_).first(depth), cluster_);
}

topology::DomainId domain_above(const topology::Tree& tree, topology::DomainId domain, std::size_t depth) {
  while (tree.domain(domain).level > depth) domain = tree.domain(domain).parent;
  return domain;
}

}  // namespace berth::placement

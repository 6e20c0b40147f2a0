// How far the wish of a group came true: from where its members are.
//
// Pure. Members without a place count for nothing. Cost: O(members × levels).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/types/pod.h"
#include "placement/wishes/wish.h"

namespace berth::placement {

struct WishMember {
  const api::Pod* pod = nullptr;
  const api::StringMap* node_labels = nullptr;  // of its node
};

// What is written in a path for a label that the node has not.
inline constexpr std::string_view kNoDomain = "-";

// "b1/r1": the values of the labels, from the broadest level to this one. A value that two parents have names
// two domains: the path decides.
std::string domain_path(const std::vector<WishLevel>& levels, std::size_t level,
                        const api::StringMap& node_labels);

// The level of WishResult::domains: of the segments, else the first wish, else the required one.
std::optional<std::size_t> reported_level(const GroupWish& wish);

// Whether all of them, at least one, are in one domain of the level.
bool share_domain(const GroupWish& wish, std::size_t level, std::span<const WishMember> members);
// The narrowest wished or required level of which they share a domain; nothing: they share none.
std::optional<std::size_t> reached_level(const GroupWish& wish, std::span<const WishMember> members);

WishResult reached_by(const GroupWish& wish, std::span<const WishMember> members);

// "rack, else block, else anywhere": the wish in words, for tables.
std::string wish_text(const GroupWish& wish);
// "16 pods in b1/r1, 16 in b1/r2; 3 rank crossings"
std::string reached_text(const WishResult& result);

}  // namespace berth::placement

// What a PlacementPolicy asks of a group beyond its own constraints, and how far it came true.
//
// Values; the resolver (scheduling, planning) makes them from live objects, the search reads them. The wishes
// of a group are part of its decision: equal objects give equal bytes. Source: PlacementPolicy and Topology
// of scheduling.berth.dev/v1alpha1; KEP-5732, future extensions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace berth::placement {

// Levels of one Topology.
inline constexpr std::size_t kWishLevelsMax = 8;

// A level of a topology: its name for people, its node label.
struct WishLevel {
  std::string name;
  std::string key;
};

// Pods per domain of a level.
struct WishSegments {
  std::size_t level = 0;  // index in GroupWish::levels
  std::int64_t min = 1;
  std::int64_t max = INT64_MAX;
};

// Packed: the fewest domains, then the least waste. Balanced: the fewest domains, then the most even parts.
// Of a tree whose groups choose domains, Balanced spreads the children of each group over these.
enum class WishDistribution : std::uint8_t { Packed, Balanced };

// The devices of the pods' claims of this name have the same values of the attribute in every pod.
struct WishSameDevices {
  std::string claim;      // name in the pods' spec.resourceClaims
  std::string attribute;  // qualified name
};

// What becomes of a group with failed nodes whose domain has no spare room. Wait: nothing until it has.
// Widen: the next broader level counts. ReplaceGroup: all pods go to another domain.
enum class WhenNoSpare : std::uint8_t { Wait, Widen, ReplaceGroup };

struct GroupWish {
  std::string policy;                   // name of the PlacementPolicy, in the group's namespace
  std::vector<WishLevel> levels;        // of the topology, broad to narrow
  std::optional<std::size_t> required;  // index in levels: all pods in one domain of it
  std::vector<std::size_t> preferred;   // indices in levels, first wish first
  std::optional<WishSegments> segments;
  WishDistribution distribution = WishDistribution::Packed;
  bool contiguous_ranks = false;  // members with neighbouring ranks have the same domain where possible
  std::optional<WishSameDevices> same_devices;
  bool replaces_failed_nodes = false;  // replacement/replacement.h
  WhenNoSpare when_no_spare = WhenNoSpare::Wait;
};
using GroupWishPtr = std::shared_ptr<const GroupWish>;

inline bool spreads_children(const GroupWish& of_root) {
  return of_root.distribution == WishDistribution::Balanced;
}

// Reported on the policy's status, by `explain`, and as `wish` in the output of `plan`.
struct WishResult {
  std::string level;                 // name of the first wish; empty: the policy names none
  std::string reached;               // name of the narrowest wished or required level with one domain for all
  std::vector<std::string> domains;  // paths, of the level of the segments, else of the first wish
  std::vector<std::int64_t> segments;    // pods in each of them
  std::int64_t rank_crossings = 0;       // neighbouring ranks in different domains, last and first included
  double score = 1;                      // 1: every wish came true; 0: none did
  std::vector<std::string> same_values;  // of same_devices, in order
};

}  // namespace berth::placement

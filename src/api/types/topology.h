// Topology of scheduling.berth.dev/v1alpha1: the levels that node labels form, broad to narrow, by names for
// people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/types/meta.h"

namespace berth::api {

inline constexpr std::size_t kTopologyLevelsMax = 8;
// The one that applies where a PlacementPolicy names none.
inline constexpr std::string_view kDefaultTopology = "default";
inline constexpr std::string_view kTopologyValid = "Valid";  // condition

struct TopologyLevel {
  std::string name;
  std::string node_label;
  friend bool operator==(const TopologyLevel&, const TopologyLevel&) = default;
};

struct Topology {
  RawPtr raw;
  ObjectMeta meta;
  std::vector<TopologyLevel> levels;  // at most kTopologyLevelsMax
  Json status;                        // as stored: its writer compares
};

Topology decode_topology(const Json& object, RawPtr raw);

}  // namespace berth::api

#include "api/types/topology.h"

namespace berth::api {

const TopologyLevel* Topology::level(std::string_view name_or_label) const {
  for (const TopologyLevel& level : levels)
    if (level.name == name_or_label) return &level;
  for (const TopologyLevel& level : levels)
    if (level.node_label == name_or_label) return &level;
  return nullptr;
}

Topology decode_topology(const Json& object, RawPtr raw) {
  Topology topology = begin_decoded<Topology>(object, std::move(raw));
  for (const Json& item : object.part("spec").items_at("levels")) {
    if (topology.levels.size() == kTopologyLevelsMax) break;
    topology.levels.push_back(
        {std::string(item.string_at("name")), std::string(item.string_at("nodeLabel"))});
  }
  topology.status = object.part("status");
  return topology;
}

}  // namespace berth::api

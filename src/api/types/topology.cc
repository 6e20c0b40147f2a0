#include "api/types/topology.h"

namespace berth::api {

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

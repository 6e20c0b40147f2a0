#include "placement/defragmentation/domain_level.h"

#include <algorithm>

#include "api/node_names.h"
#include "base/name_list.h"

namespace berth::placement {
namespace {

constexpr std::size_t kLevelsNamedMax = 8;

DomainLevel level_at(const api::Topology& topology, std::size_t at) {
  DomainLevel level{topology.levels[at].name, {}};
  for (std::size_t i = 0; i <= at; ++i) level.keys.push_back(topology.levels[i].node_label);
  return level;
}

}  // namespace

Result<DomainLevel> domain_level(const client::View& view, const std::string& asked,
                                 const std::string& path) {
  const api::Topology* topology = view.topologies.find("", std::string(api::kDefaultTopology));
  std::vector<std::string> names;
  if (topology)
    for (const api::TopologyLevel& level : topology->levels) names.push_back(level.name);
  if (asked.empty()) {
    for (std::size_t at = names.size(); at > 0; --at)
      if (topology->levels[at - 1].node_label != api::kHostnameLabel) return level_at(*topology, at - 1);
    return Error(ErrorCode::Invalid, path,
                 "is needed, since there is no Topology named default: give a node label, such as "
                 "kubernetes.io/hostname");
  }
  for (std::size_t at = 0; at < names.size(); ++at)
    if (asked == names[at] || asked == topology->levels[at].node_label) return level_at(*topology, at);
  const auto has_label = [&](const auto& entry) { return entry.second->meta.labels.contains(asked); };
  if (std::ranges::any_of(view.nodes.all(), has_label)) return DomainLevel{asked, {asked}};
  return Error(ErrorCode::Invalid, path,
               asked + " is a label of no node" +
                   (names.empty() ? "; give a label that nodes have"
                                  : ", and no level of Topology default, which has " +
                                        first_names(names, kLevelsNamedMax)));
}

}  // namespace berth::placement

#include "placement/least_requests.h"

#include <algorithm>
#include <map>

namespace berth::placement {

model::ResourceAmounts least_requests(const model::Cluster& cluster, std::span<const api::Pod* const> pods) {
  std::map<model::ResourceId, std::pair<std::int64_t, std::size_t>> rows;
  for (const api::Pod* pod : pods)
    for (const model::ResourceAmount& one :
         cluster.pod(cluster.find_pod(pod->meta.ns, pod->meta.name)).requests) {
      auto& [least, count] = rows[one.resource];
      least = count == 0 ? one.amount : std::min(least, one.amount);
      ++count;
    }
  model::ResourceAmounts amounts;
  for (const auto& [resource, row] : rows)
    if (row.second == pods.size()) amounts.push_back({resource, row.first});
  return amounts;
}

}  // namespace berth::placement

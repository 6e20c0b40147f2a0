#include "placement/least_requests.h"

#include <algorithm>
#include <vector>

namespace berth::placement {

model::ResourceAmounts least_requests(const model::Cluster& cluster, std::span<const api::Pod* const> pods) {
  struct Row {
    std::int64_t least = 0;
    std::size_t count = 0;
  };
  std::vector<Row> rows;  // by resource
  for (const api::Pod* pod : pods)
    for (const model::ResourceAmount& one :
         cluster.pod(cluster.find_pod(pod->meta.ns, pod->meta.name)).requests) {
      if (rows.size() <= one.resource.index()) rows.resize(one.resource.index() + 1);
      Row& row = rows[one.resource.index()];
      row.least = row.count == 0 ? one.amount : std::min(row.least, one.amount);
      ++row.count;
    }
  model::ResourceAmounts amounts;
  for (std::uint32_t i = 0; i < rows.size(); ++i)
    if (rows[i].count == pods.size()) amounts.push_back({model::ResourceId(i), rows[i].least});
  return amounts;
}

}  // namespace berth::placement

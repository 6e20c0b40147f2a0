#include "workloads/daemon_rollout.h"

#include <algorithm>

namespace berth::workloads {

DaemonRollout replace_daemons(std::span<const NodeDaemons> nodes, std::int64_t desired,
                              std::int64_t unavailable_max) {
  DaemonRollout rollout;
  std::int64_t away = desired;
  for (const NodeDaemons& node : nodes) away -= node.wanted && node.available();
  for (const NodeDaemons& node : nodes) {
    if (!node.wanted || !node.old) continue;
    if (node.old_available && away >= unavailable_max) continue;
    away += node.old_available;
    rollout.deletes.push_back(node.old);
  }
  return rollout;
}

DaemonRollout surge_daemons(std::span<const NodeDaemons> nodes, std::int64_t desired,
                            std::int64_t surge_max) {
  DaemonRollout rollout;
  std::vector<std::size_t> candidates;
  std::vector<const api::Pod*> unwanted;
  std::int64_t available = 0, awaited = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeDaemons& node = nodes[i];
    available += node.available();
    if (!node.old) continue;
    if (node.updated && !node.updated_available)
      ++awaited;
    else if (node.updated || (!node.old_available && !node.wanted))
      rollout.deletes.push_back(node.old);
    else if (!node.old_available)
      rollout.creates.push_back(i);
    else if (node.wanted)
      candidates.push_back(i);
    else
      unwanted.push_back(node.old);
  }
  const auto at_most = [](std::int64_t count, std::size_t size) {
    return std::clamp<std::int64_t>(count, 0, static_cast<std::int64_t>(size));
  };
  rollout.creates.insert(rollout.creates.end(), candidates.begin(),
                         candidates.begin() + at_most(surge_max - awaited, candidates.size()));
  rollout.deletes.insert(rollout.deletes.end(), unwanted.begin(),
                         unwanted.begin() + at_most(available - desired, unwanted.size()));
  return rollout;
}

}  // namespace berth::workloads

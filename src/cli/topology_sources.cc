#include "cli/topology_sources.h"

#include <algorithm>

namespace berth::cli {
namespace {

using placement::LabelledNode;
using placement::WishLevel;

struct KnownLevel {
  std::string_view source, name, label;
  bool names_source = true;  // false: nodes of other sources have the label as well
};

// Broad to narrow within a source. Sources that say more about the network come first.
constexpr KnownLevel kKnownLevels[] = {
    // topograph, current: tier-0 is the closest.
    {"topograph", "tier-5", "fabric.topograph.run/tier-5"},
    {"topograph", "tier-4", "fabric.topograph.run/tier-4"},
    {"topograph", "tier-3", "fabric.topograph.run/tier-3"},
    {"topograph", "tier-2", "fabric.topograph.run/tier-2"},
    {"topograph", "tier-1", "fabric.topograph.run/tier-1"},
    {"topograph", "tier-0", "fabric.topograph.run/tier-0"},
    {"topograph", "domain", "accelerator.topograph.run/domain"},
    {"topograph", "sub-domain", "accelerator.topograph.run/sub-domain"},
    // topograph, its two earlier sets of labels.
    {"topograph-network", "datacenter", "network.topology.nvidia.com/datacenter"},
    {"topograph-network", "core", "network.topology.nvidia.com/core"},
    {"topograph-network", "spine", "network.topology.nvidia.com/spine"},
    {"topograph-network", "block", "network.topology.nvidia.com/block"},
    {"topograph-network", "leaf", "network.topology.nvidia.com/leaf"},
    {"topograph-network", "accelerator", "network.topology.nvidia.com/accelerator"},
    {"aws", "spine", "topology.k8s.aws/network-node-layer-1"},
    {"aws", "aggregation", "topology.k8s.aws/network-node-layer-2"},
    {"aws", "leaf", "topology.k8s.aws/network-node-layer-3"},
    {"aws", "ultraserver", "topology.k8s.aws/ultraserver-id"},
    {"google", "block", "cloud.google.com/gce-topology-block"},
    {"google", "subblock", "cloud.google.com/gce-topology-subblock"},
    {"google", "host", "cloud.google.com/gce-topology-host"},
    {"google-tpu", "block", "cloud.google.com/gce-topology-block", false},
    {"google-tpu", "partition", "cloud.google.com/gke-tpu-partition-4x4x4-id"},
    {"oracle", "block", "oci.oraclecloud.com/host.network_block_id"},
    {"oracle", "rack", "oci.oraclecloud.com/host.rack_id"},
    {"coreweave", "fabric", "backend.coreweave.cloud/fabric"},
    {"coreweave", "superpod", "backend.coreweave.cloud/superpod"},
    {"coreweave", "leafgroup", "backend.coreweave.cloud/leafgroup"},
    {"coreweave", "rack", "node.coreweave.cloud/rack"},
    {"coreweave", "nvlink", "ds.coreweave.com/nvlink.domain"},
    {"coreweave-ib", "fabric", "ib.coreweave.cloud/fabric"},
    {"coreweave-ib", "superpod", "ib.coreweave.cloud/superpod"},
    {"coreweave-ib", "rack", "node.coreweave.cloud/rack", false},
    // NVIDIA's GPU feature discovery: CLUSTER-UUID.CLIQUE, a partition of an NVLink domain.
    {"nvidia", "clique", "nvidia.com/gpu.clique"},
    {"kubernetes", "region", "topology.kubernetes.io/region"},
    {"kubernetes", "zone", "topology.kubernetes.io/zone"},
    {"kubernetes", "host", "kubernetes.io/hostname", false},
};

std::int64_t nodes_with(std::string_view label, std::span<const LabelledNode> nodes) {
  return std::count_if(nodes.begin(), nodes.end(),
                       [&](const LabelledNode& node) { return node.labels->contains(label); });
}

FoundHierarchy surveyed(std::string_view source, const std::vector<WishLevel>& levels,
                        std::span<const LabelledNode> nodes) {
  FoundHierarchy found{std::string(source), {}, placement::survey(levels, nodes)};
  for (std::size_t i = 0; i < levels.size(); ++i)
    found.levels.push_back({levels[i], found.survey.domains[i], nodes_with(levels[i].key, nodes)});
  return found;
}

std::vector<std::string_view> sources() {
  std::vector<std::string_view> names;
  for (const KnownLevel& level : kKnownLevels)
    if (names.empty() || names.back() != level.source) names.push_back(level.source);
  return names;
}

}  // namespace

std::vector<FoundHierarchy> find_hierarchies(std::span<const LabelledNode> nodes) {
  std::vector<FoundHierarchy> found;
  for (const std::string_view source : sources()) {
    std::vector<WishLevel> levels;
    bool named = false;
    for (const KnownLevel& level : kKnownLevels) {
      if (level.source != source || nodes_with(level.label, nodes) == 0) continue;
      named |= level.names_source;
      levels.push_back({std::string(level.name), std::string(level.label)});
    }
    if (named) found.push_back(surveyed(source, levels, nodes));
  }
  std::stable_sort(found.begin(), found.end(), [](const FoundHierarchy& a, const FoundHierarchy& b) {
    return a.survey.unlabelled < b.survey.unlabelled;
  });
  return found;
}

FoundHierarchy given_hierarchy(std::span<const WishLevel> levels, std::span<const LabelledNode> nodes) {
  return surveyed("given", {levels.begin(), levels.end()}, nodes);
}

std::string source_names() {
  std::string text;
  for (const std::string_view source : sources()) text.append(text.empty() ? "" : ", ").append(source);
  return text;
}

}  // namespace berth::cli
